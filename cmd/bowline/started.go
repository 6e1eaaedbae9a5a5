package main

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// clockTicks is how many ticks a second has in /proc, on every architecture that Go knows.
const clockTicks = 100

// processStart is when this process was started, to a hundredth of a second: before the runtime and every linked
// package began to initialize, which main cannot see. Without /proc it is the time given.
func processStart(mainBegan time.Time) time.Time {
	stat, statErr := os.ReadFile("/proc/self/stat")
	uptime, uptimeErr := os.ReadFile("/proc/uptime")
	if statErr != nil || uptimeErr != nil {
		return mainBegan
	}
	// The second field is a name in parentheses that may hold anything; what follows begins with the third.
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
