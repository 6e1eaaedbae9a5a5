//go:build !linux

package bridge

import (
	"errors"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

var errNotLinux = errors.New("the bridge provider needs Linux")

// New always fails, because network namespaces exist only on Linux.
func New(string) (provider.Provider, error) { return nil, errNotLinux }

// Probe returns the reason why the provider cannot work here.
func Probe() error { return errNotLinux }
