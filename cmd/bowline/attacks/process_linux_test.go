package attacks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// dataLimit returns a limit of the private memory of a process that can be written (RLIMIT_DATA). addressLimit returns
// one of its address space, which also counts what the Go runtime reserves and does not use.
func dataLimit(bytes int) string    { return fmt.Sprintf("data:%d", bytes) }
func addressLimit(bytes int) string { return fmt.Sprintf("address:%d", bytes) }

// limitProcess limits the memory of this process: "data:BYTES", "address:BYTES", or "cgroup:FILE", the file of a cgroup
// that lists its processes.
func limitProcess(limit string) error {
	kind, value, _ := strings.Cut(limit, ":")
	if kind == "cgroup" {
		return os.WriteFile(value, []byte("0"), 0) // 0 stands for the writer
	}
	bytes, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return err
	}
	resource := map[string]int{"data": unix.RLIMIT_DATA, "address": unix.RLIMIT_AS}[kind]
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: bytes, Max: bytes})
}

// cgroupLimit creates a cgroup with a limit of memory for the test, and returns it as a limit of a process. It returns
// an error if this user cannot create one.
func cgroupLimit(t *testing.T, bytes int) (string, error) {
	for root, file := range map[string]string{
		"/sys/fs/cgroup":        "memory.max",            // version 2
		"/sys/fs/cgroup/memory": "memory.limit_in_bytes", // version 1
	} {
		folder, err := os.MkdirTemp(root, "bowline-attacks-")
		if err != nil {
			continue
		}
		processes := filepath.Join(folder, "cgroup.procs") // exists in a cgroup, and not in another kind of folder
		if _, err = os.Stat(processes); err == nil {
			err = os.WriteFile(filepath.Join(folder, file), []byte(strconv.Itoa(bytes)), 0)
		}
		if err == nil {
			t.Cleanup(func() { os.Remove(folder) })
			return "cgroup:" + processes, nil
		}
		os.Remove(folder)
	}
	return "", errors.New("no cgroup with a limit of memory can be created here")
}

// cpu returns the CPU time of the server, of all its threads, in user and system mode. The clock of a process
// (clock_getcpuclockid) counts nanoseconds; /proc/PID/stat counts hundredths of a second.
func (s *server) cpu() (time.Duration, error) {
	const perProcess = 2 // CPUCLOCK_SCHED
	var now unix.Timespec
	err := unix.ClockGettime(int32(^s.cmd.Process.Pid)<<3|perProcess, &now)
	return time.Duration(now.Nano()), err
}

// resetPeak sets the peak of the server's resident memory to its current value, which it returns.
func (s *server) resetPeak() (int64, error) {
	const peak = "5" // see proc_pid_clear_refs(5)
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte(peak), 0); err != nil {
		return 0, err
	}
	return s.peak()
}

// peak returns the peak of the server's resident memory since resetPeak, in bytes.
func (s *server) peak() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, value, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(value)
	if len(fields) == 0 {
		return 0, fmt.Errorf("no VmHWM in %q", status)
	}
	kilobytes, err := strconv.ParseInt(fields[0], 10, 64)
	return kilobytes << 10, err
}
