package openapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
)

// The parts of an OpenAPI 2.0 document that are used here; see https://spec.openapis.org/oas/v2.0.html.
type (
	documentV2 struct {
		Swagger     string                     `json:"swagger"`
		Info        info                       `json:"info"`
		Paths       map[string]*pathItemV2     `json:"paths"`
		Definitions map[string]json.RawMessage `json:"definitions"`
		Parameters  map[string]parameterV2     `json:"parameters"`
	}
	pathItemV2 struct {
		Get        *operationV2  `json:"get,omitempty"`
		Put        *operationV2  `json:"put,omitempty"`
		Post       *operationV2  `json:"post,omitempty"`
		Delete     *operationV2  `json:"delete,omitempty"`
		Head       *operationV2  `json:"head,omitempty"`
		Options    *operationV2  `json:"options,omitempty"`
		Patch      *operationV2  `json:"patch,omitempty"`
		Parameters []parameterV2 `json:"parameters,omitempty"`
	}
	operationV2 struct {
		Tags        []string              `json:"tags"`
		Description string                `json:"description"`
		OperationID string                `json:"operationId"`
		Consumes    []string              `json:"consumes,omitempty"`
		Produces    []string              `json:"produces"`
		Schemes     []string              `json:"schemes"`
		Parameters  []parameterV2         `json:"parameters,omitempty"`
		Responses   map[string]responseV2 `json:"responses"`
		Action      string                `json:"x-kubernetes-action,omitempty"`
		Kind        *groupVersionKind     `json:"x-kubernetes-group-version-kind,omitempty"`
	}
	responseV2 struct {
		Description string      `json:"description"`
		Schema      *bodySchema `json:"schema,omitempty"`
	}
	// parameterV2 is a parameter, or, if only Ref is set, a reference to one.
	parameterV2 struct {
		Ref         string      `json:"$ref,omitempty"`
		Name        string      `json:"name,omitempty"`
		In          string      `json:"in,omitempty"`
		Description string      `json:"description,omitempty"`
		Required    bool        `json:"required,omitempty"`
		Type        string      `json:"type,omitempty"`
		UniqueItems bool        `json:"uniqueItems,omitempty"`
		Schema      *bodySchema `json:"schema,omitempty"`
	}
)

const refPrefixV2 = "#/definitions/"

// serveV2 answers with the document of everything.
func (h *Handler) serveV2(w http.ResponseWriter, r *http.Request, x *index) {
	format, ok := negotiate(r.Header.Get("Accept"), protobufFormatV2, protobufOldFormatV2)
	if !ok {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	h.serveDocument(w, r, documentKey{rootV2, format}, x.hash, func() ([]byte, error) {
		doc, err := h.buildV2(x)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(doc)
		if err != nil || format == jsonFormat {
			return text, err
		}
		parsed, err := openapi_v2.ParseDocument(text)
		if err != nil {
			return nil, err
		}
		return proto.Marshal(parsed)
	})
}

// buildV2 makes the OpenAPI v2 document of everything that an index lists.
func (h *Handler) buildV2(x *index) (*documentV2, error) {
	builtin, err := openArchive()
	if err != nil {
		return nil, err
	}
	b, err := newBuilder(builtin, true)
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(x.entries)) {
		if err := b.add(x.entries[path]); err != nil {
			return nil, err
		}
	}
	if err := b.definitions.shareOptions(x.typedVersions()); err != nil {
		return nil, err
	}
	doc := &documentV2{
		Swagger: "2.0", Info: h.info,
		Paths: map[string]*pathItemV2{}, Definitions: map[string]json.RawMessage{},
		Parameters: map[string]parameterV2{},
	}
	shared := sharedParameters{doc.Parameters, map[parameterV2]string{}}
	for path, item := range b.paths {
		doc.Paths[path] = shared.item(item)
	}
	schemas, err := b.definitions.reachable(b.used)
	if err != nil {
		return nil, err
	}
	doc.Definitions, err = b.definitions.toV2(schemas)
	return doc, err
}

// item converts a path to OpenAPI v2.
func (s *sharedParameters) item(item *pathItem) *pathItemV2 {
	return &pathItemV2{
		Get: s.operation(item.Get), Put: s.operation(item.Put), Post: s.operation(item.Post),
		Delete: s.operation(item.Delete), Patch: s.operation(item.Patch), Head: s.operation(item.Head),
		Options: s.operation(item.Options), Parameters: s.parameters(item.Parameters),
	}
}

// operation converts an operation, which may be nil, to OpenAPI v2: the body is a parameter.
func (s *sharedParameters) operation(op *operation) *operationV2 {
	if op == nil {
		return nil
	}
	out := &operationV2{
		Tags: op.Tags, Description: op.Description, OperationID: op.OperationID, Action: op.Action, Kind: op.Kind,
		Schemes: []string{"https"}, Produces: formatsOf(op.Responses["200"].Content),
		Parameters: s.parameters(op.Parameters), Responses: map[string]responseV2{},
	}
	if op.RequestBody != nil {
		out.Consumes = formatsOf(op.RequestBody.Content)
		body := parameterV2{Name: "body", In: "body", Required: op.RequestBody.Required,
			Schema: schemaOf(op.RequestBody.Content)}
		out.Parameters = append([]parameterV2{body}, out.Parameters...)
	}
	for code, r := range op.Responses {
		out.Responses[code] = responseV2{Description: r.Description, Schema: schemaOf(r.Content)}
	}
	return out
}

// formatsOf returns the media types of a body, JSON first: generated clients use the first.
func formatsOf(c content) []string {
	return slices.SortedFunc(maps.Keys(c), func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, ";"), strings.Count(b, ";")), cmp.Compare(a, b))
	})
}

// schemaOf returns the schema of a body; nil if it has none.
func schemaOf(c content) *bodySchema {
	for _, m := range c {
		name, ref := strings.CutPrefix(m.Schema.Ref, refPrefix)
		if ref {
			return &bodySchema{Ref: refPrefixV2 + name}
		}
		return &m.Schema
	}
	return nil
}

// sharedParameters are written once in the document, each under its name and a hash.
type sharedParameters struct {
	all   map[string]parameterV2
	names map[parameterV2]string
}

func (s *sharedParameters) parameters(list []parameter) []parameterV2 {
	var out []parameterV2
	for _, p := range list {
		out = append(out, s.parameter(parameterV2{
			Name: p.Name, In: p.In, Description: p.Description, Required: p.Required,
			Type: p.Schema.Type, UniqueItems: p.Schema.UniqueItems,
		}))
	}
	return out
}

// parameter returns a reference to the parameter. A name belongs to one kind of parameter. Two parameters are
// not shared: older kubectls look for them in the operations to detect features of the server.
func (s *sharedParameters) parameter(p parameterV2) parameterV2 {
	if p.Name == "name" || p.Name == "dryRun" || p.Name == "fieldValidation" {
		return p
	}
	name, ok := s.names[p]
	if !ok {
		sum := sha256.Sum256([]byte(p.In + "\x00" + p.Type + "\x00" + p.Description))
		name = p.Name + "-" + base64.RawURLEncoding.EncodeToString(sum[:6])
		s.names[p], s.all[name] = name, p
	}
	return parameterV2{Ref: "#/parameters/" + name}
}
