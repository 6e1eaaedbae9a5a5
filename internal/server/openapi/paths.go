package openapi

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
)

// add writes the paths of an entry of the index: those of a group-version's kinds, or a discovery path.
func (b *builder) add(e *indexEntry) error {
	if e.remote != nil {
		return nil
	}
	if e.gv.Version == "" {
		b.addDiscovery(e)
		return nil
	}
	if e.typed() {
		b.addDiscovery(e)
	}
	kinds := slices.Clone(e.kinds)
	slices.SortFunc(kinds, func(a, b kind.Entry) int { return cmp.Compare(a.Kind.Info().Plural, b.Kind.Info().Plural) })
	for _, k := range kinds {
		if err := b.addResource(e.gv, k); err != nil {
			return err
		}
	}
	return nil
}

// addDiscovery writes the path of a discovery document.
func (b *builder) addDiscovery(e *indexEntry) {
	tag, title := tagOf(e.gv), groupTitle(e.gv.Group)
	id, description, schema := "", "", metaPrefix
	switch {
	case e.path == versionPath:
		tag, id, description, schema = versionPath, "getCodeVersion", "get the version of the server",
			"io.k8s.apimachinery.pkg.version.Info"
	case e.path == "apis":
		tag, id, description, schema = "apis", "getAPIVersions", "get available API versions", schema+"APIGroupList"
	case e.path == "api":
		id, description, schema = "getCoreAPIVersions", "get available API versions", schema+"APIVersions"
	case e.gv.Version == "":
		id, description, schema = "get"+title+"APIGroup", "get information of a group", schema+"APIGroup"
	default:
		id, description, schema = "get"+title+capitalized(e.gv.Version)+"APIResources", "get available resources",
			schema+"APIResourceList"
	}
	formats := typedFormats
	if e.path == versionPath {
		formats = typedFormats[:1]
	}
	b.paths["/"+e.path+"/"] = &pathItem{Get: &operation{
		Tags: []string{tag}, Description: description, OperationID: id,
		Responses: map[string]*response{
			"200": {Description: "OK", Content: b.content(schema, formats)},
			"401": {Description: "Unauthorized"},
		},
	}}
}

// addResource writes the paths of a kind and its subresources.
func (b *builder) addResource(gv schema.GroupVersion, k kind.Entry) error {
	r := &resource{Entry: k, builder: b, gv: gv, formats: textFormats}
	if k.Kind.Info().Builtin {
		r.formats = typedFormats
	}
	var err error
	if r.item, err = b.definitions.name(k); err != nil {
		return err
	}
	if r.list, err = b.definitions.listName(k, r.item); err != nil {
		return err
	}
	r.addCollection()
	r.addItem()
	if k.Kind.Info().Builtin {
		r.addWatches()
	}
	return r.addSubresources()
}

// resource writes the paths of one kind in one group-version.
type resource struct {
	kind.Entry
	*builder
	gv         schema.GroupVersion
	item, list string // definition names
	formats    []string
}

var (
	textFormats  = []string{"application/json", "application/yaml"}
	typedFormats = append(slices.Clone(textFormats), "application/vnd.kubernetes.protobuf")
)

// base returns the path of all objects, or with watch the deprecated one of their watches.
func (r *resource) base(watch bool) string {
	base := "/" + documentPath(r.gv) + "/"
	if watch {
		base += "watch/"
	}
	return base
}

// collection returns the path of the objects of a namespace, or of all objects of a cluster-scoped kind.
func (r *resource) collection(watch bool) string {
	info := r.Kind.Info()
	if info.Namespaced {
		return r.base(watch) + "namespaces/{namespace}/" + info.Plural
	}
	return r.base(watch) + info.Plural
}

// addCollection writes the paths of collections.
func (r *resource) addCollection() {
	info := r.Kind.Info()
	item := &pathItem{Parameters: r.pathParameters(false)}
	if info.HasVerb("list") {
		item.Get = r.listing(r.scope(), "")
		item.Get.Parameters = r.parameters.list
	}
	if info.HasVerb("create") {
		item.Post = r.creation("", r.item)
	}
	if info.HasVerb("deletecollection") {
		item.Delete = r.deletion("deletecollection", "Collection"+r.scope(), "delete collection of "+info.Kind)
		item.Delete.Parameters = r.parameters.deleteCollection
		delete(item.Delete.Responses, "202")
	}
	if !item.empty() {
		r.paths[r.collection(false)] = item
	}
	if info.Namespaced && info.HasVerb("list") {
		r.paths[r.base(false)+info.Plural] = &pathItem{
			Get: r.listing("", "ForAllNamespaces"), Parameters: slices.Concat(r.parameters.list, r.parameters.pretty),
		}
	}
}

// addItem writes the path of one object.
func (r *resource) addItem() {
	item := &pathItem{Parameters: r.pathParameters(true)}
	info := r.Kind.Info()
	if info.HasVerb("get") {
		item.Get = r.reading("", r.item)
	}
	if info.HasVerb("update") {
		item.Put = r.replacement("", r.item)
	}
	if info.HasVerb("patch") {
		item.Patch = r.patching("", r.item)
	}
	if info.HasVerb("delete") {
		item.Delete = r.deletion("delete", r.scope(), "delete "+article(info.Kind)+" "+info.Kind)
		item.Delete.Parameters = r.parameters.delete
	}
	if !item.empty() {
		r.paths[r.collection(false)+"/{name}"] = item
	}
}

// addWatches writes the deprecated paths of watches.
func (r *resource) addWatches() {
	info := r.Kind.Info()
	if !info.HasVerb("watch") {
		return
	}
	add := func(path string, path0 []parameter, action, scope, suffix, what string) {
		op := r.operation("watch", action, scope, suffix, watchEventName)
		op.Description = "watch " + what + " of kind " + info.Kind +
			"; deprecated: list with the parameter watch instead"
		r.paths[path] = &pathItem{Get: op, Parameters: slices.Concat(path0, r.parameters.list)}
	}
	add(r.collection(true), r.pathParameters(false), "watchlist", r.scope(), "List", "changes to objects")
	add(r.collection(true)+"/{name}", r.pathParameters(true), "watch", r.scope(), "", "changes to an object")
	if info.Namespaced {
		add(r.base(true)+info.Plural, r.parameters.pretty, "watchlist", "", "ListForAllNamespaces",
			"changes to objects")
	}
}

// addSubresources writes the paths of subresources; one with its own kind is described by that kind.
func (r *resource) addSubresources() error {
	for _, sub := range r.Kind.Info().SubresourcesOf(r.gv) {
		if sub.Connect != nil && !sub.Connect.Text {
			if err := r.addConnection(sub); err != nil {
				return err
			}
			continue
		}
		schema := r.item
		if sub.Kind.Kind != "" {
			if schema = r.definitions.known(sub.Kind); schema == "" {
				schema = customName(sub.Kind)
				if err := r.definitions.addAlias(sub.Kind, sub.Kind); err != nil {
					return err
				}
			}
		}
		item, err := r.subresource(sub, schema)
		if err != nil {
			return err
		}
		r.paths[r.collection(false)+"/{name}/"+sub.Name] = item
	}
	return nil
}

// addConnection writes the paths of a subresource that another machine answers, whose parameters are its options.
func (r *resource) addConnection(sub kind.Subresource) error {
	options, err := r.definitions.properties(r.definitions.known(sub.Kind))
	if err != nil {
		return err
	}
	own := r.pathParameters(true)
	own = append(own[:len(own)-len(r.parameters.pretty)], queryParameters(options)...)
	path := r.collection(false) + "/{name}/" + sub.Name
	r.paths[path] = r.connections(sub, "", own)
	if sub.Connect.Proxy {
		r.paths[path+"/{path}"] = r.connections(sub, "WithPath", append(slices.Clone(own), parameter{
			Name: "path", In: "path", Description: "the path at the other machine", Required: true,
			Schema: parameterSchema{Type: "string", UniqueItems: true},
		}))
	}
	return nil
}

// connections returns the operations of one path of such a subresource.
func (r *resource) connections(sub kind.Subresource, suffix string, parameters []parameter) *pathItem {
	of := func(method string) *operation { return r.connection(sub, method, suffix) }
	item := &pathItem{Parameters: parameters, Get: of("Get"), Post: of("Post")}
	if sub.Connect.Proxy {
		item.Put, item.Delete, item.Patch = of("Put"), of("Delete"), of("Patch")
		item.Head, item.Options = of("Head"), of("Options")
	}
	return item
}

func (r *resource) subresource(sub kind.Subresource, schema string) (*pathItem, error) {
	item := &pathItem{Parameters: r.pathParameters(true)}
	for _, verb := range sub.Verbs {
		switch {
		case verb == "get" && sub.Connect != nil:
			options, err := r.definitions.properties(r.definitions.known(r.gv.WithKind(r.Kind.Info().Kind +
				capitalized(sub.Name) + "Options")))
			if err != nil {
				return nil, err
			}
			item.Get = r.reading(sub.Name, "")
			item.Get.Parameters = queryParameters(options)
		case verb == "get":
			item.Get = r.reading(sub.Name, schema)
		case verb == "update":
			item.Put = r.replacement(sub.Name, schema)
		case verb == "patch":
			item.Patch = r.patching(sub.Name, schema)
		case verb == "create":
			item.Post = r.creation(sub.Name, schema)
		}
	}
	if sub.Kind.Kind != "" && r.Kind.Info().Builtin { // as in Kubernetes, not for custom resources
		own := wireKind(sub.Kind)
		for _, op := range item.operations() {
			op.Kind = &own
		}
	}
	return item, nil
}

// pathParameters returns the variables of a path and the parameters of all its requests.
func (r *resource) pathParameters(named bool) []parameter {
	var out []parameter
	add := func(name, description string) {
		out = append(out, parameter{
			Name: name, In: "path", Description: description, Required: true,
			Schema: parameterSchema{Type: "string", UniqueItems: true},
		})
	}
	if named {
		add("name", "name of the "+r.Kind.Info().Kind)
	}
	if r.Kind.Info().Namespaced {
		add("namespace", "the namespace that the object is in")
	}
	return append(out, r.parameters.pretty...)
}
