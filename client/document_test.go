package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/client"
)

// The kubeconfig of docs/client.md has the mistakes that the page says.
func TestTheDocumentsKubeconfigFailsAsTheDocumentSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/client.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, rest, _ := strings.Cut(rest, "```\n")
	_, rest, _ = strings.Cut(rest, "```\n")
	want, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("the page has no kubeconfig with an error behind it")
	}
	path := write(t, "kubeconfig", []byte(text))
	_, err = client.Load(client.Flags{Kubeconfig: path})
	want = strings.NewReplacer("KUBECONFIG", path, "FOLDER", filepath.Dir(path)).Replace(want)
	if err == nil || err.Error()+"\n" != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
