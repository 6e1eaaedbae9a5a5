// Package render encodes the results of requests as the bytes that clients receive: a request.Result or a Status
// becomes an Answer, and an event of a watch becomes a frame. It converts objects to tables, to their metadata and to
// YAML. It reads and writes no store, and it does not know HTTP headers: package httpapi sends what it returns.
package render

import (
	"bufio"
	"io"
	"net/http"

	goyaml "go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/stored"
)

// Answer is the encoded answer to a request.
type Answer struct {
	// Code is the HTTP status code.
	Code int
	// MediaType is the Content-Type; empty if the answer has no body.
	MediaType string
	// Length is the length of the body in bytes.
	Length int

	// The body consists of head, items and tail. The items of a list are separated by commas if they are JSON.
	head   []byte
	items  []*object.Encoding
	commas bool
	tail   []byte
}

// listBuffer is the maximum size of a list's buffer. A write for each item would halve the throughput.
const listBuffer = 64 << 10

// WriteTo writes the body. It implements io.WriterTo.
func (a *Answer) WriteTo(w io.Writer) (int64, error) {
	if len(a.items) == 0 {
		n, err := w.Write(a.head)
		if err == nil && len(a.tail) > 0 {
			var more int
			more, err = w.Write(a.tail)
			n += more
		}
		return int64(n), err
	}
	out := counter{w: w}
	buf := bufio.NewWriterSize(&out, min(a.Length, listBuffer))
	buf.Write(a.head)
	for i, e := range a.items {
		if i > 0 && a.commas {
			buf.WriteByte(',')
		}
		if err := e.WriteItem(buf); err != nil {
			return out.n, err
		}
	}
	buf.Write(a.tail)
	err := buf.Flush()
	return out.n, err
}

// counter counts the bytes that pass through the buffer of a list.
type counter struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (c *counter) Write(data []byte) (int, error) {
	n, err := c.w.Write(data)
	c.n += int64(n)
	return n, err
}

var newline = []byte{'\n'}

// Body returns the answer with a whole body: data, in JSON, protobuf or plain text. JSON gets a newline at its end; for
// the media type YAML, data is JSON, and is converted.
func Body(code int, mediaType string, data []byte) (Answer, error) {
	a := Answer{Code: code, MediaType: mediaType, head: data}
	switch mediaType {
	case request.JSON:
		a.tail = newline
	case request.YAML:
		var err error
		if a.head, err = toYAML(data); err != nil {
			return Answer{}, err
		}
	}
	a.Length = len(a.head) + len(a.tail)
	return a, nil
}

// Result encodes the result of a request in the form that was negotiated. accept is the request's Accept header, from
// which the form of a Status is chosen.
func Result(req *request.Request, accept string, res *request.Result) (Answer, error) {
	code := res.Code
	if code == 0 {
		code = http.StatusOK
	}
	req.Spans.At(stage.Answer)
	var data []byte
	var err error
	switch as := req.Accept.As; {
	case res.Status != nil:
		a, err := Status(accept, res.Status)
		if res.Code != 0 {
			a.Code = res.Code
		}
		return a, err
	case res.Page != nil && as == request.AsTable:
		data, err = pageTable(req, res.Page)
	case res.Page != nil && as == request.AsPartialList:
		data, err = partialList(req, res.Page)
	case res.Page != nil:
		return list(req, code, res.Page)
	case req.Sub != nil && req.Sub.View != nil:
		state := res.State
		if res.Object != nil {
			if state, err = stored.Read(req.Kind, res.Object); err != nil {
				return Answer{}, err
			}
		}
		data, err = view(req, state)
	case req.Sub != nil && req.Sub.Issues:
		data, err = kind.Marshal(req.Accept.Format(), res.State)
	case res.Object != nil && as == request.AsTable:
		one := request.Page{Items: []*object.Object{res.Object}, Meta: request.ListMeta{Revision: res.Object.Revision}}
		data, err = pageTable(req, &one)
	case res.Object != nil && as == request.AsPartial:
		data, err = partialBody(req, res.Object)
	case res.Object != nil:
		e, encodeErr := res.Object.Encoding(req.Codec(), req.Form())
		if encodeErr != nil {
			return Answer{}, encodeErr
		}
		data = e.Bytes()
	case as == request.AsTable:
		data, err = stateTable(req, res.State)
	case as == request.AsPartial:
		data, err = kind.Marshal(req.Accept.Format(), partialState(req, res.State))
	default:
		data, err = req.Kind.Encode(req.Form(), res.State)
	}
	if err != nil {
		return Answer{}, err
	}
	return Body(code, req.Accept.Name, data)
}

// Status encodes a Status, in JSON unless the Accept header asks for another form. The answer has the code of the
// Status, or 200 if that is 0.
func Status(accept string, s *metav1.Status) (Answer, error) {
	s.Kind, s.APIVersion = "Status", "v1"
	chosen, ok := request.Acceptable(accept, request.Forms{Protobuf: true, Table: true})
	if !ok || chosen.As != "" {
		chosen = request.Media{Name: request.JSON}
	}
	code := int(s.Code)
	if code == 0 {
		code = http.StatusOK
	}
	data, err := kind.Marshal(chosen.Format(), s)
	if err != nil {
		return Answer{}, err
	}
	return Body(code, chosen.Name, data)
}

// maxIndented is the number of levels of an object in YAML that are indented. Indentation grows with the square of it.
const maxIndented = 500

// toYAML converts JSON. Kubernetes' library reads the JSON as YAML, which excludes some characters and names of more
// than 1,024 bytes; an object with these is decoded as JSON, and looks a little different. An object with more than
// maxIndented levels remains JSON, which is YAML too.
func toYAML(data []byte) ([]byte, error) {
	if deeper(data, maxIndented) {
		return data, nil
	}
	if text, err := yaml.JSONToYAML(data); err == nil {
		return text, nil
	}
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &value); err != nil {
		return nil, err
	}
	return goyaml.Marshal(value)
}

// deeper reports whether JSON has more than some levels.
func deeper(json []byte, levels int) bool {
	if len(json) <= 2*levels {
		return false
	}
	level, quoted := 0, false
	for i := 0; i < len(json); i++ {
		switch json[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++ // within a string, the next byte belongs to the escape sequence
		case '{', '[':
			if !quoted {
				if level++; level > levels {
					return true
				}
			}
		case '}', ']':
			if !quoted {
				level--
			}
		}
	}
	return false
}
