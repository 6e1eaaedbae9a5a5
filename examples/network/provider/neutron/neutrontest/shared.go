package neutrontest

import (
	"os"
	"sync"
	"testing"
)

// shared is the real Neutron that all tests of a process share, started by the first one that needs it. dir
// is empty if the package does not call Main.
var shared struct {
	sync.Mutex
	dir    string
	server *Server
	err    error
}

// Main runs a package's tests and then stops the Neutron that they shared. A package whose tests call ForTest
// calls it in TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(neutrontest.Main(m)) }
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "neutrontest-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	shared.dir = dir
	defer func() {
		if shared.server != nil {
			shared.server.Kill() // its files are removed anyway
		}
	}()
	return m.Run()
}

// ForTest returns the real Neutron that the tests of a process share. The first call starts it. Each test
// uses its own project, and none stops the server. If no Neutron is installed, ForTest skips the test.
func ForTest(t testing.TB) *Server {
	t.Helper()
	if err := Missing(); err != nil {
		t.Skip(err)
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.dir == "" {
		t.Fatal("the package has no TestMain that calls neutrontest.Main")
	}
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = Start(shared.dir)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}
