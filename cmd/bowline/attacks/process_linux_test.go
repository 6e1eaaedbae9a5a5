package attacks

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// limitData limits the private memory of this process that can be written (RLIMIT_DATA). A limit on its address space
// would also count what the Go runtime reserves and does not use.
func limitData(bytes uint64) error {
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes})
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
