package up

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// clockTicks is the number of ticks per second in /proc (USER_HZ), which is the same on every architecture
// that Go supports.
const clockTicks = 100

// ProcessStart returns the start time of this process with a precision of 10 ms. It includes the
// initialization of the runtime and of all packages, which happens before main. Without /proc it returns
// mainBegan.
func ProcessStart(mainBegan time.Time) time.Time {
	stat, statErr := os.ReadFile("/proc/self/stat")
	uptime, uptimeErr := os.ReadFile("/proc/uptime")
	if statErr != nil || uptimeErr != nil {
		return mainBegan
	}
	// The second field is the program's name in parentheses and may contain any byte, so parse from the third
	// field on.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const startTime = 22 - 3
	up := bytes.Fields(uptime)
	if len(fields) <= startTime || len(up) == 0 {
		return mainBegan
	}
	ticks, ticksErr := strconv.ParseFloat(string(fields[startTime]), 64)
	seconds, secondsErr := strconv.ParseFloat(string(up[0]), 64)
	age := time.Duration((seconds - ticks/clockTicks) * float64(time.Second))
	if ticksErr != nil || secondsErr != nil || age < time.Since(mainBegan) {
		return mainBegan
	}
	return time.Now().Add(-age)
}
