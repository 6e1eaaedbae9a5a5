package providertest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// victimVariable makes a test binary the process to be killed; its value is the plane ID.
const victimVariable = "BOWLINE_PROVIDER_VICTIM"

const victimUID types.UID = "11111111-2222-3333-4444-555555555555"

// Main implements the TestMain of a package that calls Killed. In the process to be killed it creates,
// changes and removes a network in an endless loop; otherwise it runs the tests.
func Main(m *testing.M, open func(plane string) (provider.Provider, error)) {
	Victim(open)
	os.Exit(m.Run())
}

// Victim is for a package with its own TestMain. In the process to be killed it does not return; otherwise it
// does nothing.
func Victim(open func(plane string) (provider.Provider, error)) {
	plane := os.Getenv(victimVariable)
	if plane == "" {
		return
	}
	p, err := open(plane)
	for err == nil {
		err = live(p)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// live runs the loop once. It writes a byte to stdout after each step.
func live(p provider.Provider) error {
	ctx := context.Background()
	for _, step := range []func() error{
		func() error { return p.Apply(ctx, Wanted(victimUID, "10.1.0.0/16", "10.1.0.1")) },
		func() error { return p.Apply(ctx, Wanted(victimUID, "10.2.0.0/24", "10.2.0.9")) },
		func() error { return p.Delete(ctx, victimUID) },
	} {
		if err := step(); err != nil {
			return err
		}
		if _, err := os.Stdout.Write([]byte{'.'}); err != nil {
			return err
		}
	}
	return nil
}

// Killed starts processes that create and remove a network, kills each with SIGKILL at some point, and checks
// that the network can then be created, exists once, and can be removed.
func Killed(t *testing.T, times int, env string, open func(plane string) (provider.Provider, error)) {
	plane := Plane()
	p := provide(t, Environment{New: open}, plane)
	want := Wanted(victimUID, "10.3.0.0/16", "10.3.0.1")
	for n := range times {
		killAfter(t, plane, env, n%4)
		switch n % 3 {
		case 0: // the next process continues with what this one left
		case 1:
			apply(t, p, want)
			isOnly(t, p, want)
		case 2:
			for _, uid := range list(t, p) {
				if err := p.Delete(t.Context(), uid); err != nil {
					t.Fatal(err)
				}
			}
			isGone(t, p, victimUID)
		}
	}
	apply(t, p, want)
	isOnly(t, p, want)
}

// killAfter kills a process that has completed the given number of steps, or a few more.
func killAfter(t *testing.T, plane, env string, steps int) {
	t.Helper()
	victim := exec.CommandContext(t.Context(), os.Args[0])
	victim.Env = append(os.Environ(), victimVariable+"="+plane, env)
	victim.Stderr = os.Stderr
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	done := bufio.NewReader(out)
	for range steps {
		if _, err := done.ReadByte(); err != nil {
			t.Errorf("the process ended before it was killed: %v", err)
			break
		}
	}
	if err := victim.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := victim.Wait(); victim.ProcessState.Success() {
		t.Errorf("the process was not killed: %v", err)
	}
}
