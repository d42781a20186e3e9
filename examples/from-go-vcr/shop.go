// Package shop is the client of a shop, as it is in production: nothing in it knows of contrail.
package shop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

const address = "https://api.shop.example"

// Items lists the names of the items that have a tag.
func Items(tag string) ([]string, error) {
	answer, err := http.Get(address + "/items?tag=" + url.QueryEscape(tag))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var held struct {
		Items []struct{ Name string }
	}
	if err := json.NewDecoder(answer.Body).Decode(&held); err != nil {
		return nil, fmt.Errorf("status %d: %w", answer.StatusCode, err)
	}
	names := []string{}
	for _, item := range held.Items {
		names = append(names, item.Name)
	}
	return names, nil
}

// Order orders an item, and gives the order's state.
func Order(item string) (string, error) {
	body, err := json.Marshal(map[string]string{"item": item})
	if err != nil {
		return "", err
	}
	answer, err := http.Post(address+"/orders", "application/json", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var held struct{ State string }
	if err := json.NewDecoder(answer.Body).Decode(&held); err != nil {
		return "", fmt.Errorf("status %d: %w", answer.StatusCode, err)
	}
	return held.State, nil
}
