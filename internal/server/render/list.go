package render

import (
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
)

// customListMeta is the metadata of a list of custom resources, in which Kubernetes always writes the
// continue token.
type customListMeta struct {
	Continue           string `json:"continue"`
	RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
	ResourceVersion    string `json:"resourceVersion"`
}

var listTail = []byte("]}\n")

// list makes the answer of which WriteTo writes the encodings of the items one after the other. It decodes nothing. A
// list in YAML is made as a whole.
func list(req *request.Request, code int, p *request.Page) (Answer, error) {
	items, err := object.Encodings(req.Context(), p.Items, req.Codec(), req.Form())
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Code: code, MediaType: req.Accept.Name, items: items}
	for _, e := range items {
		a.Length += e.ItemSize()
	}
	apiVersion, listKind := req.Endpoint.APIVersion(), req.Info.ListKind()
	if req.Accept.Name == request.Protobuf { // the metadata is field 1, and the items are field 2
		meta, err := p.Meta.Shown().Marshal()
		if err != nil {
			return Answer{}, err
		}
		field := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), meta)
		if a.head, a.tail, err = envelope(apiVersion, listKind, len(field)+a.Length); err != nil {
			return Answer{}, err
		}
		a.head = append(a.head, field...)
		a.Length += len(a.head) + len(a.tail)
		return a, nil
	}
	var meta any = p.Meta.Shown()
	if !req.Info.Builtin {
		meta = customListMeta{ResourceVersion: p.Meta.Revision.String(), Continue: p.Meta.Next,
			RemainingItemCount: p.Meta.Remaining}
	}
	data, _ := json.Marshal(meta) // a struct of strings and numbers always marshals
	a.head = append([]byte(`{"kind":"`), listKind...)
	a.head = append(append(a.head, `","apiVersion":"`...), apiVersion...)
	a.head = append(append(a.head, `","metadata":`...), data...)
	a.head = append(a.head, `,"items":[`...)
	a.commas, a.tail = true, listTail
	if req.Accept.Name == request.YAML {
		whole := a.head
		for i, e := range items {
			if i > 0 {
				whole = append(whole, ',')
			}
			whole = e.AppendItem(whole)
		}
		return Body(code, request.YAML, append(whole, listTail...))
	}
	a.Length += len(a.head) + max(len(items)-1, 0) + len(a.tail)
	return a, nil
}

// envelope returns the bytes before and after a protobuf message of the given size.
func envelope(apiVersion, kind string, size int) (head, tail []byte, err error) {
	meta := runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}
	typeMeta, err := meta.Marshal()
	if err != nil {
		return nil, nil, err
	}
	head = append(head, object.ProtobufMagic...)
	head = protowire.AppendBytes(protowire.AppendTag(head, 1, protowire.BytesType), typeMeta)
	head = protowire.AppendVarint(protowire.AppendTag(head, 2, protowire.BytesType), uint64(size))
	tail = protowire.AppendString(protowire.AppendTag(nil, 3, protowire.BytesType), "")
	tail = protowire.AppendString(protowire.AppendTag(tail, 4, protowire.BytesType), "")
	return head, tail, nil
}

// enveloped returns a whole protobuf body.
func enveloped(apiVersion, kind string, message []byte) ([]byte, error) {
	head, tail, err := envelope(apiVersion, kind, len(message))
	return slices.Concat(head, message, tail), err
}
