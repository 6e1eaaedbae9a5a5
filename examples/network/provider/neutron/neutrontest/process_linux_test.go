package neutrontest

import (
	"io"
	"os"
	"os/exec"
	"testing"
)

// parentVariable makes this test binary start a process and block until it is killed.
const parentVariable = "NEUTRONTEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		beParent()
	}
	os.Exit(Main(m))
}

// beParent starts a process that would run for an hour, and writes a byte when that runs.
func beParent() {
	if _, err := start(exec.Command("sleep", "3600"), "/dev/stdout"); err != nil {
		panic(err)
	}
	os.Stdout.WriteString("!")
	select {}
}

// A process that a test started ends with the test process, even if that is killed with SIGKILL: the pipe is
// closed when both have ended.
func TestProcessEndsWithItsParent(t *testing.T) {
	t.Parallel()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"=yes")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	parent.Wait() // its error is that it was killed
}
