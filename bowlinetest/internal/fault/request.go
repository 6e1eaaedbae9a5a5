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

	"github.com/bowline-dev/bowline/internal/object"
)

// request is a parsed request of a process.
type request struct {
	*http.Request
	body      []byte
	verb      string // in Kubernetes' terms; empty if the request is not for a resource
	resource  schema.GroupResource
	sub       string
	namespace string
	name      string
	// generated reports that name is a prefix, followed by *, from which a name is generated.
	generated bool
	// ignored requests are passed on unchanged.
	ignored bool
}

// understand parses a request and consumes its body.
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

// readPath parses paths such as /api/v1/namespaces/NS/RESOURCE/NAME/SUB. It returns false for other paths.
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
	for i, target := range []*string{&r.resource.Resource, &r.name, &r.sub} {
		if i < len(parts) {
			*target = parts[i]
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

// bystander reports whether controllers only use a resource on the side, as for events, leases and access
// reviews. Faults there do not affect their task.
func bystander(r schema.GroupResource) bool {
	switch r.Group {
	case "authorization.k8s.io", "authentication.k8s.io", "events.k8s.io", "coordination.k8s.io":
		return true
	}
	return r.Resource == "events"
}

// heartbeats reports whether the request lists or watches leases, as controllers of nodes do. Leader election
// only gets and writes a single lease.
func (r *request) heartbeats() bool {
	return r.resource.Resource == "leases" && (r.verb == "list" || r.verb == "watch")
}

// meta holds the fields of an object's metadata that matter here.
type meta struct {
	Name, GenerateName, ResourceVersion string
	UID                                 types.UID
	Annotations                         map[string]string
}

// newerThan reports whether the object was written after the other one, or one of the revisions is unknown.
func (m meta) newerThan(other meta) bool {
	ours, err := object.ParseRevision(m.ResourceVersion)
	theirs, otherErr := object.ParseRevision(other.ResourceVersion)
	return err != nil || otherErr != nil || ours > theirs
}

// metaIn returns the metadata of an encoded object, or of a patch with the structure of an object.
// Annotations are not decoded from protobuf.
func metaIn(body []byte) meta {
	var document struct{ Metadata meta }
	if raw, ok := bytes.CutPrefix(body, []byte("k8s\x00")); ok {
		m := field(field(raw, 2), 1) // field 2 of runtime.Unknown is the raw object; its field 1 the metadata
		document.Metadata = meta{
			Name: string(field(m, 1)), GenerateName: string(field(m, 2)),
			UID: types.UID(field(m, 5)), ResourceVersion: string(field(m, 6)),
		}
	} else if err := json.Unmarshal(body, &document); err != nil {
		return meta{} // the server reports the error
	}
	return document.Metadata
}

// generatedSuffix matches the suffix of a generated name. The server generates it, or a client that sets generateName
// itself, as a controller does that derives names from UIDs.
var generatedSuffix = regexp.MustCompile(`^[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// nameIn returns the name of an object to be created, or its generateName followed by * if the name is
// generated.
func nameIn(body []byte) (name string, generated bool) {
	m := metaIn(body)
	end, prefixed := strings.CutPrefix(m.Name, m.GenerateName)
	if m.GenerateName != "" && (m.Name == "" || prefixed && generatedSuffix.MatchString(end)) {
		return m.GenerateName + "*", true
	}
	return cmp.Or(m.Name, "?"), false
}

// field returns the first field with this number of an encoded protobuf message that holds bytes, or nil.
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

// forward returns the request to the server. It asks for a response in JSON, which the run can read, unless
// the request is ignored.
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

// inJSON changes an Accept header to JSON, and preserves a request for metadata only or for a table.
func inJSON(accept string) string {
	first, _, _ := strings.Cut(accept, ",")
	_, parameters, _ := strings.Cut(first, ";")
	if strings.Contains(parameters, "as=") {
		return "application/json;" + parameters
	}
	return "application/json"
}

// resourceText returns plural.group/subresource.
func (r *request) resourceText() string {
	text := r.resource.String()
	if r.sub != "" {
		text += "/" + r.sub
	}
	return text
}

// object returns resource.group namespace/name.
func (r *request) object() string { return r.resource.String() + " " + objectText(r.namespace, r.name) }

// objectText returns namespace/name, with * for an empty name.
func objectText(namespace, name string) string {
	if name == "" {
		name = "*"
	}
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
