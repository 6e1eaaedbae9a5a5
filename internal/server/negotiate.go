package server

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/munnerz/goautoneg"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/object"
)

const (
	mediaJSON     = "application/json"
	mediaYAML     = "application/yaml"
	mediaProtobuf = "application/vnd.kubernetes.protobuf"
)

// mediaTypes are the media types of answers, the preferred first.
var mediaTypes = []string{mediaJSON, mediaYAML, mediaProtobuf}

// media is what an answer is to be written as.
type media struct {
	// name is the media type of the answer.
	name string
	// as is the kind that the client wants instead of the object: Table, PartialObjectMetadata(List), or empty; in version.
	as, version string
	// custom says that the objects are kept as JSON alone, whatever their metadata is written as.
	custom bool
}

// format is that of the encoding which the answer is made from.
func (m media) format() object.Format {
	if m.name == mediaProtobuf {
		return object.Protobuf
	}
	return object.JSON
}

// form is the form in which an endpoint's answer is kept.
func (m media) form(gv schema.GroupVersion) object.Form {
	if m.custom {
		return object.Form{APIVersion: gv.String()}
	}
	return object.Form{APIVersion: gv.String(), Format: m.format()}
}

// streamType is the content type of a watch.
func (m media) streamType() string {
	if m.name == mediaProtobuf {
		return mediaProtobuf + ";stream=watch"
	}
	return m.name
}

// negotiate decides what the answer is written as. as are the kinds that this answer can be made into; none says that it
// is a Status, which is always itself.
func (c *call) negotiate(as ...string) error {
	header := c.http.Header.Get("Accept")
	if c.protobuf() && !named(header) {
		return notAcceptable(c.streams())
	}
	chosen, ok := acceptable(header, c.protobuf())
	if !ok {
		return notWritten(mediaTypes...)
	}
	if c.verb == "watch" {
		if chosen.name == mediaYAML { // its events could not be told apart
			return notWritten(streamed...)
		}
		if chosen.as == asPartialList { // no event is a list: Kubernetes sends the objects as they are
			chosen.as = ""
		}
	}
	if chosen.as != "" && len(as) > 0 && !slices.Contains(as, chosen.as) {
		return c.otherShape(chosen.as)
	}
	chosen.custom = !c.protobuf()
	c.accept = chosen
	return nil
}

// acceptable finds the best of an Accept header that the server writes, by quality and then by order, as Kubernetes does.
// protobuf says whether the kind has that form: the metadata of every kind has.
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

// offered is a media type with the parameters that a client gave it, when the server writes that.
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

// streamed are the media types of watches, as refusals name them.
var streamed = []string{mediaJSON + ";stream=watch", mediaProtobuf + ";stream=watch"}

// streams says that the path can be watched, too.
func (c *call) streams() bool { return c.verb == "list" || c.verb == "watch" }

// named says whether an Accept header names a media type that Kubernetes' router lets in to built-in kinds, parameters
// aside. It knows no wildcard but */*.
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
