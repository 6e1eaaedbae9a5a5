package main

import (
	"net"
	"os"
	"os/exec"
	"testing"
)

// ownNetworkVariable tells a test that it is in a network namespace that was made for it.
const ownNetworkVariable = "BOWLINE_TEST_OWN_NETWORK"

// inOwnNetwork runs a test in a network namespace of its own, which has an address, where the machine has none but loopback ones:
// Kubernetes takes none of these as an endpoint's. It says whether it did, and skips the test where it would have to and cannot.
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
	if output, err := exec.CommandContext(t.Context(), "unshare", append(enter, "true")...).CombinedOutput(); err != nil {
		t.Skipf("this machine has none but loopback addresses, and a network namespace with another one cannot be made (%v: %s): "+
			"give it one, as by ip address add 192.0.2.1/32 dev lo", err, output)
	}
	again := exec.CommandContext(t.Context(), "unshare", append(enter, os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")...)
	again.Env = append(os.Environ(), ownNetworkVariable+"=yes")
	output, err := again.CombinedOutput()
	if err != nil {
		t.Fatalf("in a network of its own: %v\n%s", err, output)
	}
	t.Logf("in a network of its own:\n%s", output)
	return true
}

// hasPublicAddress says whether the machine has an address that others can reach it by.
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
