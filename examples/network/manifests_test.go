package network_test

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"
)

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// definition decodes a CRD of any version strictly, and applies the defaults of that version.
func definition(t *testing.T, path ...string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	hub := schema.GroupVersion{Group: "apiextensions.k8s.io", Version: runtime.APIVersionInternal}
	obj, err := runtime.Decode(codecs.DecoderToVersion(codecs.UniversalDeserializer(), hub), read(t, path...))
	if err != nil {
		t.Fatal(err)
	}
	crd := obj.(*apiextensions.CustomResourceDefinition)
	if len(crd.Spec.Versions) > 0 {
		crd.Status.StoredVersions = []string{crd.Spec.Versions[0].Name}
	}
	return crd
}

func TestDefinitionsAreValid(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"crd/network.yaml", "testdata/sample-crd-v1.yaml"} {
		for _, problem := range validation.ValidateCustomResourceDefinition(t.Context(), definition(t, file)) {
			t.Errorf("%s: %v", file, problem)
		}
	}
}

// The definition of the second group differs from that of the first only in its name and group.
func TestBothGroupsHaveTheSameDefinition(t *testing.T) {
	t.Parallel()
	first, second := definition(t, "crd/network.yaml"), definition(t, "testdata/sample-crd-v1.yaml")
	first.Name, first.Spec.Group = second.Name, second.Spec.Group
	a, err := yaml.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := yaml.Marshal(second)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("crd/network.yaml and testdata/sample-crd-v1.yaml differ:\n%s\n%s", a, b)
	}
}

func TestSchemaValidatesNetworks(t *testing.T) {
	t.Parallel()
	crd := definition(t, "crd/network.yaml")
	validator, _, err := apiservervalidation.NewSchemaValidator(crd.Spec.Validation.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	problems := func(data []byte) int {
		var obj map[string]any
		if err := yaml.Unmarshal(data, &obj); err != nil {
			t.Fatal(err)
		}
		return len(apiservervalidation.ValidateCustomResource(nil, obj, validator))
	}
	if n := problems(read(t, "example/example-network.yaml")); n != 0 {
		t.Errorf("the example has %d validation errors", n)
	}
	for name, data := range map[string][]byte{
		"gatewar":         read(t, "testdata/sample-network.yaml"),
		"no spec":         []byte(`{"metadata":{"name":"a"}}`),
		"empty gateway":   []byte(`{"spec":{"cidr":"10.0.0.0/8","gateway":""}}`),
		"gateway no IP":   []byte(`{"spec":{"cidr":"10.0.0.0/8","gateway":"router"}}`),
		"cidr no range":   []byte(`{"spec":{"cidr":"10.0.0.0","gateway":"10.0.0.1"}}`),
		"cidr no address": []byte(`{"spec":{"cidr":"ten/8","gateway":"10.0.0.1"}}`),
	} {
		if problems(data) == 0 {
			t.Errorf("%s: the schema accepts the invalid object", name)
		}
	}
}
