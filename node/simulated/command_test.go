package simulated

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestCommandsThatSleep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command, args []string
		want          time.Duration
		ok            bool
	}{
		{[]string{"sleep", "30"}, nil, 30 * time.Second, true},
		{nil, []string{"sleep", "30s"}, 30 * time.Second, true},
		{[]string{"/bin/sleep"}, []string{"5m"}, 5 * time.Minute, true},
		{[]string{"/usr/bin/sleep", "1h", "1m", "0.5"}, nil, time.Hour + time.Minute + 500*time.Millisecond, true},
		{[]string{"sleep", "2d"}, nil, 48 * time.Hour, true},
		{[]string{"sleep", "0"}, nil, 0, true},
		{[]string{"sleep", "1000000000000"}, nil, Never, true},
		{[]string{"sleep", strings.Repeat("9", 100)}, nil, Never, true},
		{[]string{"sleep", "99y"}, nil, 0, false},
		{[]string{"sleep", "infinity"}, nil, Never, true},
		{[]string{"sleep", "1", "inf", "1"}, nil, Never, true},
		{[]string{"sleep", "36500d", "36500d"}, nil, Never, true},
		{[]string{"sh", "-c", "sleep 30"}, nil, 30 * time.Second, true},
		{[]string{"/bin/sh", "-c", " exec sleep 1m ; "}, nil, time.Minute, true},
		{[]string{"/bin/bash", "-c"}, []string{"sleep 5", "ignored"}, 5 * time.Second, true},
		{[]string{"sh"}, []string{"-c", "/bin/sleep 5"}, 5 * time.Second, true},

		{nil, nil, 0, false},
		{[]string{"sleep"}, nil, 0, false},
		{[]string{"sleep", "-1"}, nil, 0, false},
		{[]string{"sleep", ""}, nil, 0, false},
		{[]string{"sleep", "s"}, nil, 0, false},
		{[]string{"sleep", "1.2.3"}, nil, 0, false},
		{[]string{"sleep", "1e3"}, nil, 0, false},
		{[]string{"sleep", "$(TIME)"}, nil, 0, false},
		{[]string{"sh", "-c", "echo hello && sleep 30"}, nil, 0, false},
		{[]string{"sh", "-c", "sleep 30; exit 1"}, nil, 0, false},
		{[]string{"sh", "-c", "exec"}, nil, 0, false},
		{[]string{"sh", "-c", ""}, nil, 0, false},
		{[]string{"sh", "-c", "sleep " + strings.Repeat("9", 1000)}, nil, 0, false},
		{[]string{"/opt/sleep", "1"}, nil, 0, false},
		{[]string{"sleep", "1", "1", "1", "1", "1", "1", "1", "1"}, nil, 0, false},
	} {
		got, ok := sleepTime(&corev1.Container{Command: c.command, Args: c.args})
		if got != c.want || ok != c.ok {
			t.Errorf("%q %q: got %s, %t, want %s, %t", c.command, c.args, got, ok, c.want, c.ok)
		}
	}
}
