//go:build unix

package kubeconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// largeFile returns the path of a file that is larger than maxFile, and takes no space on the disk.
func largeFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxFile+1); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLargeFilesAreNotRead checks the bound of kubeconfigs and of the files that they name.
func TestLargeFilesAreNotRead(t *testing.T) {
	t.Parallel()
	large := largeFile(t)
	for _, path := range []string{large, "/dev/zero"} {
		paths := []string{path}
		for _, field := range []string{"certificate-authority: %q", "tokenFile: %q"} {
			config := filepath.Join(t.TempDir(), "kubeconfig")
			where, user := `server: "https://127.0.0.1:1"`, ""
			if strings.HasPrefix(field, "tokenFile") {
				user = fmt.Sprintf(field, path)
			} else {
				where += ", " + fmt.Sprintf(field, path)
			}
			text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {%s}}]\n"+
				"users: [{name: a, user: {%s}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"+
				"current-context: a\n", where, user)
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, config)
		}
		for _, kubeconfig := range paths {
			if _, err := Load(Flags{Kubeconfig: kubeconfig}); err == nil ||
				!strings.Contains(err.Error(), path+" is larger than 16 MiB") {
				t.Errorf("%s: got error %v, want one that it is too large", kubeconfig, err)
			}
		}
	}
}

// TestPipesMayBeKubeconfigs checks which files a caller may pass on to client-go.
func TestPipesMayBeKubeconfigs(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe: "", "/dev/null": "", "missing": "", "bounded_test.go": "",
		largeFile(t): "is larger than 16 MiB", "/dev/zero": "is a device"} {
		err := CheckSize(path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got error %v, want %q", path, err, want)
		}
	}
}
