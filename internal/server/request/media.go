package request

import (
	"mime"
	"slices"
	"strings"

	"github.com/munnerz/goautoneg"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/status"
)

// The media types of bodies and answers.
const (
	JSON     = "application/json"
	YAML     = "application/yaml"
	Protobuf = "application/vnd.kubernetes.protobuf"
)

// MediaTypes are the media types of answers, the preferred one first. The caller does not change it.
var MediaTypes = []string{JSON, YAML, Protobuf}

// streamed are the media types of watches, as errors name them.
var streamed = []string{JSON + ";stream=watch", Protobuf + ";stream=watch"}

// The kinds that a client may ask for instead of the objects.
const (
	AsTable       = "Table"
	AsPartial     = "PartialObjectMetadata"
	AsPartialList = "PartialObjectMetadataList"
)

// Media is the negotiated form of an answer.
type Media struct {
	// Name is the media type of the answer.
	Name string
	// As is the kind that the client wants instead of the object: Table, PartialObjectMetadata(List), or
	// empty; in Version.
	As, Version string
}

// Format returns the format of the encoding that the answer is made from.
func (m Media) Format() object.Format {
	if m.Name == Protobuf {
		return object.Protobuf
	}
	return object.JSON
}

// MetaVersion returns the apiVersion of the Table or PartialObjectMetadata that the client asked for.
func (m Media) MetaVersion() string { return "meta.k8s.io/" + m.Version }

// StreamType returns the content type of a watch.
func (m Media) StreamType() string {
	if m.Name == Protobuf {
		return Protobuf + ";stream=watch"
	}
	return m.Name
}

// Negotiate chooses the form of the answer, r.Accept, from an Accept header. as are the kinds that the answer may be
// converted to; without any, the answer is a Status, which is never converted.
func (r *Request) Negotiate(header string, as ...string) error {
	if header == "" || header == JSON { // most clients; nothing is refused
		r.Accept = Media{Name: JSON}
		return nil
	}
	if r.Info.Builtin && !named(header) {
		if r.Verb == "list" || r.Verb == "watch" { // the path can be watched
			return status.NotAcceptable(slices.Concat(MediaTypes, streamed)...)
		}
		return status.NotAcceptable(MediaTypes...)
	}
	chosen, ok := Acceptable(header, Forms{Protobuf: r.Info.Builtin, Table: !r.Info.Review})
	if !ok {
		return status.UnsupportedForm(MediaTypes...)
	}
	if r.Verb == "watch" {
		if chosen.Name == YAML { // YAML cannot separate the events
			return status.UnsupportedForm(streamed...)
		}
		if chosen.As == AsPartialList { // an event is not a list: Kubernetes sends the object itself
			chosen.As = ""
		}
	}
	if chosen.As != "" && len(as) > 0 && !slices.Contains(as, chosen.As) {
		return r.otherShape(chosen.As)
	}
	r.Accept = chosen
	return nil
}

// otherShape returns the 406 of a request for a list as one object's metadata, or for an object as a list's.
func (r *Request) otherShape(as string) error {
	goType := "*" + status.InternalGroup(r.GVR.Group) + "." + r.Info.Kind
	if !r.Info.Builtin {
		goType = "*unstructured.Unstructured"
	}
	if as == AsPartialList {
		return status.NoForm("you requested PartialObjectMetadataList, but the requested object is not a list (" +
			goType + ")")
	}
	return status.NoForm("you requested PartialObjectMetadata, but the requested object is a list (" + goType +
		"List)")
}

// Forms are the forms that not every kind has: custom resources have no protobuf, although their metadata has, and
// reviews are not shown in tables.
type Forms struct{ Protobuf, Table bool }

// Acceptable returns the first media type of an Accept header that the server supports for a kind with these forms, by
// quality and then by order, like Kubernetes.
func Acceptable(header string, forms Forms) (chosen Media, ok bool) {
	if header == "" || header == "*/*" || header == JSON {
		return Media{Name: JSON}, true
	}
	for _, clause := range goautoneg.ParseAccept(header) {
		for _, name := range MediaTypes {
			kind, sub, _ := strings.Cut(name, "/")
			if clause.Type != "*" && clause.Type != kind || clause.SubType != "*" && clause.SubType != sub {
				continue
			}
			if chosen, ok = offered(name, clause.Params, forms); ok {
				return chosen, true
			}
		}
	}
	return Media{}, false
}

// offered returns a media type with the client's parameters. ok reports whether the server supports it.
func offered(name string, params map[string]string, forms Forms) (m Media, ok bool) {
	m = Media{Name: name, As: params["as"], Version: params["v"]}
	if stream := params["stream"]; stream != "" && (stream != "watch" || name == YAML) || params["sv"] != "" {
		return m, false
	}
	if m.As == "" && m.Version == "" && params["g"] == "" {
		return m, forms.Protobuf || name != Protobuf
	}
	if params["g"] != "meta.k8s.io" || m.Version != "v1" && m.Version != "v1beta1" {
		return m, false
	}
	return m, m.As == AsTable && forms.Table && name != Protobuf || m.As == AsPartial || m.As == AsPartialList
}

// named reports whether an Accept header names a media type that Kubernetes' router accepts for built-in
// kinds, ignoring parameters. The only wildcard it supports is */*.
func named(header string) bool {
	if header == "" {
		return true
	}
	for clause := range strings.SplitSeq(header, ",") {
		name, _, _ := strings.Cut(clause, ";")
		name = strings.Trim(name, " ")
		if name == "*/*" || slices.Contains(MediaTypes, name) {
			return true
		}
	}
	return false
}

// BodyMedia returns the media type of a Content-Type header; JSON if it is empty.
func BodyMedia(header string) string {
	if header == "" || header == JSON {
		return JSON
	}
	kind, _, err := mime.ParseMediaType(header)
	if err != nil {
		return header
	}
	return kind
}
