package neutrontest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// Keystone implements as much of Keystone's API v3 as a client with a password needs. It is not a real one.
// It is also a reverse proxy to a Neutron and replaces Keystone's filter there: it converts a token into the
// identity of its owner, and refuses requests without a valid token.
type Keystone struct {
	// URL is the value for OS_AUTH_URL.
	URL string

	password string
	server   *httptest.Server
	next     http.Handler

	mu     sync.Mutex
	tokens map[string]string // project by token
	logins int
}

// NewKeystone starts a Keystone in front of the Neutron at a URL. Any user gets a token for any project with
// the password; users and projects are identified by name.
func NewKeystone(neutron, password string) (*Keystone, error) {
	target, err := url.Parse(neutron)
	if err != nil {
		return nil, err
	}
	k := &Keystone{password: password, next: httputil.NewSingleHostReverseProxy(target), tokens: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v3/auth/tokens", k.login)
	mux.HandleFunc("/v2.0/", k.check)
	mux.Handle("/", k.next) // the list of versions needs no token
	k.server = httptest.NewServer(mux)
	k.URL = k.server.URL + "/v3"
	return k, nil
}

// Close stops the server.
func (k *Keystone) Close() { k.server.Close() }

// Expire invalidates all tokens.
func (k *Keystone) Expire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.tokens)
}

// Logins returns the number of tokens that were issued.
func (k *Keystone) Logins() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.logins
}

// credentials contains the fields of a token request that the server reads.
type credentials struct {
	Auth struct {
		Identity struct {
			Password struct {
				User struct{ Name, Password string }
			}
		}
		Scope struct{ Project struct{ Name string } }
	}
}

func (k *Keystone) login(w http.ResponseWriter, q *http.Request) {
	var c credentials
	if err := json.NewDecoder(q.Body).Decode(&c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	user := c.Auth.Identity.Password.User
	if user.Password != k.password {
		write(w, http.StatusUnauthorized, map[string]any{"error": map[string]any{
			"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication.",
		}})
		return
	}
	token, project := rand.Text(), c.Auth.Scope.Project.Name
	k.mu.Lock()
	k.tokens[token] = project
	k.logins++
	k.mu.Unlock()
	w.Header().Set("X-Subject-Token", token)
	write(w, http.StatusCreated, map[string]any{"token": map[string]any{
		"expires_at": time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05.000000Z"),
		"user":       map[string]string{"id": user.Name, "name": user.Name},
		"project":    map[string]string{"id": project, "name": project},
		"catalog": []any{map[string]any{"type": "network", "name": "neutron", "endpoints": []any{map[string]string{
			"interface": "public", "region": "here", "region_id": "here", "url": k.server.URL,
		}}}},
	}})
}

// check replaces the token with the headers that Neutron trusts.
func (k *Keystone) check(w http.ResponseWriter, q *http.Request) {
	k.mu.Lock()
	project, ok := k.tokens[q.Header.Get("X-Auth-Token")]
	k.mu.Unlock()
	if !ok {
		w.Header().Set("WWW-Authenticate", "Keystone uri="+k.URL)
		write(w, http.StatusUnauthorized, map[string]any{"error": map[string]any{
			"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication.",
		}})
		return
	}
	q.Header.Del("X-Auth-Token")
	q.Header.Set("X-User-Id", "user")
	q.Header.Set("X-Project-Id", project)
	q.Header.Set("X-Roles", Member)
	k.next.ServeHTTP(w, q)
}
