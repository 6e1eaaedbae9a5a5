package server

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/munnerz/goautoneg"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/object"
)

const (
	mediaJSON     = "application/json"
	mediaYAML     = "application/yaml"
	mediaProtobuf = "application/vnd.kubernetes.protobuf"
)

// mediaTypes are the media types of answers, the preferred one first.
var mediaTypes = []string{mediaJSON, mediaYAML, mediaProtobuf}

// media is the negotiated form of an answer.
type media struct {
	// name is the media type of the answer.
	name string
	// as is the kind that the client wants instead of the object: Table, PartialObjectMetadata(List), or
	// empty; in version.
	as, version string
	// custom reports whether objects are encoded as JSON only, whatever their metadata is sent as.
	custom bool
}

// format returns the format of the encoding that the answer is made from.
func (m media) format() object.Format {
	if m.name == mediaProtobuf {
		return object.Protobuf
	}
	return object.JSON
}

// form returns the form in which an endpoint's answer is encoded.
func (m media) form(gv schema.GroupVersion) object.Form {
	if m.custom {
		return object.Form{APIVersion: gv.String()}
	}
	return object.Form{APIVersion: gv.String(), Format: m.format()}
}

// streamType returns the content type of a watch.
func (m media) streamType() string {
	if m.name == mediaProtobuf {
		return mediaProtobuf + ";stream=watch"
	}
	return m.name
}

// negotiate chooses the form of the answer. as are the kinds that the answer may be converted to; without
// any, the answer is a Status, which is never converted.
func (c *call) negotiate(as ...string) error {
	header := c.http.Header.Get("Accept")
	if c.builtin() && !named(header) {
		return notAcceptable(c.streams())
	}
	chosen, ok := acceptable(header, c.builtin())
	if !ok {
		return notWritten(mediaTypes...)
	}
	if c.verb == "watch" {
		if chosen.name == mediaYAML { // YAML cannot separate the events
			return notWritten(streamed...)
		}
		if chosen.as == asPartialList { // an event is not a list: Kubernetes sends the object itself
			chosen.as = ""
		}
	}
	if chosen.as != "" && len(as) > 0 && !slices.Contains(as, chosen.as) {
		return c.otherShape(chosen.as)
	}
	chosen.custom = !c.builtin()
	c.accept = chosen
	return nil
}

// acceptable returns the first media type of an Accept header that the server supports, by quality and then
// by order, like Kubernetes. protobuf reports whether the kind has a protobuf form; the metadata of every
// kind has.
func acceptable(header string, protobuf bool) (chosen media, ok bool) {
	if header == "" || header == "*/*" || header == mediaJSON {
		return media{name: mediaJSON}, true
	}
	for _, clause := range goautoneg.ParseAccept(header) {
		for _, name := range mediaTypes {
			kind, sub, _ := strings.Cut(name, "/")
			if clause.Type != "*" && clause.Type != kind || clause.SubType != "*" && clause.SubType != sub {
				continue
			}
			if chosen, ok = offered(name, clause.Params, protobuf); ok {
				return chosen, true
			}
		}
	}
	return media{}, false
}

// offered returns a media type with the client's parameters. ok reports whether the server supports it.
func offered(name string, params map[string]string, protobuf bool) (m media, ok bool) {
	m = media{name: name, as: params["as"], version: params["v"]}
	if stream := params["stream"]; stream != "" && (stream != "watch" || name == mediaYAML) || params["sv"] != "" {
		return m, false
	}
	if m.as == "" && m.version == "" && params["g"] == "" {
		return m, protobuf || name != mediaProtobuf
	}
	if params["g"] != "meta.k8s.io" || m.version != "v1" && m.version != "v1beta1" {
		return m, false
	}
	return m, m.as == asTable && name != mediaProtobuf || m.as == asPartial || m.as == asPartialList
}

// streamed are the media types of watches, as errors name them.
var streamed = []string{mediaJSON + ";stream=watch", mediaProtobuf + ";stream=watch"}

// streams reports whether the path can also be watched.
func (c *call) streams() bool { return c.verb == "list" || c.verb == "watch" }

// named reports whether an Accept header names a media type that Kubernetes' router accepts for built-in
// kinds, ignoring parameters. The only wildcard it supports is */*.
func named(header string) bool {
	if header == "" {
		return true
	}
	for clause := range strings.SplitSeq(header, ",") {
		name, _, _ := strings.Cut(clause, ";")
		name = strings.Trim(name, " ")
		if name == "*/*" || slices.Contains(mediaTypes, name) {
			return true
		}
	}
	return false
}

// bodyMedia returns the media type of a request's body; JSON if the request names none.
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
