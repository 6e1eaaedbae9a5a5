package openapi

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
)

// listing returns the operation of a list, which a parameter turns into a watch.
func (r *resource) listing(scope, suffix string) *operation {
	op := r.operation("list", "list", scope, suffix, r.list)
	op.Description = "list objects of kind " + r.Kind.Info().Kind
	if r.Kind.Info().HasVerb("watch") {
		op.Description = "list or watch objects of kind " + r.Kind.Info().Kind
		content := op.Responses["200"].Content
		for _, f := range r.formats {
			if f != "application/yaml" { // YAML cannot separate the events of a watch
				content[f+";stream=watch"] = content[f]
			}
		}
	}
	return op
}

// reading returns the operation of a GET of one object or, with sub, its subresource. Without a schema the
// answer is text.
func (r *resource) reading(sub, schema string) *operation {
	op := r.operation("read", "get", r.scope(), capitalized(sub), schema)
	op.Description = "read " + r.specified(sub)
	if schema == "" {
		op.Responses["200"].Content = content{"text/plain": {Schema: bodySchema{Type: "string"}}}
	}
	return op
}

func (r *resource) replacement(sub, schema string) *operation {
	op := r.operation("replace", "put", r.scope(), capitalized(sub), schema)
	op.Description = "replace " + r.specified(sub)
	op.Parameters = r.parameters.update
	r.addBody(op, schema, r.formats)
	return op
}

func (r *resource) patching(sub, schema string) *operation {
	op := r.operation("patch", "patch", r.scope(), capitalized(sub), schema)
	op.Description = "partially update " + r.specified(sub)
	op.Parameters = r.parameters.patch
	r.addBody(op, patchName, r.patchFormats())
	return op
}

func (r *resource) creation(sub, schema string) *operation {
	name := r.Kind.Info().Kind
	op := r.operation("create", "post", r.scope(), capitalized(sub), schema)
	op.Description = "create " + article(name) + " " + name
	if sub != "" {
		op.Description = "create " + sub + " of " + article(name) + " " + name
	}
	op.Parameters = r.parameters.create
	r.addBody(op, schema, r.formats)
	op.Responses["202"] = r.response("Accepted", schema)
	return op
}

// deletion returns an operation with options in its body. It answers with a Status, unless the kind answers
// with the object.
func (r *resource) deletion(action, scope, description string) *operation {
	schema := statusName
	if action == "delete" && r.Kind.Info().ReturnsDeleted {
		schema = r.item
	}
	op := r.operation("delete", action, scope, "", schema)
	op.Description = description
	op.RequestBody = &requestBody{Content: r.content(deleteName, r.formats)}
	op.Responses["202"] = r.response("Accepted", schema)
	return op
}

// operation returns an operation without a body. Its id, such as readCoreV1NamespacedPodStatus, consists of
// the verb, the group-version, the scope, the kind and the subresource.
func (r *resource) operation(verb, action, scope, suffix, schema string) *operation {
	own := wireKind(r.gv.WithKind(r.Kind.Info().Kind))
	return &operation{
		Tags:        []string{tagOf(r.gv)},
		OperationID: verb + groupTitle(r.gv.Group) + capitalized(r.gv.Version) + scope + own.Kind + suffix,
		Responses: map[string]*response{
			"200": r.response("OK", schema),
			"401": {Description: "Unauthorized"},
		},
		Action: action,
		Kind:   &own,
	}
}

// connection returns the operation of a method of a subresource that another machine answers.
func (r *resource) connection(sub kind.Subresource, method, suffix string) *operation {
	op := r.operation("connect", "connect", method+r.scope(), capitalized(sub.Name)+suffix, statusName)
	op.Description = "connect " + strings.ToUpper(method) + " requests to " + sub.Name + " of " + r.Kind.Info().Kind
	op.Responses["200"].Content = content{"*/*": {Schema: bodySchema{Type: "string"}}}
	own := wireKind(sub.Kind)
	op.Kind = &own
	return op
}

// addBody adds the body to a write that may create an object.
func (r *resource) addBody(op *operation, schema string, formats []string) {
	op.RequestBody = &requestBody{Content: r.content(schema, formats), Required: true}
	created := *op.Responses["200"]
	created.Description = "Created"
	op.Responses["201"] = &created
}

// patchFormats are the patch types of the kind.
func (r *resource) patchFormats() []string {
	formats := []string{"application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"}
	if r.Kind.Info().Builtin {
		formats = append(formats, "application/strategic-merge-patch+json")
	}
	return formats
}

func (r *resource) scope() string {
	if r.Kind.Info().Namespaced {
		return "Namespaced"
	}
	return ""
}

// specified names the object, or a subresource of it, in a description.
func (r *resource) specified(sub string) string {
	if sub != "" {
		sub += " of "
	}
	return sub + "the specified " + r.Kind.Info().Kind
}

func (r *resource) response(description, schema string) *response {
	return &response{Description: description, Content: r.content(schema, r.formats)}
}

// content returns a body with a schema, in each of some media types.
func (b *builder) content(schema string, formats []string) content {
	if schema != "" {
		b.used[schema] = true
	}
	out := make(content, len(formats))
	for _, f := range formats {
		out[f] = mediaType{Schema: bodySchema{Ref: refPrefix + schema}}
	}
	return out
}

// tagOf returns the tag by which client generators group operations: core_v1, events_v1, stableExampleCom_v1.
func tagOf(gv schema.GroupVersion) string {
	title := groupTitle(gv.Group)
	tag := strings.ToLower(title[:1]) + title[1:]
	if gv.Version != "" {
		tag += "_" + gv.Version
	}
	return tag
}

// groupTitle returns a group's name in operation ids: Core, Apps, Events for events.k8s.io, StableExampleCom.
func groupTitle(group string) string {
	if group == "" {
		return "Core"
	}
	var title strings.Builder
	for label := range strings.FieldsFuncSeq(strings.TrimSuffix(group, ".k8s.io"), func(c rune) bool {
		return c == '.' || c == '-'
	}) {
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

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "AEIOUaeiou") {
		return "an"
	}
	return "a"
}
