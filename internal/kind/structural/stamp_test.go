package structural

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestStampDependsOnContent checks that the stamp depends on what determines the decoding of objects, and
// on nothing else.
func TestStampDependsOnContent(t *testing.T) {
	t.Parallel()
	stamp := func(change func(*apiextensionsv1.CustomResourceDefinition)) object.Stamp {
		crd := parseDefinition(t, widget)
		change(crd)
		k, err := New(object.NewCache(1<<20), crd, nil)
		if err != nil {
			t.Fatal(err)
		}
		return k.Stamp()
	}
	want := stamp(func(*apiextensionsv1.CustomResourceDefinition) {})
	for name, change := range map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"labels":      func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Labels = map[string]string{"a": "b"} },
		"uid":         func(crd *apiextensionsv1.CustomResourceDefinition) { crd.UID = "another" },
		"short names": func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Names.ShortNames = nil },
		"columns": func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[2].AdditionalPrinterColumns = nil
		},
		"subresources": func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[2].Subresources = nil },
		"served":       func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false },
	} {
		if got := stamp(change); got != want {
			t.Errorf("a change of %s changed the stamp", name)
		}
	}
	seen := map[object.Stamp]string{want: "nothing changed"}
	for name, change := range map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"schema": func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "x"
		},
		"no schema": func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Schema = nil },
		"fields": func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[2].SelectableFields = crd.Spec.Versions[2].SelectableFields[:1]
		},
		"preserve": func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.PreserveUnknownFields = true },
		"version":  func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions = crd.Spec.Versions[1:] },
		"storage": func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Storage, crd.Spec.Versions[2].Storage = true, false
		},
		"conversion": func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
		},
	} {
		got := stamp(change)
		if other := seen[got]; other != "" {
			t.Errorf("after changing %s the stamp is the same as with %s", name, other)
		}
		seen[got] = name
	}
}

// TestStampIsStable pins a stamp, because stamps are stored. If this value has to change,
// objects stored by earlier versions are adopted once.
func TestStampIsStable(t *testing.T) {
	t.Parallel()
	if got := newKind(t, pending).Stamp(); got != 14360177405351023729 {
		t.Errorf("the stamp is %d, want the same as in earlier versions", got)
	}
}

// TestAdoptAppliesSchema checks that Adopt applies the schema and defaults of the stored version, and
// that a definition decodes its own objects unchanged.
func TestAdoptAppliesSchema(t *testing.T) {
	t.Parallel()
	k := newKind(t, widget).(*Kind)
	other := newKind(t, strings.Replace(widget, `"size": {"type": "string", "default": "small", "enum"`,
		`"extra": {"type": "integer", "default": 7}, "size": {"type": "string", "enum"`, 1)).(*Kind)
	o := storedWidget(t, k)
	for codec, want := range map[object.Codec]bool{k: false, other: true} {
		e, err := o.Encoding(codec, exampleV1)
		if err != nil || strings.Contains(string(e.Bytes()), `"extra":7`) != want {
			t.Errorf("read as %s (%v), want the default of extra: %t", e.Bytes(), err, want)
		}
	}
}
