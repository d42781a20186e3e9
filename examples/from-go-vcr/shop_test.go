// What were tests with recorder.New("testdata/fixtures/shop"): without the recorder, under contrail.
package shop

import (
	"reflect"
	"testing"
)

func TestItems(t *testing.T) {
	names, err := Items("tea")
	if err != nil || !reflect.DeepEqual(names, []string{"Assam", "Sencha"}) {
		t.Fatal(names, err)
	}
}

func TestOrder(t *testing.T) {
	state, err := Order("Assam")
	if err != nil || state != "accepted" {
		t.Fatal(state, err)
	}
}
