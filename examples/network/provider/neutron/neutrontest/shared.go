package neutrontest

import (
	"os"
	"sync"
	"testing"
)

// shared is the one real Neutron of a test process, started by the first test that asks for it. It stays nil where a
// process has no Main to end it.
var shared struct {
	sync.Mutex
	dir    string
	server *Server
	err    error
}

// Main runs a package's tests, and ends the Neutron that they shared. A package whose tests call ForTest has it as TestMain:
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
			shared.server.Kill() // nobody reads its files again
		}
	}()
	return m.Run()
}

// ForTest is the real Neutron that the tests of a process share: each takes a project of its own, and none kills it. It
// is started by the first who asks. Where no Neutron is installed it skips the test.
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
