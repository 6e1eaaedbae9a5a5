package ownership

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTypesAreUpToDate generates types.txt from the schemas that the server publishes, and compares
// it with the embedded one.
func TestTypesAreUpToDate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "types.txt")
	cmd := exec.Command("go", "run", "./gen", "../../server/openapi/definitions.zip", file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	fresh, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(fresh, []byte(builtinText)) {
		t.Error("types.txt is outdated: run go generate ./internal/patch/ownership")
	}
}
