package scaffold_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/scaffold"
)

// TestReleaseChecksumsAreAdded serves a release from a folder that replaces the module proxy.
func TestReleaseChecksumsAreAdded(t *testing.T) {
	release := module.Version{Path: "github.com/bowline-dev/bowline", Version: "v0.9.0"}
	proxy := t.TempDir()
	publish(t, filepath.Join(proxy, filepath.FromSlash(release.Path), "@v"), release)
	for name, value := range map[string]string{
		"GOPROXY": "file://" + filepath.ToSlash(proxy), "GOSUMDB": "off", "GOMODCACHE": t.TempDir(),
		"GOFLAGS": "-modcacherw",
	} {
		t.Setenv(name, value)
	}
	project := scaffold.Controller{Name: "greeter", Group: "example.com", Version: "v1", Kind: "Greeting"}
	if err := project.Complete(); err != nil {
		t.Fatal(err)
	}
	var err error
	if project.Bowline, err = scaffold.NamedBowline(release.Version); err != nil || !project.Bowline.Other {
		t.Fatalf("got %+v, error %v; want a version other than the running one", project.Bowline, err)
	}
	if err := project.Bowline.LoadSums(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := project.Files()
	if err != nil {
		t.Fatal(err)
	}
	if text := string(files["go.mod"]); !strings.Contains(text, release.Path+" v0.9.0\n") ||
		strings.Contains(text, "replace") {
		t.Errorf("got go.mod\n%s\nwant %s v0.9.0 and no replacement", text, release.Path)
	}
	lines := strings.SplitAfter(string(files["go.sum"]), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, release.Path+" v0.9.0 h1:") &&
			strings.HasPrefix(lines[i+1], release.Path+" v0.9.0/go.mod h1:") &&
			lines[i-1] < line && line < lines[i+2] {
			return
		}
	}
	t.Errorf("go.sum lacks the checksums of %s at their sorted position:\n%s", release, files["go.sum"])
}

// publish writes the proxy's files for a module that contains only a go.mod.
func publish(t *testing.T, folder string, release module.Version) {
	t.Helper()
	text := "module " + release.Path + "\n\ngo 1.26\n"
	source := t.TempDir()
	for name, content := range map[string]string{
		filepath.Join(source, "go.mod"):                text,
		filepath.Join(folder, release.Version+".mod"):  text,
		filepath.Join(folder, release.Version+".info"): `{"Version": "` + release.Version + `"}`,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := os.Create(filepath.Join(folder, release.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := zip.CreateFromDir(archive, release, source); err != nil {
		t.Fatal(err)
	}
}
