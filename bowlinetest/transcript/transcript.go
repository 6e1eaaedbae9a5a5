// Package transcript tests controllers by what a person would see: a file of commands, each followed by all that changed in
// the API because of it.
//
//	A ReplicaSet makes the pods that it lacks.
//
//	$ apply web.yaml
//	+ replicaset/web: status {"observedGeneration":1,"replicas":2}
//	+ pod/web-#1 of replicaset/web
//	+ pod/web-#2 of replicaset/web
//	! Normal SuccessfulCreate replicaset/web: Created pod: web-#1 (and 1 more)
//
//	$ delete pod/web-#1
//	- pod/web-#1
//	+ pod/web-#3 of replicaset/web
//
//	-- web.yaml --
//	apiVersion: apps/v1
//	kind: ReplicaSet
//	...
//
// It runs in virtual time, on a plane of its own: each command is given a second, in which everybody does what follows from it. A
// line of what changed begins with + for an object that was made, ~ for one that was changed, - for one that is gone, ! for an
// event, and ? for what a command was refused with. Of a long list that was changed only the fields that are others are shown,
// or the items that it is with and without now. What differs from run to run is named by what does not: generated names, and
// the addresses of pods on simulated nodes, are numbered by the commands that they came with, and times count from the
// beginning. Lines between the commands that are not of these are prose, and stay.
//
// Where more than 20 lines differ in nothing but such numbers one line stands for all, and from then on these names have none:
//
//	pod/web-# of replicaset/web (1000 alike)
//
// With BOWLINE_TRANSCRIPT=write the files are written as they should be: look at the difference before you believe it.
//
// The commands:
//
//	apply FILE                    declare the objects of a file that follows the commands
//	patch KIND/NAME PATCH         a JSON merge patch, in one line; NAME may be *, for all of the kind
//	status KIND/NAME PATCH        the same, of the status
//	delete KIND/NAME [POLICY]     with Background, Foreground or Orphan
//	run [NAME]                    do what nodes would: pending pods, or one of them, become Running and Ready
//	evict pod/NAME                ask for its eviction, which its disruption budget may refuse
//	wait DURATION                 let time pass
//
// In a file, $uid(KIND/NAME) is the uid of an object that there was before the command, as owner references need it; elsewhere
// than in the namespace default it is $uid(KIND/NAMESPACE/NAME).
//
// KIND is the singular name of a resource, in lower case; objects are in the namespace default.
package transcript

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/bowline-dev/bowline/bowlinetest"
)

// Write is the variable that has the files written: see the package's comment.
const Write = "BOWLINE_TRANSCRIPT"

// Test runs each file that a pattern of package filepath matches, as a subtest with a plane of its own.
func Test(t *testing.T, pattern string, options ...bowlinetest.Option) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcript is called %s (%v)", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
				got = play(t, p, archive)
			}, options...)
			compare(t, file, archive, got)
		})
	}
}

// play runs the commands of a transcript, and returns it as it was this time.
func play(t *testing.T, p *bowlinetest.Plane, archive *txtar.Archive) []byte {
	s := newStage(t, p, archive.Files)
	settle()
	s.changes() // what is there at first is not shown
	var out bytes.Buffer
	for line := range strings.Lines(string(archive.Comment)) {
		command, is := strings.CutPrefix(line, "$ ")
		switch {
		case is:
			out.WriteString(line)
			if err := s.do(strings.TrimSpace(command)); err != nil {
				out.WriteString("? " + s.aliased(err.Error()) + "\n")
			}
			settle()
			out.WriteString(s.changes())
		case !isResult(line):
			out.WriteString(line)
		}
	}
	return out.Bytes()
}

// settle lets everybody do what there is to do, and what they try again soon.
func settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// isResult says whether a line of a transcript is one that a command has printed.
func isResult(line string) bool {
	return len(line) > 2 && line[1] == ' ' && strings.ContainsRune("+~-!?", rune(line[0]))
}

// compare says where a transcript was another one this time, or writes it.
func compare(t *testing.T, file string, archive *txtar.Archive, got []byte) {
	t.Helper()
	if bytes.Equal(got, archive.Comment) {
		return
	}
	if os.Getenv(Write) == "write" {
		archive.Comment = got
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("%s:%s\nThe whole of it:\n%s", file, difference(archive.Comment, got), got)
}

// difference is the first line that is another one, with its number.
func difference(want, got []byte) string {
	was, is := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for n := range max(len(was), len(is)) {
		if a, b := at(was, n), at(is, n); a != b {
			return fmt.Sprintf("%d\nis:   %s\nwant: %s", n+1, b, a)
		}
	}
	return ""
}

func at(lines []string, n int) string {
	if n < len(lines) {
		return lines[n]
	}
	return "(the end)"
}
