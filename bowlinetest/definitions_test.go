package bowlinetest_test

import (
	"embed"
	"testing"
	"testing/fstest"

	"github.com/bowline-dev/bowline/bowlinetest"
)

//go:embed testdata
var files embed.FS

const (
	boat    = "apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: a}\nspec: {sails: 1}\n"
	crew    = "apiVersion: example.com/v1\nkind: Crew\nmetadata: {name: a}\n"
	harbour = "apiVersion: example.com/v1\nkind: Harbour\nmetadata: {name: a}\n"
)

func TestDefinitionsComeFromFiles(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		option bowlinetest.Option
		serves []string
	}{
		"a file":    {bowlinetest.CRDs("testdata/boats.yaml"), []string{boat}},
		"a folder":  {bowlinetest.CRDs("testdata/folder"), []string{crew, harbour}},
		"a pattern": {bowlinetest.CRDs("testdata/*/c*.yml"), []string{crew}},
		"several": {bowlinetest.CRDs("testdata/boats.yaml", "testdata/folder/crews.yml"),
			[]string{boat, crew}},
		"a file system":              {bowlinetest.CRDsIn(files), []string{boat, crew, harbour}},
		"a pattern of a file system": {bowlinetest.CRDsIn(files, "testdata/folder/*.json"), []string{harbour}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := bowlinetest.Start(t, test.option)
			for _, object := range test.serves {
				p.Apply(t, object)
			}
		})
	}
}

func TestInvalidDefinitionsAreReported(t *testing.T) {
	t.Parallel()
	clashing := fstest.MapFS{"b.yaml": {Data: []byte(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": {"name": "ships.example.com"}, "spec": {"group": "example.com", "names": {"kind": "Boat", "plural": "ships"}, "scope": "Cluster",
		"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}`)}}
	invalid := fstest.MapFS{"bad.yaml": {Data: []byte(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": {"name": "ships.example.com"}, "spec": {"group": "example.com"}}`)}}
	for name, test := range map[string]struct {
		options []bowlinetest.Option
		want    string
	}{
		"no file":       {[]bowlinetest.Option{bowlinetest.CRDs("testdata/none.yaml")}, "testdata/none.yaml"},
		"no match":      {[]bowlinetest.Option{bowlinetest.CRDs("testdata/none*.yaml")}, "testdata/none*.yaml"},
		"no definition": {[]bowlinetest.Option{bowlinetest.CRDsIn(files, "none")}, "no definition"},
		"no YAML": {[]bowlinetest.Option{bowlinetest.CRDsIn(fstest.MapFS{"a.yaml": {Data: []byte("a: [")}})},
			"a.yaml: document 1"},
		"no kind": {[]bowlinetest.Option{bowlinetest.CRDsIn(fstest.MapFS{"a.yaml": {Data: []byte("a: b")}})},
			"a.yaml: document 1 has no kind"},
		"invalid": {[]bowlinetest.Option{bowlinetest.CRDsIn(invalid)}, "the definition ships.example.com: "},
		"names in doubt": {[]bowlinetest.Option{bowlinetest.CRDs("testdata/boats.yaml"), bowlinetest.CRDsIn(clashing)},
			"is already in use"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustFail(t, func(t testing.TB) { bowlinetest.Start(t, test.options...) }, test.want)
		})
	}
}
