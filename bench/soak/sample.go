package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
)

// sample is how the server was at a time.
type sample struct {
	at                        time.Duration // since the load began
	anonymous, live, onDisk   float64       // MiB
	files, goroutines, events float64
	latency                   [verbs]latency
}

// take samples the server. Live heap is what its last collection left, which /metrics tells through the size at which it
// collects next.
func (t *target) take(ctx context.Context, client kubernetes.Interface) (s sample, err error) {
	data, err := client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return s, err
	}
	values := map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil {
			values[name] = v
		}
	}
	s.live = values["go_memstats_next_gc_bytes"] / (1 + values["go_gc_gogc_percent"]/100) / (1 << 20)
	s.goroutines = values["go_goroutines"]
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", t.pid))
	if err != nil {
		return s, err
	}
	s.files = float64(len(files))
	if s.anonymous, err = anonymousMemory(t.pid); err != nil {
		return s, err
	}
	s.onDisk = folderSize(t.data)
	return s, nil
}

// anonymousMemory is RssAnon of /proc/PID/status, in MiB.
func anonymousMemory(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(data), "RssAnon:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0, fmt.Errorf("process %d: no RssAnon", pid)
	}
	kib, err := strconv.ParseFloat(fields[0], 64)
	return kib / 1024, err
}

// folderSize is what the files of a folder hold, in MiB. A file that goes while it is looked at does not count.
func folderSize(dir string) float64 {
	bytes := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return float64(bytes) / (1 << 20)
}
