//go:build !linux

package attacks

import (
	"errors"
	"testing"
	"time"
)

var errNotLinux = errors.New("the cost of a process is measured on Linux only")

func dataLimit(int) string { return "none" }

func addressLimit(int) string { return "none" }

func limitProcess(string) error { return errNotLinux }

func cgroupLimit(*testing.T, int) (string, error) { return "", errNotLinux }

func (s *server) cpu() (time.Duration, error) { return 0, errNotLinux }

func (s *server) resetPeak() (int64, error) { return 0, errNotLinux }

func (s *server) peak() (int64, error) { return 0, errNotLinux }
