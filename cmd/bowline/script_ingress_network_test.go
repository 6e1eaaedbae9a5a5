package main

import (
	"net"
	"os"
	"os/exec"
	"testing"
)

// ownNetworkVariable is set if the test runs in a network namespace created for it.
const ownNetworkVariable = "BOWLINE_TEST_OWN_NETWORK"

// inOwnNetwork runs the test again in a new network namespace if the machine has only loopback addresses,
// which Kubernetes rejects as endpoints. It reports whether it did; the caller then returns. It skips the
// test if the namespace is needed but cannot be created.
func inOwnNetwork(t *testing.T) bool {
	t.Helper()
	if hasPublicAddress(t) || os.Getenv(ownNetworkVariable) != "" {
		return false
	}
	const prepare = `ip link set lo up && ip address add 192.0.2.1/32 dev lo && exec "$@"`
	enter := []string{"--net", "sh", "-c", prepare, "sh"}
	if os.Geteuid() != 0 {
		enter = append([]string{"--map-root-user"}, enter...)
	}
	if output, err := exec.CommandContext(t.Context(), "unshare",
		append(enter, "true")...).CombinedOutput(); err != nil {
		t.Skipf("this machine has only loopback addresses, and creating a network namespace with another one "+
			"failed (%v: %s): add one, for example with ip address add 192.0.2.1/32 dev lo", err, output)
	}
	command := exec.CommandContext(t.Context(), "unshare",
		append(enter, os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")...)
	command.Env = append(os.Environ(), ownNetworkVariable+"=yes")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("in a new network namespace: %v\n%s", err, output)
	}
	t.Logf("in a new network namespace:\n%s", output)
	return true
}

// hasPublicAddress reports whether the machine has a global unicast address.
func hasPublicAddress(t *testing.T) bool {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return true
		}
	}
	return false
}
