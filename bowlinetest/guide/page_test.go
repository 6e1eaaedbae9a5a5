package guide_test

import (
	"os"
	"strings"
	"testing"
)

// TestPageShowsWhatIsTested: each block of Go in the page is a part of the files here, word for word.
func TestPageShowsWhatIsTested(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	var tested strings.Builder
	for _, file := range []string{"greeting_test.go", "guide_test.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tested.Write(text)
	}
	blocks := strings.Split(string(page), "\n```go\n")[1:]
	if len(blocks) == 0 {
		t.Error("the page has no examples")
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "\n```\n")
		if !strings.Contains(tested.String(), block+"\n") {
			t.Errorf("the page shows what no test runs:\n%s", block)
		}
	}
}
