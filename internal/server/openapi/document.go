package openapi

import (
	"encoding/json"
)

// The parts of an OpenAPI 3.0 document that are used here; see https://spec.openapis.org/oas/v3.0.0.
type (
	document struct {
		OpenAPI    string               `json:"openapi"`
		Info       info                 `json:"info"`
		Paths      map[string]*pathItem `json:"paths"`
		Components components           `json:"components"`
	}
	info struct {
		Title   string `json:"title"`
		Version string `json:"version"`
	}
	components struct {
		Schemas map[string]json.RawMessage `json:"schemas"`
	}
	pathItem struct {
		Get        *operation  `json:"get,omitempty"`
		Put        *operation  `json:"put,omitempty"`
		Post       *operation  `json:"post,omitempty"`
		Delete     *operation  `json:"delete,omitempty"`
		Patch      *operation  `json:"patch,omitempty"`
		Head       *operation  `json:"head,omitempty"`
		Options    *operation  `json:"options,omitempty"`
		Parameters []parameter `json:"parameters,omitempty"`
	}
	operation struct {
		Tags        []string             `json:"tags"`
		Description string               `json:"description"`
		OperationID string               `json:"operationId"`
		Parameters  []parameter          `json:"parameters,omitempty"`
		RequestBody *requestBody         `json:"requestBody,omitempty"`
		Responses   map[string]*response `json:"responses"`
		Action      string               `json:"x-kubernetes-action,omitempty"`
		Kind        *groupVersionKind    `json:"x-kubernetes-group-version-kind,omitempty"`
	}
	requestBody struct {
		Content  content `json:"content"`
		Required bool    `json:"required,omitempty"`
	}
	response struct {
		Description string  `json:"description"`
		Content     content `json:"content,omitempty"`
	}
	// content maps a media type to a schema: the same for all media types of a body.
	content   map[string]mediaType
	mediaType struct {
		Schema bodySchema `json:"schema"`
	}
	bodySchema struct {
		Ref  string `json:"$ref,omitempty"`
		Type string `json:"type,omitempty"`
	}
	parameter struct {
		Name        string          `json:"name"`
		In          string          `json:"in"`
		Description string          `json:"description,omitempty"`
		Required    bool            `json:"required,omitempty"`
		Schema      parameterSchema `json:"schema"`
	}
	parameterSchema struct {
		Type        string `json:"type"`
		UniqueItems bool   `json:"uniqueItems,omitempty"`
	}
)

// empty reports whether the path has no operations.
func (p *pathItem) empty() bool { return len(p.operations()) == 0 }

// operations returns the operations of a path by method.
func (p *pathItem) operations() map[string]*operation {
	all := map[string]*operation{"get": p.Get, "put": p.Put, "post": p.Post, "delete": p.Delete, "patch": p.Patch,
		"head": p.Head, "options": p.Options}
	for method, op := range all {
		if op == nil {
			delete(all, method)
		}
	}
	return all
}

// A builder collects the paths of a document and the schemas that they use.
type builder struct {
	definitions *definitions
	parameters  *parameters
	paths       map[string]*pathItem
	used        map[string]bool // the names of definitions
}

func newBuilder(builtin *archive, v2 bool) (*builder, error) {
	d := newDefinitions(builtin, v2)
	p, err := newParameters(d)
	return &builder{definitions: d, parameters: p, paths: map[string]*pathItem{}, used: map[string]bool{}}, err
}

// buildV3 makes the OpenAPI v3 document of an entry of the index, as JSON. It is not safe for concurrent use.
func (h *Handler) buildV3(e *indexEntry) ([]byte, error) {
	var err error
	if h.builtin == nil {
		if h.builtin, err = openArchive(); err != nil {
			return nil, err
		}
	}
	defer h.builtin.forget()
	b, err := newBuilder(h.builtin, false)
	if err != nil {
		return nil, err
	}
	if err := b.add(e); err != nil {
		return nil, err
	}
	if err := b.definitions.shareOptions(e.typedVersions()); err != nil {
		return nil, err
	}
	schemas, err := b.definitions.reachable(b.used)
	if err != nil {
		return nil, err
	}
	return json.Marshal(document{OpenAPI: "3.0.0", Info: h.info, Paths: b.paths, Components: components{schemas}})
}
