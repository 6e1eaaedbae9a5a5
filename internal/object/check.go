package object

import (
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// identity is the part of an object's metadata that its key and its header repeat.
type identity struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid"`
}

// CheckEncoding returns an error unless the object's bytes are as an encoder writes them. Objects of an untrusted
// backup are checked: its checksums only protect against accidents, and readers of stored objects rely on their form.
func CheckEncoding(o *Object) error {
	e := &o.first
	if e.Form.Format == JSON && !json.Valid(e.data) {
		return errors.New("its data is not JSON")
	}
	fresh, err := NewEncoding(e.Form, e.data)
	if err != nil {
		return err
	}
	if fresh.revision != e.revision || fresh.width != e.width || fresh.item != e.item || fresh.itemEnd != e.itemEnd {
		return errors.New("the positions in its head are not those in its data")
	}
	return nil
}

// CheckIdentity returns an error unless the name, the namespace and the uid in the object's metadata are those of its
// key and header. The object passes CheckEncoding.
func CheckIdentity(o *Object) error {
	found, err := o.first.identities()
	if err != nil {
		return err
	}
	for _, id := range found {
		for _, part := range []struct{ what, is, want string }{
			{"name", id.Name, o.Key.Name()},
			{"namespace", id.Namespace, o.Key.Namespace()},
			{"uid", id.UID, string(o.UID)},
		} {
			if part.is != part.want {
				return fmt.Errorf("its %s is %q, and it is stored as %q", part.what, part.is, part.want)
			}
		}
	}
	return nil
}

// identities returns the identity that a decoder of the object finds. If JSON has a field twice, decoders differ, so
// the result has the first and the last.
func (e *Encoding) identities() ([]identity, error) {
	if e.Form.Format == Protobuf {
		var meta metav1.ObjectMeta
		if err := meta.Unmarshal(e.Metadata()); err != nil {
			return nil, fmt.Errorf("its metadata cannot be decoded: %w", err)
		}
		return []identity{{meta.Name, meta.Namespace, string(meta.UID)}}, nil
	}
	var last struct {
		Metadata identity `json:"metadata"`
	}
	if err := json.Unmarshal(e.data, &last); err != nil {
		return nil, fmt.Errorf("its metadata cannot be decoded: %w", err)
	}
	meta := e.Metadata()
	first := identity{firstText(meta, "name"), firstText(meta, "namespace"), firstText(meta, "uid")}
	return []identity{first, last.Metadata}, nil
}

// firstText returns the first field of a JSON object with a name if it is a string, and otherwise an empty string.
func firstText(data []byte, name string) (text string) {
	at, ok := jsonField(data, 0, name)
	if !ok || json.Unmarshal(data[at:jsonValueEnd(data, at)], &text) != nil {
		return ""
	}
	return text
}
