//go:build !linux

package bridge

import (
	"errors"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

var errNotLinux = errors.New("the bridge provider needs Linux")

// New fails: there are no network namespaces here.
func New(string) (provider.Provider, error) { return nil, errNotLinux }

// Probe says why the provider cannot work here.
func Probe() error { return errNotLinux }
