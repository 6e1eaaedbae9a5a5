package bowlinetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// definition is the kind of custom resource definitions.
const definition = "CustomResourceDefinition"

// reading reads definitions from their source.
type reading func() ([]*unstructured.Unstructured, error)

// define creates the definitions of the options CRDs and CRDsIn, and those of registered types that the plane does not
// serve then.
func (p *Plane) define(t testing.TB) {
	t.Helper()
	for _, read := range p.settings.definitions {
		definitions, err := read()
		if err != nil {
			t.Fatalf("reading definitions: %v", err)
		}
		for _, d := range definitions {
			p.establish(t, d)
		}
	}
	definitions, err := p.resources.register(p.settings.types, func(kind schema.GroupVersionKind) bool {
		_, err := p.resources.find(context.Background(), p.client.REST(), kind)
		return err == nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range definitions {
		p.establish(t, d)
	}
}

// establish creates a definition and checks that it is established, which the server decides during the write.
func (p *Plane) establish(t testing.TB, d *unstructured.Unstructured) {
	t.Helper()
	_, err := p.write(d, post)
	if err != nil {
		t.Fatalf("creating the definition %s: %v", d.GetName(), err)
	}
	target, err := p.resources.find(context.Background(), p.client.REST(), d.GroupVersionKind())
	if err == nil {
		d, err = client.Of[*unstructured.Unstructured](p.client, target.GroupVersionResource).Get(context.Background(),
			"", d.GetName())
	}
	if err != nil {
		t.Fatalf("reading the definition: %v", err)
	}
	if texts, established := conditionsOf(d); !established {
		t.Fatalf("the definition %s is not served: %s", d.GetName(), strings.Join(texts, "; "))
	}
}

// conditionsOf returns the texts of a definition's conditions, and reports whether it is established.
func conditionsOf(d *unstructured.Unstructured) (texts []string, established bool) {
	conditions, _, _ := unstructured.NestedSlice(d.Object, "status", "conditions")
	for _, c := range conditions {
		c, _ := c.(map[string]any)
		if c["type"] == "Established" && c["status"] == string(metav1.ConditionTrue) {
			established = true
		}
		texts = append(texts, fmt.Sprintf("%v is %v: %v", c["type"], c["status"], c["message"]))
	}
	return texts, established
}

// fromPaths reads definitions from files, folders and patterns.
func fromPaths(paths []string) reading {
	return func() (all []*unstructured.Unstructured, err error) {
		for _, name := range paths {
			files, err := filesOf(name)
			if err != nil {
				return nil, err
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					return nil, err
				}
				if all, err = addDefinitions(all, file, text); err != nil {
					return nil, err
				}
			}
		}
		return all, nil
	}
}

// filesOf expands the name of a file or folder, or a pattern, to files.
func filesOf(name string) ([]string, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		files, err := filepath.Glob(filepath.Join(quoteMeta(name), "*"))
		return slices.DeleteFunc(files, func(f string) bool { return !isManifest(f) }), err
	case err == nil:
		return []string{name}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	files, badPattern := filepath.Glob(name)
	if badPattern != nil || len(files) == 0 {
		return nil, errors.Join(err, badPattern)
	}
	return files, nil
}

// quoteMeta returns a pattern that matches only the name.
func quoteMeta(name string) string {
	var quoted []rune
	for _, r := range name {
		if slices.Contains([]rune(`*?[\`), r) {
			quoted = append(quoted, '\\')
		}
		quoted = append(quoted, r)
	}
	return string(quoted)
}

func isManifest(file string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(file))
}

// fromFiles reads the files of a file system that match one of the patterns, or all manifests if there are no
// patterns.
func fromFiles(files fs.FS, patterns []string) reading {
	return func() (all []*unstructured.Unstructured, err error) {
		err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !isManifest(name) || !matches(patterns, name) {
				return err
			}
			text, err := fs.ReadFile(files, name)
			if err != nil {
				return err
			}
			all, err = addDefinitions(all, name, text)
			return err
		})
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("no definition in the files that match %q", patterns)
		}
		return all, err
	}
}

func matches(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// addDefinitions appends the definitions of a file.
func addDefinitions(to []*unstructured.Unstructured, file string, text []byte) ([]*unstructured.Unstructured, error) {
	objects, err := decode(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, o := range objects {
		if o.GetKind() == definition {
			to = append(to, o)
		}
	}
	return to, nil
}
