package example

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	contrail "github.com/OWNER/contrail/plugins/go"
)

func TestMain(m *testing.M) { contrail.Main(m, contrail.Options{Upstream: "sandbox"}) }

// What the sandbox's client is called where there is a sandbox; a replay knows the recorded one.
func env(session *contrail.Session, name string) string {
	if value := session.Getenv(name); value != "" {
		return value
	}
	return "sandbox-full"
}

// An access token of the tenant.
func token(t *testing.T, session *contrail.Session) string {
	t.Helper()
	answer, err := session.Client.PostForm(session.URL+"/oauth/token/", url.Values{
		"grant_type":    {"client_credentials"},
		"audience":      {"/api/v2/"},
		"client_id":     {env(session, "CONTRAIL_SANDBOX_CLIENT_ID")},
		"client_secret": {env(session, "CONTRAIL_SANDBOX_CLIENT_SECRET")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return body.AccessToken
}

// The status of a path of the tenant.
func get(t *testing.T, session *contrail.Session, path, token string) int {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, session.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := session.Client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

func TestPolicies(t *testing.T) {
	for number := 0; number < 20; number++ {
		number := number
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			t.Parallel()
			session := contrail.Start(t)
			token := token(t, session)
			if status := get(t, session, fmt.Sprintf("/api/v2/rate-limit-policies/rlp_%03d", number), token); status != 404 {
				t.Errorf("status %d", status)
			}
			if status := get(t, session, "/api/v2/connection-profiles/templates", token); status != 200 {
				t.Errorf("status %d", status)
			}
		})
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	session := contrail.Start(t)
	if status := get(t, session, "/api/v2/connection-profiles/templates", token(t, session)); status != 200 {
		t.Errorf("status %d", status)
	}
}
