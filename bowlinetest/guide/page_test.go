package guide_test

import (
	"os"
	"strings"
	"testing"
)

// TestPagesQuoteTests checks that each Go block in the pages is part of a test, word for word.
func TestPagesQuoteTests(t *testing.T) {
	t.Parallel()
	for page, files := range map[string][]string{
		"testing.md": {"greeting_test.go", "guide_test.go"},
		"explore.md": {"../../examples/network/controller/explore_test.go"},
	} {
		var tested strings.Builder
		for _, file := range files {
			tested.WriteString(read(t, file))
		}
		blocks := strings.Split(read(t, "../../docs/"+page), "\n```go\n")[1:]
		if len(blocks) == 0 {
			t.Errorf("%s has no examples", page)
		}
		for _, block := range blocks {
			block, _, _ = strings.Cut(block, "\n```\n")
			if !strings.Contains(tested.String(), block+"\n") {
				t.Errorf("%s shows what no test runs:\n%s", page, block)
			}
		}
	}
}

// TestPageQuotesTranscript checks that the page shows the transcript's file, word for word.
func TestPageQuotesTranscript(t *testing.T) {
	t.Parallel()
	file, page := read(t, "testdata/greeting.txt"), read(t, "../../docs/testing.md")
	if !strings.Contains(page, "\n```\n"+file+"```\n") {
		t.Errorf("testing.md does not show the transcript as it is:\n%s", file)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
