//go:build !linux

package attacks

import (
	"errors"
	"time"
)

var errNotLinux = errors.New("the cost of a process is measured on Linux only")

func limitData(uint64) error { return errNotLinux }

func (s *server) cpu() (time.Duration, error) { return 0, errNotLinux }

func (s *server) resetPeak() (int64, error) { return 0, errNotLinux }

func (s *server) peak() (int64, error) { return 0, errNotLinux }
