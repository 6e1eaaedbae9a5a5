// Package transcript tests controllers with transcripts: files of commands, each followed by all changes in
// the API that resulted from it.
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
// A transcript runs in virtual time on its own plane; after each command, one second passes in which
// controllers react. A line of a result begins with + for a created object, ~ for a changed one, - for a
// deleted one, ! for an event, and ? for the error of a command. For a long list, only the changed fields or
// the added and removed items are shown. What differs from run to run is replaced: generated names and the
// addresses of pods on simulated nodes are numbered in the order of the commands that created them, and times
// count from the start. The IPAddresses of services, which differ too, are left out. All other lines between the
// commands are prose and are preserved.
//
// If more than 20 lines differ only in such numbers, one line replaces them, and these names are shown
// without numbers from then on:
//
//	pod/web-# of replicaset/web (1000 alike)
//
// With BOWLINE_TRANSCRIPT=write, Test writes the actual results to the files; review the diff.
//
// The commands:
//
//	apply FILE                    apply the objects of a file that follows the commands
//	patch KIND/NAME PATCH         apply a JSON merge patch, in one line; NAME may be *, for all of the kind
//	status KIND/NAME PATCH        do the same for the status
//	delete KIND/NAME [POLICY]     with Background, Foreground or Orphan
//	run [NAME]                    do what nodes do: pending pods, or one of them, become Running and Ready
//	evict pod/NAME                request an eviction, which a disruption budget may refuse
//	wait DURATION                 let time pass
//
// In a file, $uid(KIND/NAME) is the UID of an object that existed before the command, for owner references.
// For objects outside the namespace default it is $uid(KIND/NAMESPACE/NAME).
//
// KIND is the singular name of a resource, in lower case. Objects are in the namespace default.
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

// Write is the environment variable that makes Test write the files; see the package comment.
const Write = "BOWLINE_TRANSCRIPT"

// Test runs each file that matches a pattern of package filepath, as a parallel subtest with its own plane.
func Test(t *testing.T, pattern string, options ...bowlinetest.Option) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("unknown transcript %s (%v)", pattern, err)
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

// play runs the commands of a transcript and returns the transcript with the actual results.
func play(t *testing.T, p *bowlinetest.Plane, archive *txtar.Archive) []byte {
	s := newStage(t, p, archive.Files)
	waitForControllers()
	s.changes() // the initial objects are not shown
	var out bytes.Buffer
	for line := range strings.Lines(string(archive.Comment)) {
		command, ok := strings.CutPrefix(line, "$ ")
		switch {
		case ok:
			out.WriteString(line)
			if err := s.do(strings.TrimSpace(command)); err != nil {
				out.WriteString("? " + s.aliased(err.Error()) + "\n")
			}
			waitForControllers()
			out.WriteString(s.changes())
		case !isResult(line):
			out.WriteString(line)
		}
	}
	return out.Bytes()
}

// waitForControllers gives controllers a second to react, which includes quick retries.
func waitForControllers() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// isResult reports whether a line of a transcript is the result of a command.
func isResult(line string) bool {
	return len(line) > 2 && line[1] == ' ' && strings.ContainsRune("+~-!?", rune(line[0]))
}

// compare fails the test at the first line that differs, or writes the file.
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

// difference describes the first line that differs, with its number.
func difference(want, got []byte) string {
	before, after := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for n := range max(len(before), len(after)) {
		if a, b := at(before, n), at(after, n); a != b {
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
