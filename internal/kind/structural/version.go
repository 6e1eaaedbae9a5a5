package structural

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/bowline-dev/bowline/internal/kind"
)

// definedVersion is one version of a definition.
type definedVersion struct {
	name, apiVersion string
	*versionSchema
	columns []apiextensionsv1.CustomResourceColumnDefinition
	printer func() *printer
}

// versionSchema is the schema of a version. Versions share it where they say the same.
type versionSchema struct {
	// raw is the schema as JSON, nil when the version has none: small, for definitions whose objects never come.
	raw []byte
	// compiled is its compiled form, made when the first object of the version comes: much larger than most objects.
	compiled func() (*compiled, error)
}

// Within lets the schemas be parts of an encoding of their definition, where they stand in it, instead of copies. It is for
// whoever made the definition, before anybody else sees it; the data must not change any more.
func (d *definition) Within(data []byte) {
	for _, k := range d.kinds {
		if at := bytes.Index(data, k.version.raw); len(k.version.raw) > 0 && at >= 0 {
			k.version.raw = data[at : at+len(k.version.raw) : at+len(k.version.raw)]
		}
	}
}

// define takes what a kind needs of a version out of its definition.
func (d *definition) define(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) (*definedVersion, error) {
	defined := &definedVersion{
		name:          v.Name,
		apiVersion:    crd.Spec.Group + "/" + v.Name,
		versionSchema: &versionSchema{},
		columns:       slices.Clone(v.AdditionalPrinterColumns),
	}
	defined.printer = sync.OnceValue(defined.newPrinter)
	if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
		raw, err := json.Marshal(v.Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, err
		}
		defined.raw = raw
	}
	s, preserve, what := defined.versionSchema, d.preserve, fmt.Sprintf("%s in %s", crd.Spec.Names.Kind, defined.apiVersion)
	s.compiled = sync.OnceValues(func() (*compiled, error) { return s.compile(what, preserve) })
	return defined, nil
}

// endpoint is a version as the registry knows it.
func endpoint(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) kind.Endpoint {
	e := kind.Endpoint{Group: crd.Spec.Group, Version: v.Name, Unserved: !v.Served}
	for _, f := range v.SelectableFields {
		if e.Selectable == nil {
			e.Selectable = map[string]string{}
		}
		e.Selectable[strings.TrimPrefix(f.JSONPath, ".")] = ""
	}
	switch {
	case !v.Deprecated:
	case v.DeprecationWarning != nil:
		e.Deprecated = *v.DeprecationWarning
	default:
		e.Deprecated = deprecation(crd, v.Name)
	}
	return e
}

// deprecation is the warning of a deprecated version that words none itself: it names the best version to go to.
func deprecation(crd *apiextensionsv1.CustomResourceDefinition, old string) string {
	best := ""
	for _, v := range crd.Spec.Versions {
		better := best == "" || version.CompareKubeAwareVersionStrings(v.Name, best) > 0
		if v.Served && !v.Deprecated && better && version.CompareKubeAwareVersionStrings(v.Name, old) > 0 {
			best = v.Name
		}
	}
	text := fmt.Sprintf("%s/%s %s is deprecated", crd.Spec.Group, old, crd.Spec.Names.Kind)
	if best != "" {
		text += fmt.Sprintf("; use %s/%s %s", crd.Spec.Group, best, crd.Spec.Names.Kind)
	}
	return text
}
