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

	"github.com/bowline-dev/bowline/object"
)

// readAnswer completes a write from its answer, whose body the caller gets as it came: what was read, and then the error
// that reading ended with.
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
	w.takeFacts(facts)
	if answer.StatusCode >= 400 {
		w.Revision, w.Gone = 0, false
		w.Err = facts.Message
		if w.Err == "" {
			w.Err = answer.Status
		}
		w.nameFromRequest(q)
	}
}

// mostAtOnce is how much room is made for a body before any of it has come.
const mostAtOnce = 1 << 20

// readWhole reads the body of an answer, in one piece where it says how long it is. One of this process may be there already.
func readWhole(answer *http.Response) ([]byte, error) {
	if own, ok := answer.Body.(*answerBody); ok {
		if data, whole := own.pipe.rest(); whole {
			return data, nil
		}
	}
	length := answer.ContentLength
	if length < 0 || length > mostAtOnce {
		return io.ReadAll(answer.Body)
	}
	data := bytes.NewBuffer(make([]byte, 0, length+bytes.MinRead)) // with room to find the end in
	_, err := data.ReadFrom(answer.Body)
	return data.Bytes(), err
}

// takeFacts fills what the request did not say. The name of the URL stays: the answer for a subresource may be another
// object's (a token, a scale).
func (w *Write) takeFacts(f facts) {
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
	w.Gone = w.tookAway(f, meta)
	if revision, err := object.ParseRevision(meta.ResourceVersion); err == nil {
		w.Revision = revision
	}
}

// tookAway says whether nothing is left of the object. A delete is answered with a Status then, or with what the object was; the
// update that takes the last finalizer from an object that is being deleted, with the object as it was sent.
func (w *Write) tookAway(f facts, meta factsMeta) bool {
	switch {
	case w.Subresource != "" && w.Subresource != "status":
		return false
	case f.Kind == "Status" && f.APIVersion == "v1":
		return w.Verb == "delete"
	case w.Resource.Group == "" && w.Resource.Resource == "namespaces":
		return false // has finalizers of its own, in its spec
	case w.Deleting:
		return len(meta.Finalizers) == 0 && meta.GracePeriod == 0
	}
	return w.Verb == "delete"
}

// facts are what an observer wants to know of an object, a Status or a Table.
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

// readFacts reads JSON, Kubernetes' protobuf or CBOR. What it cannot read has no facts: the caller will say what is wrong.
func readFacts(contentType string, data []byte) facts {
	var f facts
	switch media, _, _ := mime.ParseMediaType(contentType); media {
	case runtime.ContentTypeJSON:
		// An error is of a field that has another type there than here (a Pod has no message, a custom resource may have one
		// that is a number): the fields before and after it are read all the same.
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
	if !isProtobuf(data) {
		return f
	}
	kind, message, err := unwrap(data)
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

// metadataFacts reads what an observer wants to know from an object, and passes over the rest of its metadata: who owns its
// fields is most of it.
func metadataFacts(message []byte) (facts factsMeta, err error) {
	const name, uid, revision, deleted, grace, labels, finalizers = 1 << 1, 1 << 5, 1 << 6, 1 << 9, 1 << 10, 1 << 11, 1 << 14
	const objectMetadata, wanted = 1, name | uid | revision | deleted | grace | labels | finalizers
	var thin []byte
	err = eachField(message, func(n protowire.Number, value []byte) error {
		if n == objectMetadata { // every object of Kubernetes has its metadata in the first field
			thin, err = onlyFields(value, wanted)
		}
		return err
	})
	var meta metav1.ObjectMeta
	if err == nil {
		err = meta.Unmarshal(thin)
	}
	facts = factsMeta{
		Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion, Finalizers: meta.Finalizers, Labels: meta.Labels,
	}
	if period := meta.DeletionGracePeriodSeconds; period != nil {
		facts.GracePeriod = *period
	}
	if t := meta.DeletionTimestamp; t != nil {
		facts.DeletionTimestamp = t.UTC().Format(time.RFC3339)
	}
	return facts, err
}

// readBody is the body of an answer that was read already.
type readBody struct {
	io.Reader
	io.Closer
}

// failing is the end of a body: io.EOF, or what it broke off with.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}
