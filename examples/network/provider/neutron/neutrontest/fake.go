package neutrontest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
)

// Fake is a Neutron in memory that implements as much of the API as Contract checks. Its zero value is empty
// and ready. It works in a synctest bubble and is safe for concurrent use.
type Fake struct {
	mu      sync.Mutex
	objects map[string]map[string]object // by collection and id
	quotas  map[string]map[string]int    // by project and resource; absent is the default
	groups  map[string]string            // default security group by project
}

// object is a network, a subnet or a port: decoded JSON, with int for numbers.
type object map[string]any

func (o object) text(field string) string {
	text, _ := o[field].(string)
	return text
}

// Client returns a client for a member of a project. It uses no network connection.
func (f *Fake) Client(project string) *gophercloud.ServiceClient { return f.ClientAs(project, Member) }

// ClientAs returns a client with a role in a project. It uses no network connection.
func (f *Fake) ClientAs(project, role string) *gophercloud.ServiceClient {
	return NewClient("http://neutron.fake", project, role, InProcess(f))
}

// refusal is an error response of Neutron.
type refusal struct {
	status        int
	kind, message string
}

func (r *refusal) Error() string { return r.kind + ": " + r.message }

func refuse(status int, kind, format string, values ...any) error {
	return &refusal{status, kind, fmt.Sprintf(format, values...)}
}

func badRequest(format string, values ...any) error {
	return refuse(http.StatusBadRequest, "HTTPBadRequest", format, values...)
}

func invalidInput(format string, values ...any) error {
	return refuse(http.StatusBadRequest, "InvalidInput", "Invalid input for operation: "+format, values...)
}

// call is a parsed request.
type call struct {
	*http.Request
	project string
	admin   bool
	path    []string // below the version
}

// sees reports whether an object is visible to the caller.
func (c *call) sees(o object) bool { return c.admin || o.text("project_id") == c.project }

// ServeHTTP implements http.Handler.
func (f *Fake) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	c := &call{Request: q, project: q.Header.Get("X-Project-Id")}
	c.admin = slices.Contains(strings.Split(q.Header.Get("X-Roles"), ","), Admin)
	if q.URL.Path == "/" {
		write(w, http.StatusOK, versions(q.Host))
		return
	}
	if q.Header.Get("X-User-Id") == "" || c.project == "" {
		http.Error(w, "401 Unauthorized", http.StatusUnauthorized)
		return
	}
	path, ok := strings.CutPrefix(strings.TrimSuffix(q.URL.Path, ".json"), "/v2.0/")
	c.path = strings.Split(path, "/")
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.objects == nil {
		f.objects = map[string]map[string]object{"networks": {}, "subnets": {}, "ports": {}}
		f.quotas, f.groups = map[string]map[string]int{}, map[string]string{}
	}
	status, answer, err := http.StatusNotFound, any(nil), error(nil)
	if ok {
		status, answer, err = f.serve(c)
	} else {
		err = errNoResource
	}
	if r, ok := err.(*refusal); ok {
		status = r.status
		answer = neutronError(r.kind, r.message)
	}
	write(w, status, answer)
}

// versions returns the response to an unauthenticated request for the API versions.
func versions(host string) any {
	self := map[string]string{"rel": "self", "href": "http://" + host + "/v2.0/"}
	return map[string]any{"versions": []any{map[string]any{"id": "v2.0", "status": "CURRENT", "links": []any{self}}}}
}

func neutronError(kind, message string) any {
	return map[string]any{"NeutronError": map[string]string{"type": kind, "message": message, "detail": ""}}
}

func write(w http.ResponseWriter, status int, answer any) {
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // a write error means that the client has gone
}

var errNoResource = refuse(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")

var errNoMethod = refuse(http.StatusMethodNotAllowed, "HTTPMethodNotAllowed",
	"The server could not comply with the request since it is either malformed or otherwise incorrect.")

func (f *Fake) serve(c *call) (status int, answer any, err error) {
	if c.path[0] == "quotas" && len(c.path) == 2 {
		return f.quota(c)
	}
	i := slices.IndexFunc(kinds, func(k *kind) bool { return k.collection == c.path[0] })
	if i < 0 {
		return 0, nil, errNoResource
	}
	k := kinds[i]
	switch {
	case len(c.path) == 1 && c.Method == http.MethodGet:
		answer, err = f.list(c, k)
		return http.StatusOK, answer, err
	case len(c.path) == 1 && c.Method == http.MethodPost:
		answer, err = f.create(c, k)
		return http.StatusCreated, answer, err
	case len(c.path) == 1:
		return 0, nil, errNoMethod
	}
	o := f.objects[k.collection][c.path[1]]
	if o == nil || !c.sees(o) {
		return 0, nil, k.notFound(c.path[1])
	}
	if len(c.path) > 2 {
		return 0, nil, errNoResource
	}
	return f.one(c, k, o)
}

// one answers a request for a single object.
func (f *Fake) one(c *call, k *kind, o object) (status int, answer any, err error) {
	if err := c.precondition(o); err != nil {
		return 0, nil, err
	}
	switch c.Method {
	case http.MethodGet:
		return http.StatusOK, map[string]any{k.name: f.fields(c, k, o)}, nil
	case http.MethodPut:
		if err := f.update(c, k, o); err != nil {
			return 0, nil, err
		}
		return http.StatusOK, map[string]any{k.name: f.complete(k, o)}, nil
	case http.MethodDelete:
		return http.StatusNoContent, nil, k.remove(f, o)
	}
	return 0, nil, errNoMethod
}

// precondition checks the revision in If-Match, if there is one.
func (c *call) precondition(o object) error {
	text, ok := strings.CutPrefix(c.Header.Get("If-Match"), "revision_number=")
	if !ok || c.Method == http.MethodGet {
		return nil
	}
	want, err := strconv.Atoi(text)
	if err != nil {
		return badRequest("Invalid revision number: %s", text)
	}
	if now := o["revision_number"]; now != want {
		return refuse(http.StatusPreconditionFailed, "RevisionNumberConstraintFailed",
			"Constrained to %d, but current revision is %d", want, now)
	}
	return nil
}
