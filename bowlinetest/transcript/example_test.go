package transcript_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/bowline-dev/bowline/bowlinetest/transcript"
)

// A test runs all transcripts in testdata. One of them, example.txt, follows the life of a pod.
func ExampleTest() {
	test := func(t *testing.T) { // func TestTranscripts(t *testing.T)
		transcript.Test(t, "testdata/*.txt")
	}

	verbose := flag.Lookup("test.v").Value // go test -v would print to the example's output
	before := fmt.Sprint(verbose.(flag.Getter).Get())
	verbose.Set("false")
	defer verbose.Set(before)
	all := func(string, string) (bool, error) { return true, nil }
	fmt.Println("passed:", testing.RunTests(all, []testing.InternalTest{{Name: "TestTranscripts", F: test}}))
	// Output:
	// passed: true
}
