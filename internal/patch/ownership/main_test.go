package ownership

import (
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// TestMain has the library keep its complaints about ownership that cannot be read to itself. It holds each back until a while
// after the one before, by a time that all tests of the process share; between one in a bubble and one that is not, that is years.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}
