package openapi

import (
	"cmp"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/kind"
)

// The parts of an OpenAPI 3.0 document that are written here; see https://spec.openapis.org/oas/v3.0.0.
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
		Parameters []parameter `json:"parameters,omitempty"`
	}
	operation struct {
		Tags        []string             `json:"tags"`
		Description string               `json:"description"`
		OperationID string               `json:"operationId"`
		Parameters  []parameter          `json:"parameters,omitempty"`
		RequestBody *requestBody         `json:"requestBody,omitempty"`
		Responses   map[string]*response `json:"responses"`
		Action      string               `json:"x-kubernetes-action"`
		Kind        groupVersionKind     `json:"x-kubernetes-group-version-kind"`
	}
	requestBody struct {
		Content  map[string]mediaType `json:"content"`
		Required bool                 `json:"required,omitempty"`
	}
	response struct {
		Description string               `json:"description"`
		Content     map[string]mediaType `json:"content,omitempty"`
	}
	mediaType struct {
		Schema reference `json:"schema"`
	}
	reference struct {
		Ref string `json:"$ref"`
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

// empty says whether nothing can be asked of the path.
func (p *pathItem) empty() bool {
	return p.Get == nil && p.Put == nil && p.Post == nil && p.Delete == nil && p.Patch == nil
}

// buildDocument makes the document of a group-version, as JSON.
func buildDocument(gv schema.GroupVersion, kinds []kind.Entry) ([]byte, error) {
	definitions, err := loadDefinitions()
	if err != nil {
		return nil, err
	}
	parameters, err := newParameters(definitions)
	if err != nil {
		return nil, err
	}
	doc := document{OpenAPI: "3.0.0", Info: info{Title: "Bowline", Version: "unversioned"}, Paths: map[string]*pathItem{}}
	kinds = slices.Clone(kinds)
	slices.SortFunc(kinds, func(a, b kind.Entry) int { return cmp.Compare(a.Kind.Info().Plural, b.Kind.Info().Plural) })
	used := map[string]bool{statusName: true}
	for _, k := range kinds {
		r := resource{Entry: k, gv: gv, parameters: parameters, used: used}
		if err := r.resolve(definitions); err != nil {
			return nil, err
		}
		if err := r.addPaths(definitions, doc.Paths); err != nil {
			return nil, err
		}
	}
	doc.Components.Schemas = definitions.reachable(used)
	return json.Marshal(doc)
}
