package client

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/wire"
)

// readAnswer completes a write from its response. The caller of the request still gets the whole body: the
// bytes read here, followed by the error that reading ended with.
func (w *Write) readAnswer(q *http.Request, answer *http.Response) {
	w.Status = answer.StatusCode
	if answer.StatusCode == http.StatusSwitchingProtocols || answer.Body == nil {
		return
	}
	data, err := readWhole(answer)
	answer.Body = &readBody{Reader: io.MultiReader(bytes.NewReader(data), failing{err}), Closer: answer.Body}
	if err != nil {
		w.Err = err.Error()
		w.nameFromRequest(q)
		return
	}
	facts := readFacts(answer.Header.Get("Content-Type"), data)
	w.setFacts(facts)
	if answer.StatusCode >= 400 {
		w.Revision, w.Gone = 0, false
		w.Err = facts.Message
		if w.Err == "" {
			w.Err = answer.Status
		}
		w.nameFromRequest(q)
	}
}

// maxPrealloc bounds the buffer that is allocated before any byte of a body has arrived.
const maxPrealloc = 1 << 20

// readWhole reads the body of a response. The body of an in-process response may be taken without a copy.
func readWhole(answer *http.Response) ([]byte, error) {
	if remaining, ok := answer.Body.(interface{ Rest() ([]byte, bool) }); ok {
		if data, whole := remaining.Rest(); whole {
			return data, nil
		}
	}
	length := answer.ContentLength
	if length < 0 || length > maxPrealloc {
		return io.ReadAll(answer.Body)
	}
	data := bytes.NewBuffer(make([]byte, 0, length+bytes.MinRead)) // MinRead leaves room to detect io.EOF
	_, err := data.ReadFrom(answer.Body)
	return data.Bytes(), err
}

// setFacts sets the fields that the response determines. It does not replace a name from the URL: the response of a
// subresource may be another object (a token, a scale).
func (w *Write) setFacts(f facts) {
	meta := f.Metadata
	switch {
	case f.Kind == "Status" && f.APIVersion == "v1":
		meta = factsMeta{Name: f.Details.Name, UID: f.Details.UID}
	case f.Kind == "Table" && len(f.Rows) == 1:
		meta = f.Rows[0].Object.Metadata
	}
	if w.Verb == "deletecollection" {
		return
	}
	if w.Name == "" {
		w.Name = meta.Name
	}
	w.UID, w.Labels, w.Deleting = meta.UID, meta.Labels, meta.DeletionTimestamp != ""
	w.Gone = w.removedObject(f, meta)
	if revision, err := object.ParseRevision(meta.ResourceVersion); err == nil {
		w.Revision = revision
	}
}

// removedObject reports whether the write removed the object. The response of such a delete is a Status or the
// deleted object; the response of an update that removes the last finalizer of a deleted object is the object
// as updated.
func (w *Write) removedObject(f facts, meta factsMeta) bool {
	switch {
	case w.Subresource != "" && w.Subresource != "status":
		return false
	case f.Kind == "Status" && f.APIVersion == "v1":
		return w.Verb == "delete"
	case w.Resource.Group == "" && w.Resource.Resource == "namespaces":
		return false // a namespace has finalizers in its spec too
	case w.Deleting:
		return len(meta.Finalizers) == 0 && meta.GracePeriod == 0
	}
	return w.Verb == "delete"
}

// facts are the fields of an object, a Status or a Table that a Write needs.
type facts struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Metadata   factsMeta `json:"metadata"`
	Message    string    `json:"message"`
	Details    struct {
		Name string    `json:"name"`
		UID  types.UID `json:"uid"`
	} `json:"details"`
	Rows []struct {
		Object struct {
			Metadata factsMeta `json:"metadata"`
		} `json:"object"`
	} `json:"rows"`
}

type factsMeta struct {
	Name            string    `json:"name"`
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
	// DeletionTimestamp is a time, or empty.
	DeletionTimestamp string            `json:"deletionTimestamp"`
	GracePeriod       int64             `json:"deletionGracePeriodSeconds"`
	Finalizers        []string          `json:"finalizers"`
	Labels            map[string]string `json:"labels"`
}

// readFacts reads JSON, protobuf or CBOR. It ignores errors: the caller decodes the body too, and reports
// them.
func readFacts(contentType string, data []byte) facts {
	var f facts
	switch media, _, _ := mime.ParseMediaType(contentType); media {
	case runtime.ContentTypeJSON:
		// An error here means that a field has another type than in facts: a custom resource may have a
		// message that is a number. Unmarshal still sets the other fields.
		_ = json.Unmarshal(data, &f)
	case runtime.ContentTypeCBOR:
		_ = direct.Unmarshal(data, &f)
	case runtime.ContentTypeProtobuf:
		return protobufFacts(data)
	}
	return f
}

func protobufFacts(data []byte) facts {
	var f facts
	if !wire.IsProtobuf(data) {
		return f
	}
	kind, message, err := wire.Unwrap(data)
	if err != nil {
		return f
	}
	f.APIVersion, f.Kind = kind.GroupVersion().String(), kind.Kind
	if f.Kind == "Status" && f.APIVersion == "v1" {
		var status metav1.Status
		if status.Unmarshal(message) == nil && status.Details != nil {
			f.Details.Name, f.Details.UID = status.Details.Name, status.Details.UID
		}
		f.Message = status.Message
		return f
	}
	if meta, err := metadataFacts(message); err == nil {
		f.Metadata = meta
	}
	return f
}

// metadataFacts reads the metadata of an object, without managedFields, which are most of it.
func metadataFacts(message []byte) (facts factsMeta, err error) {
	const name, uid, revision, deleted, grace, labels, finalizers = 1 << 1, 1 << 5, 1 << 6, 1 << 9, 1 << 10, 1 << 11,
		1 << 14
	const objectMetadata, wanted = 1, name | uid | revision | deleted | grace | labels | finalizers
	var metadataOnly []byte
	err = wire.EachField(message, func(n protowire.Number, value []byte) error {
		if n == objectMetadata { // in every Kubernetes object, field 1 is the metadata
			metadataOnly, err = wire.OnlyFields(value, wanted)
		}
		return err
	})
	var meta metav1.ObjectMeta
	if err == nil {
		err = meta.Unmarshal(metadataOnly)
	}
	facts = factsMeta{
		Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion, Finalizers: meta.Finalizers,
		Labels: meta.Labels,
	}
	if period := meta.DeletionGracePeriodSeconds; period != nil {
		facts.GracePeriod = *period
	}
	if t := meta.DeletionTimestamp; t != nil {
		facts.DeletionTimestamp = t.UTC().Format(time.RFC3339)
	}
	return facts, err
}

// readBody is a response body that has already been read from the network.
type readBody struct {
	io.Reader
	io.Closer
}

// failing is an io.Reader that returns err, or io.EOF if err is nil.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}
