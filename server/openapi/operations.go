package openapi

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/kind"
)

// resource writes the paths of one kind in one group-version.
type resource struct {
	kind.Entry
	gv         schema.GroupVersion
	parameters *parameters
	used       map[string]bool // the definitions that the paths refer to

	item, list string // definition names
	formats    []string
}

var (
	textFormats  = []string{"application/json", "application/yaml"}
	typedFormats = append(slices.Clone(textFormats), "application/vnd.kubernetes.protobuf")
)

// resolve finds the schemas of the kind and its list.
func (r *resource) resolve(d *definitions) error {
	var err error
	if r.item, err = d.name(r.Entry); err != nil {
		return err
	}
	if r.list, err = d.listName(r.Entry, r.item); err != nil {
		return err
	}
	r.formats = textFormats
	if r.Kind.Info().Protobuf {
		r.formats = typedFormats
	}
	return nil
}

// addPaths writes the resource's own paths and those of its subresources.
func (r *resource) addPaths(d *definitions, paths map[string]*pathItem) error {
	info := r.Kind.Info()
	base := "/" + documentPath(r.gv) + "/"
	collection := base + info.Plural
	if info.Namespaced {
		collection = base + "namespaces/{namespace}/" + info.Plural
		if info.HasVerb("list") {
			all := r.operation("list", "list", "", "ForAllNamespaces", r.list)
			all.Parameters = r.parameters.list
			paths[base+info.Plural] = &pathItem{Get: all}
		}
	}
	if c := r.collection(); !c.empty() {
		c.Parameters = pathParameters(info.Namespaced, false, info.Kind)
		paths[collection] = c
	}
	named := pathParameters(info.Namespaced, true, info.Kind)
	if i := r.object("", r.verbs(), r.item, r.formats); !i.empty() {
		i.Parameters = named
		paths[collection+"/{name}"] = i
	}
	for _, sub := range info.Subresources {
		item, err := r.subresource(d, sub)
		if err != nil {
			return err
		}
		item.Parameters = named
		paths[collection+"/{name}/"+sub.Name] = item
	}
	return nil
}

// verbs are those of the resource that act on one object.
func (r *resource) verbs() []string {
	var verbs []string
	for _, v := range []string{"get", "update", "patch", "delete"} {
		if r.Kind.Info().HasVerb(v) {
			verbs = append(verbs, v)
		}
	}
	return verbs
}

// collection is the path of many objects.
func (r *resource) collection() *pathItem {
	item := &pathItem{}
	if r.Kind.Info().HasVerb("list") {
		item.Get = r.operation("list", "list", r.scope(), "", r.list)
		item.Get.Parameters = r.parameters.list
	}
	if r.Kind.Info().HasVerb("create") {
		item.Post = r.write("create", "post", "", r.item, r.formats)
		item.Post.Parameters = r.parameters.create
	}
	if r.Kind.Info().HasVerb("deletecollection") {
		item.Delete = r.delete("deleteCollection", "deletecollection")
		item.Delete.Parameters = mergeParameters(r.parameters.delete, r.parameters.list)
	}
	return item
}

// object is the path of one object or subresource.
func (r *resource) object(sub string, verbs []string, schema string, formats []string) *pathItem {
	item := &pathItem{}
	suffix := capitalized(sub)
	for _, verb := range verbs {
		switch verb {
		case "get":
			item.Get = r.operation("read", "get", r.scope(), suffix, schema)
		case "update":
			item.Put = r.write("replace", "put", suffix, schema, formats)
			item.Put.Parameters = r.parameters.update
		case "patch":
			item.Patch = r.write("patch", "patch", suffix, schema, formats)
			item.Patch.Parameters = r.parameters.patch
			item.Patch.RequestBody = r.body(patchName, r.patchFormats())
		case "create":
			item.Post = r.write("create", "post", suffix, schema, formats)
			item.Post.Parameters = r.parameters.create
		case "delete":
			item.Delete = r.delete("delete", "delete")
			item.Delete.Parameters = r.parameters.delete
		}
	}
	return item
}

// subresource is the path of a subresource; one with a kind of its own is described by that kind.
func (r *resource) subresource(d *definitions, sub kind.Subresource) (*pathItem, error) {
	if sub.Kind.Kind == "" {
		return r.object(sub.Name, sub.Verbs, r.item, r.formats), nil
	}
	name, ok := d.names[sub.Kind]
	if !ok {
		if err := d.addCustom(sub.Kind, nil); err != nil {
			return nil, err
		}
		name = d.names[sub.Kind]
	}
	item := r.object(sub.Name, sub.Verbs, name, r.formats)
	for _, op := range []*operation{item.Get, item.Put, item.Post, item.Patch} {
		if op != nil {
			op.Kind = wireKind(sub.Kind)
		}
	}
	return item, nil
}

// patchFormats are the kinds of patch that the kind takes.
func (r *resource) patchFormats() []string {
	formats := []string{"application/json-patch+json", "application/merge-patch+json"}
	if r.Kind.Info().Protobuf {
		formats = append(formats, "application/strategic-merge-patch+json")
	}
	return formats
}

// operation is a request without a body. Its id is, as in readCoreV1NamespacedPodStatus, the verb, the group-version,
// the scope, the kind and what follows it.
func (r *resource) operation(verb, action, scope, suffix, schema string) *operation {
	tag := groupTitle(r.gv.Group)
	return &operation{
		Tags:        []string{strings.ToLower(tag[:1]) + tag[1:] + "_" + r.gv.Version},
		Description: verb + " " + r.Kind.Info().Kind + suffix,
		OperationID: verb + tag + capitalized(r.gv.Version) + scope + r.Kind.Info().Kind + suffix,
		Responses: map[string]*response{
			"200": r.response("OK", schema),
			"401": {Description: "Unauthorized"},
		},
		Action: action,
		Kind:   wireKind(r.gv.WithKind(r.Kind.Info().Kind)),
	}
}

// write is a request whose body and answer are an object.
func (r *resource) write(verb, action, suffix, schema string, formats []string) *operation {
	op := r.operation(verb, action, r.scope(), suffix, schema)
	op.RequestBody = r.body(schema, formats)
	op.Responses["201"] = r.response("Created", schema)
	return op
}

// delete takes options in its body and answers with a status.
func (r *resource) delete(verb, action string) *operation {
	op := r.operation(verb, action, r.scope(), "", statusName)
	op.RequestBody = r.body(deleteName, r.formats)
	op.RequestBody.Required = false
	op.Responses["202"] = r.response("Accepted", statusName)
	return op
}

func (r *resource) scope() string {
	if r.Kind.Info().Namespaced {
		return "Namespaced"
	}
	return ""
}

func (r *resource) body(schema string, formats []string) *requestBody {
	return &requestBody{Content: r.content(schema, formats), Required: true}
}

func (r *resource) response(description, schema string) *response {
	return &response{Description: description, Content: r.content(schema, r.formats)}
}

func (r *resource) content(schema string, formats []string) map[string]mediaType {
	r.used[schema] = true
	content := make(map[string]mediaType, len(formats))
	for _, f := range formats {
		content[f] = mediaType{Schema: reference{refPrefix + schema}}
	}
	return content
}

// mergeParameters joins two lists, each parameter once, in order of their names.
func mergeParameters(a, b []parameter) []parameter {
	out := slices.Concat(a, b)
	slices.SortFunc(out, func(x, y parameter) int { return strings.Compare(x.Name, y.Name) })
	return slices.CompactFunc(out, func(x, y parameter) bool { return x.Name == y.Name })
}

// groupTitle is a group as operation ids name it: Core, Apps, Events for events.k8s.io, StableExampleCom.
func groupTitle(group string) string {
	if group == "" {
		return "Core"
	}
	var title strings.Builder
	for label := range strings.SplitSeq(strings.TrimSuffix(group, ".k8s.io"), ".") {
		title.WriteString(capitalized(label))
	}
	return title.String()
}

func capitalized(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
