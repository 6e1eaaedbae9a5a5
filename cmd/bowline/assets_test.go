package main

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestStandInsEndWithTheirParent checks that etcd ends when its parent is killed, because a killed test
// suite cannot stop it.
func TestStandInsEndWithTheirParent(t *testing.T) {
	t.Parallel()
	output, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	suite := exec.Command("sh", "-c", "etcd --listen-client-urls http://127.0.0.1:0 & echo $!; wait")
	suite.Stdout, suite.Stderr = theirs, theirs
	err = suite.Start()
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer suite.Process.Kill() // if the test ends early
	output.SetReadDeadline(time.Now().Add(patience))
	lines := bufio.NewScanner(output)
	var etcd int
	for started := false; etcd == 0 || !started; {
		if !lines.Scan() {
			t.Fatalf("output ended before etcd started: %v", lines.Err())
		}
		if pid, err := strconv.Atoi(lines.Text()); err == nil {
			etcd = pid
		}
		started = started || strings.Contains(lines.Text(), "bowline runs in place of etcd")
	}
	suite.Process.Kill()
	suite.Wait() // returns an error because it was killed
	rest := ""
	for lines.Scan() { // until etcd, which holds the other end of the pipe, has ended too
		rest += lines.Text()
	}
	if err := lines.Err(); err != nil {
		t.Errorf("etcd still runs after its parent ended: %v", err)
		if orphan, err := os.FindProcess(etcd); err == nil {
			orphan.Kill()
		}
	}
	if !strings.Contains(rest, "the parent process has ended") {
		t.Errorf("got output %q, want that the parent process has ended", rest)
	}
}
