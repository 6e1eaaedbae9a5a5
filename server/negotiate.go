package server

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/object"
)

const (
	mediaJSON     = "application/json"
	mediaYAML     = "application/yaml"
	mediaProtobuf = "application/vnd.kubernetes.protobuf"
)

// media is what an answer is to be written as.
type media struct {
	// name is the media type of the answer.
	name string
	// as is the kind that the client wants instead of the object: Table, PartialObjectMetadata(List), or empty; in version.
	as, version string
}

// format is that of the encoding which the answer is made from.
func (m media) format() object.Format {
	if m.name == mediaProtobuf {
		return object.Protobuf
	}
	return object.JSON
}

// streamType is the content type of a watch.
func (m media) streamType() string {
	if m.name == mediaProtobuf {
		return mediaProtobuf + ";stream=watch"
	}
	return m.name
}

// acceptable finds the best media type that the client accepts and the server writes. The order of the header
// decides among types of the same quality. protobuf says whether the kind has that form; as, which transformations
// the request may ask for. The second result is false when there is none; the third says that only the
// transformation was not acceptable.
func acceptable(header string, protobuf bool, as ...string) (chosen media, ok, badAs bool) {
	if header == "" || header == "*/*" || header == mediaJSON {
		return media{name: mediaJSON}, true, false
	}
	best := -1.0
	for clause := range strings.SplitSeq(header, ",") {
		kind, params, err := mime.ParseMediaType(strings.TrimSpace(clause))
		if err != nil {
			continue
		}
		name := mediaName(kind, protobuf)
		if name == "" {
			continue
		}
		m := media{name: name, as: params["as"], version: params["v"]}
		if m.as != "" && !allowedAs(m, params["g"], as) || m.as == asTable && name == mediaProtobuf { // a Table has no protobuf form
			badAs = true
			continue
		}
		if q := quality(params); q > best {
			chosen, best = m, q
		}
	}
	return chosen, best >= 0, badAs
}

func quality(params map[string]string) float64 {
	if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
		return q
	}
	return 1
}

func mediaName(kind string, protobuf bool) string {
	switch kind {
	case mediaJSON, "*/*", "application/*":
		return mediaJSON
	case mediaYAML:
		return mediaYAML
	case mediaProtobuf:
		if protobuf {
			return mediaProtobuf
		}
	}
	return ""
}

// allowedAs says whether a transformation is known, and possible in the media type: there are no tables in protobuf.
func allowedAs(m media, group string, allowed []string) bool {
	if m.as == asTable && m.name == mediaProtobuf {
		return false
	}
	if group != "meta.k8s.io" || m.version != "v1" && m.version != "v1beta1" {
		return false
	}
	for _, a := range allowed {
		if a == m.as {
			return true
		}
	}
	return false
}

// streamable lists the media types that a watch of a kind is written in, for refusals. A watch is not written as YAML:
// its events could not be told apart.
func streamable(protobuf bool) string {
	if protobuf {
		return mediaJSON + ";stream=watch, " + mediaProtobuf + ";stream=watch"
	}
	return mediaJSON + ";stream=watch"
}

// available lists the media types of a kind, for refusals.
func available(protobuf bool) string {
	if protobuf {
		return mediaJSON + ", " + mediaYAML + ", " + mediaProtobuf
	}
	return mediaJSON + ", " + mediaYAML
}

// bodyMedia is the media type of a request's body; JSON when it names none.
func bodyMedia(r *http.Request) string {
	header := r.Header.Get("Content-Type")
	if header == "" || header == mediaJSON {
		return mediaJSON
	}
	kind, _, err := mime.ParseMediaType(header)
	if err != nil {
		return header
	}
	return kind
}

// form is the form in which an endpoint's answer is kept.
func (m media) form(gv schema.GroupVersion) object.Form {
	return object.Form{APIVersion: gv.String(), Format: m.format()}
}
