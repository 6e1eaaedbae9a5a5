package fault

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// request is what a process asks of the server.
type request struct {
	*http.Request
	body      []byte
	verb      string // as Kubernetes names it; empty of what is about no resource
	resource  schema.GroupResource
	sub       string
	namespace string
	name      string
	// generated says that name is what the server makes a name from.
	generated bool
	// ignored are requests that are passed on as they are.
	ignored bool
}

// understand reads a request, whose body it takes.
func understand(q *http.Request) (*request, error) {
	r := &request{Request: q}
	if q.Body != nil {
		var err error
		r.body, err = io.ReadAll(q.Body)
		q.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	if !r.readPath(strings.Split(strings.Trim(q.URL.Path, "/"), "/")) {
		r.ignored = true
		return r, nil
	}
	r.readVerb()
	if r.verb == "create" && r.name == "" {
		r.name, r.generated = nameIn(r.body)
	}
	r.ignored = bystander(r.resource) && !r.heartbeats() || q.URL.Query().Has("dryRun")
	return r, nil
}

// readPath takes /api/v1/namespaces/NS/RESOURCE/NAME/SUB and the like apart.
func (r *request) readPath(parts []string) bool {
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		r.resource.Group = parts[1]
		parts = parts[3:]
	default:
		return false
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		r.namespace = parts[1]
		parts = parts[2:]
	}
	for i, to := range []*string{&r.resource.Resource, &r.name, &r.sub} {
		if i < len(parts) {
			*to = parts[i]
		}
	}
	return true
}

func (r *request) readVerb() {
	q := r.URL.Query()
	switch r.Method {
	case http.MethodPost:
		r.verb = "create"
	case http.MethodPut:
		r.verb = "update"
	case http.MethodPatch:
		r.verb = "patch"
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch") {
			r.verb = "apply"
		}
	case http.MethodDelete:
		r.verb = "delete"
		if r.name == "" {
			r.verb = "deletecollection"
		}
	default:
		r.verb = "list"
		if w := q.Get("watch"); w == "true" || w == "1" {
			r.verb = "watch"
		} else if r.name != "" {
			r.verb = "get"
		}
	}
}

// bystander is a resource that controllers write beside their work: what becomes of it is no part of what they are for.
func bystander(r schema.GroupResource) bool {
	switch r.Group {
	case "authorization.k8s.io", "authentication.k8s.io", "events.k8s.io", "coordination.k8s.io":
		return true
	}
	return r.Resource == "events"
}

// heartbeats says whether leases are listed or watched, as by a controller that cares for nodes: who elects a leader reads and
// writes one.
func (r *request) heartbeats() bool {
	return r.resource.Resource == "leases" && (r.verb == "list" || r.verb == "watch")
}

// meta is what matters here of an object's metadata.
type meta struct {
	Name, GenerateName, ResourceVersion string
	UID                                 types.UID
	Annotations                         map[string]string
}

// metaIn is that of an encoded object, or of a patch that is like one; of protobuf, without the annotations.
func metaIn(body []byte) meta {
	var object struct{ Metadata meta }
	if raw, ok := bytes.CutPrefix(body, []byte("k8s\x00")); ok {
		m := field(field(raw, 2), 1) // runtime.Unknown's raw object; its metadata
		object.Metadata = meta{
			Name: string(field(m, 1)), GenerateName: string(field(m, 2)),
			UID: types.UID(field(m, 5)), ResourceVersion: string(field(m, 6)),
		}
	} else if err := json.Unmarshal(body, &object); err != nil {
		return meta{} // the server will say what is wrong with it
	}
	return object.Metadata
}

// madeUp is what ends a name that was made from another one: by the server, or by who creates the object and says so, as a
// controller does whose names follow from uids.
var madeUp = regexp.MustCompile(`^[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// nameIn is the name that an object to be created has, or what one was generated from, or is to be.
func nameIn(body []byte) (name string, generated bool) {
	m := metaIn(body)
	end, prefixed := strings.CutPrefix(m.Name, m.GenerateName)
	if m.GenerateName != "" && (m.Name == "" || prefixed && madeUp.MatchString(end)) {
		return m.GenerateName + "*", true
	}
	return cmp.Or(m.Name, "?"), false
}

// field is a field of an encoded protobuf message that holds bytes; nil when it has none.
func field(message []byte, number protowire.Number) []byte {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return nil
		}
		message = message[size:]
		if n == number && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			return value
		}
		if size = protowire.ConsumeFieldValue(n, kind, message); size < 0 {
			return nil
		}
		message = message[size:]
	}
	return nil
}

// forward is the request as it goes to the server: with the answer in JSON, which can be read on its way.
func (r *request) forward() *http.Request {
	q := r.Clone(r.Context())
	if r.body != nil {
		q.Body = io.NopCloser(bytes.NewReader(r.body))
		q.ContentLength = int64(len(r.body))
	}
	if !r.ignored {
		q.Header.Set("Accept", inJSON(r.Header.Get("Accept")))
	}
	return q
}

// inJSON is an Accept header for the same, only metadata or a table if that was wanted, in JSON.
func inJSON(accept string) string {
	first, _, _ := strings.Cut(accept, ",")
	_, parameters, _ := strings.Cut(first, ";")
	if strings.Contains(parameters, "as=") {
		return "application/json;" + parameters
	}
	return "application/json"
}

// resourceText is plural.group/subresource.
func (r *request) resourceText() string {
	text := r.resource.String()
	if r.sub != "" {
		text += "/" + r.sub
	}
	return text
}

// object is resource.group namespace/name.
func (r *request) object() string { return r.resource.String() + " " + objectText(r.namespace, r.name) }

// objectText is namespace/name.
func objectText(namespace, name string) string {
	if name == "" {
		name = "*"
	}
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
