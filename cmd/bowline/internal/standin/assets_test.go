package standin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAssetsSurviveGoRun checks that the assets work after go run has removed the binary from its build
// directory or cache.
func TestAssetsSurviveGoRun(t *testing.T) {
	t.Parallel()
	cached := "/06/" + strings.Repeat("06", 32) + "-d"
	for _, built := range []string{"go-build1234/b001/exe", "go-build" + cached, "cache" + cached} {
		dir := t.TempDir()
		folder := filepath.Join(dir, "assets")
		for _, version := range []string{"#!/bin/sh\necho old\n", "#!/bin/sh\necho new\n"} {
			binary := filepath.Join(dir, built, "bowline")
			writeBinary(t, binary, version)
			if err := Link(binary, folder); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Dir(binary)); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{APIServerName, EtcdName, KubectlName} {
				link := filepath.Join(folder, name)
				if text, err := os.ReadFile(link); err != nil || string(text) != version {
					t.Errorf("built in %s: got %s with content %q, error %v; want %q", built, name, text, err, version)
				}
				if info, err := os.Stat(link); err == nil && info.Mode().Perm() != 0o755 {
					t.Errorf("mode of %s: got %s, want 0755", name, info.Mode())
				}
			}
		}
		if files, err := os.ReadDir(folder); err != nil || len(files) != 4 {
			t.Errorf("got files %v, error %v; want 4", files, err)
		}
	}
}

// TestAssetsLinkToInstalledBinary checks that the assets link to an installed binary, so that a
// reinstallation also updates the assets.
func TestAssetsLinkToInstalledBinary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := filepath.Join(dir, "bin", "bowline")
	writeBinary(t, binary, "")
	folder := filepath.Join(dir, "assets")
	if err := Link(binary, folder); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(filepath.Join(folder, EtcdName)); err != nil || target != binary {
		t.Errorf("got etcd as a link to %s, error %v; want %s", target, err, binary)
	}
}

func writeBinary(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
