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

// definedVersion is a version of a definition.
type definedVersion struct {
	name, apiVersion string
	*versionSchema
	columns []apiextensionsv1.CustomResourceColumnDefinition
	printer func() *printer
}

// versionSchema is the schema of a version. Successive states of a definition share it while it does not
// change.
type versionSchema struct {
	// raw is the schema as JSON, or nil if the version has none. It is all that a definition without objects
	// holds.
	raw []byte
	// compiled compiles the schema on first use. The result is much larger than most objects.
	compiled func() (*compiled, error)
}

// ShareMemory replaces the schemas by subslices of data, an encoding of their definition, where data contains
// them. It must be called before the kind is shared between goroutines, and data must not change afterwards.
func (d *definition) ShareMemory(data []byte) {
	for _, k := range d.kinds {
		if at := bytes.Index(data, k.version.raw); len(k.version.raw) > 0 && at >= 0 {
			k.version.raw = data[at : at+len(k.version.raw) : at+len(k.version.raw)]
		}
	}
}

// newVersion extracts a version from a definition.
func (d *definition) newVersion(crd *apiextensionsv1.CustomResourceDefinition,
	v *apiextensionsv1.CustomResourceDefinitionVersion) (*definedVersion, error) {
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
	s, preserve, what := defined.versionSchema, d.preserve,
		fmt.Sprintf("%s in %s", crd.Spec.Names.Kind, defined.apiVersion)
	s.compiled = sync.OnceValues(func() (*compiled, error) { return s.compile(what, preserve) })
	return defined, nil
}

// endpoint returns the endpoint of a version.
func endpoint(crd *apiextensionsv1.CustomResourceDefinition,
	v *apiextensionsv1.CustomResourceDefinitionVersion) kind.Endpoint {
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

// deprecation returns the warning for a deprecated version that sets none. It recommends the best served
// version.
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
