package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/manifest"
)

// transcript formats the result of Parse or Read: a line with source, kind and name for each object, then a
// line for each error.
func transcript(declared []manifest.Declared, failures []error) string {
	var b strings.Builder
	for _, d := range declared {
		fmt.Fprintf(&b, "%s: %s %s\n", d.Source, d.Object.GetKind(), d.Object.GetName())
	}
	for _, err := range failures {
		fmt.Fprintln(&b, err)
	}
	return b.String()
}

func check(t *testing.T, got, want string) {
	t.Helper()
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func config(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

func TestParseReportsDocumentLines(t *testing.T) {
	t.Parallel()
	text := "# a header\n---\n\n" + config("a") + "---\n# nothing\n--- # the second\n" + config("b") + "---\n---\n"
	got := transcript(manifest.Parse("f.yaml", []byte(text)))
	check(t, got, "f.yaml:4: ConfigMap a\nf.yaml:11 (document 2): ConfigMap b\n")
}

func TestParseConcatenatedJSON(t *testing.T) {
	t.Parallel()
	text := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}

{"apiVersion": "v1", "kind": "ConfigMap",
 "metadata": {"name": "b"}}`
	want := "x:1: ConfigMap a\nx:3 (document 2): ConfigMap b\n"
	check(t, transcript(manifest.Parse("x", []byte(text))), want)
}

func TestParseContentAfterSeparator(t *testing.T) {
	t.Parallel()
	text := config("a") + "--- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"
	check(t, transcript(manifest.Parse("f.yaml", []byte(text))),
		"f.yaml:1: ConfigMap a\nf.yaml:5 (document 2): ConfigMap b\n")
}

func TestParseExpandsLists(t *testing.T) {
	t.Parallel()
	text := "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n" +
		"- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n---\n" +
		"apiVersion: v1\nkind: PodList\nitems:\n- {metadata: {name: c}}\n---\napiVersion: v1\nkind: List\nitems: []\n"
	check(t, transcript(manifest.Parse("f.yaml", []byte(text))),
		"f.yaml:1 (item 1): ConfigMap a\nf.yaml:1 (item 2): Secret b\nf.yaml:7 (document 2) (item 1): Pod c\n")
}

func TestBadDocumentReportsLocationAndParsesOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ bad, want string }{
		"indentation": {"a: 1\n  b: 2\n",
			"f.yaml:7 (document 2): not valid YAML: mapping values are not allowed in this context"},
		"a tab": {"a:\n\t- b\n",
			"f.yaml:7 (document 2): not valid YAML: found character that cannot start any token"},
		"unclosed":   {"a: [1\n", "not valid YAML: did not find expected ',' or ']'"},
		"same key":   {"a: 1\na: 2\n", `f.yaml:7 (document 2): not valid YAML: key "a" already set in map`},
		"a word":     {"hello\n", "f.yaml:6 (document 2): got the value hello, want an object"},
		"a sequence": {"- a\n", "f.yaml:6 (document 2): got a list, want an object"},
		"no kind":    {"metadata:\n  name: x\n", "f.yaml:6 (document 2): an object needs apiVersion and kind"},
		"no kind in list": {"apiVersion: v1\nkind: List\nitems:\n- {}\n",
			"f.yaml:6 (document 2) (item 1): an object needs apiVersion and kind"},
		"slash comment on its line": {"spec:\n  // the range\n  cidr: x\n",
			`f.yaml:7 (document 2): not valid YAML: comments start with "#", not "//"`},
		"slash comment at an end": {"a:\n  - \"\"  // the core group\n",
			`f.yaml:7 (document 2): not valid YAML: comments start with "#", not "//"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			declared, failures := manifest.Parse("f.yaml", []byte(config("a")+"---\n"+test.bad+"---\n"+config("b")))
			if len(declared) != 2 || len(failures) != 1 {
				t.Fatalf("got\n%swant two objects and one error", transcript(declared, failures))
			}
			if !strings.Contains(failures[0].Error(), test.want) {
				t.Errorf("got error %v, want %s", failures[0], test.want)
			}
		})
	}
}

func TestBadJSONReportsLocation(t *testing.T) {
	t.Parallel()
	good := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}` + "\n"
	for name, test := range map[string]struct{ bad, want string }{
		"a comment": {"{\n // no\n}",
			"f.json:3 (document 2): not valid JSON: invalid character '/' looking for beginning of object key string"},
		"an end":     {"{\"a\": 1", "f.json:2 (document 2): not valid JSON: unexpected end of input"},
		"a sequence": {"[1]", "f.json:2 (document 2): got a list, want an object"},
		"same key":   {`{"a": 1, "a": 2}`, `f.json:2 (document 2): duplicate field "a"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, transcript(manifest.Parse("f.json", []byte(good+test.bad))), "f.json:1: ConfigMap a\n"+test.want)
		})
	}
}

func TestReadFolderSkipsTestdata(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("b.yml", config("b"))
	write("a/deep/c.yaml", config("c"))
	write("d.json", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}}`)
	write("README.md", "no manifest")
	write("testdata/wrong.yaml", "a: b: c")
	write("a/testdata/wrong.yaml", "a: b: c")
	declared, failures := manifest.Read([]string{folder}, nil)
	got := strings.ReplaceAll(transcript(declared, failures), folder+string(filepath.Separator), "")
	check(t, got, "a/deep/c.yaml:1: ConfigMap c\nb.yml:1: ConfigMap b\nd.json:1: ConfigMap d\n")

	declared, failures = manifest.Read([]string{filepath.Join(folder, "a/testdata"),
		filepath.Join(folder, "README.md")}, nil)
	if len(declared) != 0 || len(failures) != 2 {
		t.Errorf("invalid files named explicitly: got\n%swant an error for each", transcript(declared, failures))
	}
}

func TestReadStandardInput(t *testing.T) {
	t.Parallel()
	declared, failures := manifest.Read([]string{"-"}, strings.NewReader(config("a")))
	check(t, transcript(declared, failures), "-:1: ConfigMap a\n")
}

func TestSortPutsDefinitionsAndNamespacesFirst(t *testing.T) {
	t.Parallel()
	text := config("first") + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n---\n" + config("second") +
		"---\napiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: crd}\n"
	declared, failures := manifest.Parse("f.yaml", []byte(text))
	manifest.Sort(declared)
	var names []string
	for _, d := range declared {
		names = append(names, d.Object.GetName())
	}
	if len(failures) > 0 || !slices.Equal(names, []string{"crd", "ns", "first", "second"}) {
		t.Errorf("got order %v, failures %v; want the definition and the namespace first", names, failures)
	}
}

func TestCheckReportsMissingPath(t *testing.T) {
	t.Parallel()
	err := manifest.Check([]string{"-", t.TempDir(), "nowhere.yaml"})
	if err == nil || !strings.Contains(err.Error(), "nowhere.yaml") {
		t.Errorf("got error %v, want one that names nowhere.yaml", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("f.yaml", []byte(config("a")+"---\n"+config("b")))
	f.Add("f.json", []byte(`{"apiVersion": "v1", "kind": "List", "items": [{}]}`))
	f.Add("f.yaml", []byte("a: [1\n--- x\n...\n// b"))
	f.Add("f", []byte("{\"a\": 1} trailing"))
	f.Fuzz(func(t *testing.T, file string, text []byte) {
		declared, failures := manifest.Parse(file, text)
		for _, d := range declared {
			if d.Source.Line < 1 || d.Source.Document < 1 || d.Object.GetKind() == "" {
				t.Errorf("got %+v, want a kind, a document and a line", d)
			}
		}
		for _, err := range failures {
			if err.Error() == "" {
				t.Error("empty error message")
			}
		}
	})
}
