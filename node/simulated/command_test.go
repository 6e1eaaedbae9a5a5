package simulated

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestCommandsThatEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command, args []string
		code          int32
		ok            bool
	}{
		{[]string{"true"}, nil, 0, true},
		{[]string{"/bin/true"}, nil, 0, true},
		{nil, []string{"/bin/false"}, 1, true},
		{[]string{"sh", "-c", "false"}, nil, 1, true},
		{[]string{"/bin/sh", "-c", "exit 1"}, nil, 1, true},
		{[]string{"sh", "-c"}, []string{" exit 255; "}, 255, true},
		{[]string{"sh", "-c", "exit"}, nil, 0, true},

		{[]string{"exit", "1"}, nil, 0, false}, // no program
		{[]string{"sh", "-c", "exit 256"}, nil, 0, false},
		{[]string{"sh", "-c", "exit -1"}, nil, 0, false},
		{[]string{"sh", "-c", "exit 1 2"}, nil, 0, false},
		{[]string{"sh", "-c", "exit $CODE"}, nil, 0, false},
		{[]string{"sh", "-c", "true || false"}, nil, 0, false},
		{[]string{"false", "1"}, nil, 0, false},
		{[]string{"/opt/true"}, nil, 0, false},
	} {
		got, ok := endingOf(&corev1.Container{Command: c.command, Args: c.args})
		if ok != c.ok || ok && got != (ending{code: c.code}) {
			t.Errorf("%q %q: got %+v, %t, want code %d, %t", c.command, c.args, got, ok, c.code, c.ok)
		}
	}
}

func TestPauseRunsUntilStopped(t *testing.T) {
	t.Parallel()
	for image, pauses := range map[string]bool{
		"registry.k8s.io/pause:3.10.1": true, "localhost:5000/pause": true, "pause": true,
		"registry.k8s.io/pause@sha256:" + strings.Repeat("0", 64): true,
		"registry.k8s.io/pause/nginx":                             false, "pause-arm64:3": false, "nginx": false, "": false,
	} {
		got, ok := endingOf(&corev1.Container{Image: image})
		if ok != pauses || ok && got != (ending{after: Never, pauses: true}) {
			t.Errorf("%q: got %+v, %t, want %t", image, got, ok, pauses)
		}
	}
	if got, ok := endingOf(&corev1.Container{Image: "pause", Args: []string{"sleep", "1"}}); !ok || got.pauses {
		t.Errorf("pause with a command: got %+v, %t", got, ok)
	}
}

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
		got, ok := endingOf(&corev1.Container{Command: c.command, Args: c.args})
		if ok != c.ok || ok && got != (ending{after: c.want}) {
			t.Errorf("%q %q: got %+v, %t, want %s, %t", c.command, c.args, got, ok, c.want, c.ok)
		}
	}
}
