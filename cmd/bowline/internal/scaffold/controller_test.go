package scaffold_test

import (
	"bytes"
	"go/format"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/scaffold"
)

// projects have many kinds of names; missing names are derived from the others.
var projects = []scaffold.Controller{
	{Name: "greeter", Group: "example.com", Version: "v1", Kind: "Greeting"},
	{Name: "dns", Group: "net.example.com", Version: "v1alpha1", Kind: "DNSRecord", Module: "github.com/example/dns"},
	{Name: "a", Group: "a.b", Version: "v2beta3", Kind: "X"},
	// a number and booleans in unquoted YAML
	{Name: "proxies", Group: "1.5", Version: "v10", Kind: "No", Plural: "yes"},
	{Name: "play-lists-1", Group: "music.example", Version: "v1", Kind: "PlayList", Plural: "lists-of-songs"},
	{Name: "long", Group: strings.Repeat("g", 60) + ".example", Version: "v1", Kind: "K" + strings.Repeat("k", 58),
		Plural: "longs"},
	{Name: "keyword", Group: "example.com", Version: "v1beta1", Kind: "Type"},
}

// complete renders the files of a project.
func complete(t *testing.T, project *scaffold.Controller) map[string][]byte {
	t.Helper()
	var err error
	if project.Bowline, err = scaffold.RunningBowline(); err != nil {
		t.Fatal(err)
	}
	if err := project.Complete(); err != nil {
		t.Fatal(err)
	}
	files, err := project.Files()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestPluralsMatchTheClientGenerator(t *testing.T) {
	t.Parallel()
	for kind, plural := range map[string]string{
		"Greeting": "greetings", "DNSRecord": "dnsrecords", "Policy": "policies", "Gateway": "gateways",
		"Ingress": "ingresses",
		"Switch":  "switches", "Box": "boxes", "HTTPProxy": "httpproxies", "Person": "persons", "Endpoints": "endpoints",
	} {
		project := scaffold.Controller{Name: "a", Group: "example.com", Version: "v1", Kind: kind}
		if err := project.Complete(); err != nil || project.Plural != plural {
			t.Errorf("plural of %s: got %s, %v; want %s", kind, project.Plural, err, plural)
		}
	}
}

func TestGoFilesAreFormattedWithShortLines(t *testing.T) {
	t.Parallel()
	for _, project := range projects[:2] {
		for name, text := range complete(t, &project) {
			if !strings.HasSuffix(name, ".go") {
				continue
			}
			formatted, err := format.Source(text)
			if err != nil || !bytes.Equal(formatted, text) {
				t.Errorf("%s is not formatted by gofmt (%v):\n%s", name, err, text)
			}
			for line := range strings.Lines(string(text)) {
				if len(line) > 132 {
					t.Errorf("%s: got a line of %d bytes, want at most 132: %s", name, len(line), line)
				}
			}
		}
	}
}

// TestReadmeQualifiesAmbiguousKinds checks that the kubectl commands in README.md qualify the kind only if Kubernetes
// has a kind of the same name.
func TestReadmeQualifiesAmbiguousKinds(t *testing.T) {
	t.Parallel()
	for kind, commands := range map[string][]string{
		"Greeting": {"get greetings,configmaps\n", "why greeting/example\n", "delete greeting example\n"},
		"Service": {"get services.example.com,configmaps\n", "why service.example.com/example\n",
			"delete service.example.com example\n"},
		"CronJob": {"get cronjobs.example.com,configmaps\n"},
	} {
		page := string(complete(t, &scaffold.Controller{Name: "a", Group: "example.com", Version: "v1",
			Kind: kind})["README.md"])
		for _, command := range commands {
			if !strings.Contains(page, command) {
				t.Errorf("README.md lacks %q:\n%s", command, page)
			}
		}
	}
}

// TestGeneratedFilesMatchControllerGen runs controller-gen once on the types of all projects and compares the
// files byte by byte.
func TestGeneratedFilesMatchControllerGen(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "all")
	together := map[string][]byte{}
	for _, project := range projects {
		files := complete(t, &project)
		types := "api/" + project.Version + "/types.go"
		together[project.Name+"/"+types] = files[types]
		maps.Copy(together, map[string][]byte{"go.mod": files["go.mod"], "go.sum": files["go.sum"]})
	}
	if err := scaffold.Write(folder, together); err != nil {
		t.Fatal(err)
	}
	generate := exec.Command("go", "tool", "controller-gen", "object", "crd", "paths=./...", "output:crd:dir=crd")
	generate.Dir = folder
	if output, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("controller-gen: %v\n%s", err, output)
	}
	for _, project := range projects {
		files := complete(t, &project)
		copying := "api/" + project.Version + "/zz_generated.deepcopy.go"
		for ours, theirs := range map[string]string{copying: project.Name + "/" + copying,
			project.Definition(): project.Definition()} {
			want, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(theirs)))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(files[ours], want) {
				t.Errorf("%s of %s differs from controller-gen's (go generate "+
					"./cmd/bowline/internal/scaffold):\n%s\nwant:\n%s",
					ours, project.Name, files[ours], want)
			}
		}
	}
}

func TestServerAcceptsDefinitionAndExample(t *testing.T) {
	t.Parallel()
	for _, project := range projects {
		t.Run(project.Kind, func(t *testing.T) {
			t.Parallel()
			files := complete(t, &project)
			definition := filepath.Join(t.TempDir(), "definition.yaml")
			if err := os.WriteFile(definition, files[project.Definition()], 0o600); err != nil {
				t.Fatal(err)
			}
			p := bowlinetest.Start(t, bowlinetest.CRDs(definition))
			made := p.Apply(t, string(files[project.Example()]))
			if len(made) != 1 || made[0].GetKind() != project.Kind {
				t.Errorf("got objects %v, want one %s", made, project.Kind)
			}
		})
	}
}

// TestRequirementsMatchBowline checks that the go.mod template requires the same versions as Bowline. With
// older versions, a project would not build, or would rebuild many packages.
func TestRequirementsMatchBowline(t *testing.T) {
	t.Parallel()
	ours := requirements(t, filepath.Join("testdata", "library.mod"))
	theirs := requirements(t, filepath.Join("templates", "controller", "go.mod.tmpl"))
	var own []string
	for path, version := range theirs {
		switch {
		case ours[path] == "":
			own = append(own, path)
		case ours[path] != version:
			t.Errorf("%s: got %s in new projects, want Bowline's %s (go generate ./cmd/bowline/internal/scaffold)",
				path, version, ours[path])
		}
	}
	if len(own) == len(theirs) || !slices.Contains(own, "sigs.k8s.io/controller-tools") {
		t.Errorf("got %q required only by new projects, want controller-tools, and some shared requirements", own)
	}
}

func requirements(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := modfile.Parse(file, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, required := range parsed.Require {
		versions[required.Mod.Path] = required.Mod.Version
	}
	return versions
}
