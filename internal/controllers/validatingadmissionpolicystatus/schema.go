package validatingadmissionpolicystatus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/bowline-dev/bowline/client"
)

// Limits of a schema after its references were replaced. A kind with a larger one is not checked. Another server, to
// which an APIService delegates, may have written the schema.
const (
	maxSchemas = 50_000
	maxDepth   = 100
)

// errTooLarge is returned for schemas above the limits.
var errTooLarge = errors.New("the schema is too large")

// schemas reads the schemas of kinds from the server's OpenAPI v3 documents, each document once.
type schemas struct {
	client    *client.Client
	documents map[schema.GroupVersion]*document
}

// declare returns the CEL type of a kind, with a name that ends with suffix. Without a schema, found is false.
func (s *schemas) declare(ctx context.Context, kind schema.GroupVersionKind, suffix string) (
	declared *apiservercel.DeclType, found bool, err error) {
	d, read := s.documents[kind.GroupVersion()]
	if !read {
		if d, err = fetchDocument(ctx, s.client, kind.GroupVersion()); err != nil {
			return nil, false, err
		}
		if s.documents == nil {
			s.documents = map[schema.GroupVersion]*document{}
		}
		s.documents[kind.GroupVersion()] = d
	}
	if d == nil {
		return nil, false, nil
	}
	declared, found = d.declare(kind, suffix)
	return declared, found, nil
}

// document is the OpenAPI v3 document of a group-version. A schema is decoded when it is used.
type document struct {
	schemas map[string]json.RawMessage
	decoded map[string]*spec.Schema
}

// fetchDocument returns the document of a group-version, or nil if the server has none.
func fetchDocument(ctx context.Context, c *client.Client, gv schema.GroupVersion) (*document, error) {
	segments := []string{"openapi", "v3", "apis", gv.Group, gv.Version}
	if gv.Group == "" {
		segments = []string{"openapi", "v3", "api", gv.Version}
	}
	body, err := c.REST().Get().AbsPath(segments...).SetHeader("Accept", "application/json").Do(ctx).Raw()
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the OpenAPI document of %s: %w", gv, err)
	}
	return newDocument(body)
}

func newDocument(body []byte) (*document, error) {
	var read struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(body, &read); err != nil {
		return nil, fmt.Errorf("an OpenAPI document: %w", err)
	}
	return &document{read.Components.Schemas, map[string]*spec.Schema{}}, nil
}

// declare returns the CEL type of a kind. found is false without a valid schema. The suffix makes the type's name
// unique, like the number in the names of Kubernetes' checker.
func (d *document) declare(kind schema.GroupVersionKind, suffix string) (declared *apiservercel.DeclType, found bool) {
	name, found := d.named(kind)
	if !found {
		return nil, false
	}
	root, err := d.decode(name)
	if err != nil {
		return nil, false
	}
	e := expansion{document: d, open: map[string]bool{name: true}}
	if root, err = e.expand(root); err != nil {
		return nil, false
	}
	if declared = common.SchemaDeclType(&openapi.Schema{Schema: root}, true); declared == nil {
		return nil, true
	}
	return declared.MaybeAssignTypeName(kind.Kind + suffix), true
}

// named returns the name of the schema of a kind.
func (d *document) named(kind schema.GroupVersionKind) (string, bool) {
	for _, name := range slices.Sorted(maps.Keys(d.schemas)) {
		if !bytes.Contains(d.schemas[name], []byte(kind.Kind)) {
			continue
		}
		var read struct {
			Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		if json.Unmarshal(d.schemas[name], &read) == nil && slices.Contains(read.Kinds, kind) {
			return name, true
		}
	}
	return "", false
}

func (d *document) decode(name string) (*spec.Schema, error) {
	if s := d.decoded[name]; s != nil {
		return s, nil
	}
	raw, found := d.schemas[name]
	if !found {
		return nil, fmt.Errorf("the schema %q is not in the OpenAPI document", name)
	}
	s := &spec.Schema{}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, fmt.Errorf("the schema %q: %w", name, err)
	}
	d.decoded[name] = s
	return s, nil
}

// expansion replaces the references in a schema with the schemas that they refer to. Inside a schema, a reference to
// itself becomes an object without fields.
type expansion struct {
	*document
	open         map[string]bool // the references above the current schema
	depth, count int
}

// expand returns a copy of a schema without references.
func (e *expansion) expand(s *spec.Schema) (*spec.Schema, error) {
	if e.count++; e.count > maxSchemas || e.depth >= maxDepth {
		return nil, errTooLarge
	}
	e.depth++
	defer func() { e.depth-- }()
	if name, isReference := reference(s); isReference {
		if e.open[name] {
			return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}, nil
		}
		e.open[name] = true
		defer delete(e.open, name)
		var err error
		if s, err = e.decode(name); err != nil {
			return nil, err
		}
	}
	return e.expandParts(s)
}

// expandParts returns a copy of a schema with the schemas of its fields, values and items expanded.
func (e *expansion) expandParts(s *spec.Schema) (*spec.Schema, error) {
	expanded := *s
	if len(s.Properties) > 0 {
		expanded.Properties = make(map[string]spec.Schema, len(s.Properties))
		for name, property := range s.Properties {
			p, err := e.expand(&property)
			if err != nil {
				return nil, err
			}
			expanded.Properties[name] = *p
		}
	}
	if values := s.AdditionalProperties; values != nil && values.Schema != nil {
		v, err := e.expand(values.Schema)
		if err != nil {
			return nil, err
		}
		expanded.AdditionalProperties = &spec.SchemaOrBool{Allows: values.Allows, Schema: v}
	}
	if s.Items != nil && s.Items.Schema != nil {
		i, err := e.expand(s.Items.Schema)
		if err != nil {
			return nil, err
		}
		expanded.Items = &spec.SchemaOrArray{Schema: i}
	}
	return &expanded, nil
}

// reference returns the name of the schema that a schema refers to. OpenAPI documents of Kubernetes wrap a reference in
// allOf if it has a description or a default.
func reference(s *spec.Schema) (name string, isReference bool) {
	const prefix = "#/components/schemas/"
	if ref := s.Ref.String(); ref != "" {
		return strings.TrimPrefix(ref, prefix), true
	}
	for i := range s.AllOf {
		if ref := s.AllOf[i].Ref.String(); ref != "" {
			return strings.TrimPrefix(ref, prefix), true
		}
	}
	return "", false
}
