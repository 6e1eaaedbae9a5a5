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

// sample is the state of the server at a time.
type sample struct {
	at                        time.Duration // since the start of the load
	anonymous, live, onDisk   float64       // MiB
	files, goroutines, events float64
	latency                   [verbs]latency
}

// take takes a sample. The live heap, which the last garbage collection retained, is derived from the size of
// the next collection in /metrics.
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

// anonymousMemory returns RssAnon from /proc/PID/status, in MiB.
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

// folderSize returns the total size of the files in a folder in MiB. It ignores files that are removed
// meanwhile.
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
