package attacks

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// smallMemory is the memory of a flooded server, and smallAddressSpace the address space (ulimit -v) of another one.
const (
	smallMemory       = 256 << 20
	smallAddressSpace = 3 << 30 // Go reserves two thirds of it
)

// flood sends requests that each add a little, from several clients, until the server rejects them.
type flood struct {
	name string
	// send sends request n of a worker. It may keep something open until the server stops.
	send func(s *server, worker, n int) answer
	// rejected are the codes of a rejection, which must come. If there are none, the server bounds what it holds
	// without rejections, and the flood ends after a number of requests.
	rejected []int
	requests int
}

const (
	floodWorkers    = 8
	floodRejections = 40 // after which a flood ends
	floodTime       = 2 * time.Minute
)

// floods fill the server's memory in different ways. The bodies are large, so that a flood takes seconds.
func floods() []flood {
	full, short := http.StatusInsufficientStorage, http.StatusTooManyRequests
	value := strings.Repeat("v", 20<<10)
	return []flood{
		{name: "objects", rejected: []int{full}, send: func(s *server, worker, n int) answer {
			return s.send(post(configMaps, configMap(numbered2("a", worker, n), `,"data":{"k":"`+value+`"}`))[0])
		}},
		{name: "large objects", rejected: []int{full}, send: func(s *server, worker, n int) answer {
			return s.send(post(configMaps, configMap(numbered2("a", worker, n),
				`,"data":{"k":"`+strings.Repeat("v", mega)+`"}`))[0])
		}},
		{name: "events", rejected: []int{full}, send: func(s *server, worker, n int) answer {
			return s.send(post("/api/v1/namespaces/default/events", `{"metadata":{"name":"`+numbered2("a", worker, n)+
				`"},"involvedObject":{"namespace":"default","name":"`+value[:200]+`"},"action":"`+value+`"}`)[0])
		}},
		{name: "definitions", rejected: []int{full, short}, send: func(s *server, worker, n int) answer {
			properties := `{"type":"object","properties":{` + numbered(`"p%d":{"type":"string","description":"`+value[:400]+`"}`, 1000) + `}}`
			body := strings.NewReplacer("things", numbered2("things", worker, n), "Thing", numbered2("Thing", worker, n)).
				Replace(definition(properties))
			return s.send(post(definitions, body)[0])
		}},
		{name: "managed fields", rejected: []int{full}, send: func(s *server, worker, n int) answer {
			const managers = 5 // of one object
			name := numbered2("a", worker, n/managers)
			return s.send(patch(fmt.Sprintf("%s/%s?fieldManager=m%d&force=true", configMaps, name, n%managers), applyType,
				configMap(name, `,"data":{`+numbered(fmt.Sprintf(`"k%d-%%d-%s":"v"`, n%managers, strings.Repeat("x", 100)), 500)+`}`))[0])
		}},
		{name: "history", requests: 150, send: func(s *server, worker, n int) answer {
			path := configMaps + "/" + numbered2("a", worker, 0)
			if n == 0 {
				return s.send(post(configMaps, configMap(numbered2("a", worker, 0), ""))[0])
			}
			return s.send(patch(path, mergeType, `{"data":{"k":"`+strings.Repeat(fmt.Sprint(n%10), mega)+`"}}`)[0])
		}},
		{name: "bodies of many values", requests: 100, send: func(s *server, worker, n int) answer {
			return s.send(postAs(configMaps, yamlType, "metadata: {name: "+numbered2("a", worker, n)+"}\nx:\n"+
				strings.Repeat("- {a: 1}\n", 40_000))[0])
		}},
		{name: "lists", requests: 300, send: func(s *server, worker, n int) answer {
			if n < 60 {
				return s.send(post(configMaps, configMap(numbered2("a", worker, n), `,"data":{"k":"`+value+`"}`))[0])
			}
			return s.send(get(configMaps)[0])
		}},
		{name: "connections", requests: 4000, send: func(s *server, _, _ int) answer { return connectOnly(s) }},
		{name: "watches", rejected: []int{short}, send: func(s *server, _, _ int) answer {
			return openWatch(s, configMaps+"?watch=true&resourceVersion=0")
		}},
	}
}

// numbered2 returns a name of a request of a worker.
func numbered2(name string, worker, n int) string { return fmt.Sprintf("%sx%dx%d", name, worker, n) }

// TestFloodsEndInRejections floods servers with little memory. Each must reject requests, or bound what it holds, and
// go on serving reads and deletes: neither the kernel nor the Go runtime may end it.
func TestFloodsEndInRejections(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("limits of memory are set on Linux only")
	}
	for _, f := range floods() {
		t.Run(f.name+"/memory", func(t *testing.T) {
			limit, err := cgroupLimit(t, smallMemory)
			if err != nil {
				t.Logf("%v: the data segment is limited instead, as ulimit -d does", err)
				limit = dataLimit(smallMemory)
			}
			f.run(t, limit)
		})
	}
	for _, f := range floods() {
		if slices.Contains([]string{"objects", "definitions", "watches", "bodies of many values"}, f.name) {
			t.Run(f.name+"/address space", func(t *testing.T) { f.run(t, addressLimit(smallAddressSpace)) })
		}
	}
}

func (f flood) run(t *testing.T, limit string) {
	s := startLimited(t, limit, "--data", t.TempDir())
	defer s.kill()
	if _, err := s.resetPeak(); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	codes := f.flood(s)
	peak, _ := s.peak()
	t.Logf("%v in %v, peak %d MiB", codes, time.Since(started).Round(time.Second), peak>>20)
	rejections := 0
	for code, n := range codes {
		switch {
		case slices.Contains(f.rejected, code):
			rejections += n
		case code >= 500 && code != http.StatusInsufficientStorage:
			t.Errorf("%d requests were answered with %d", n, code)
		}
	}
	if len(f.rejected) > 0 && rejections < floodRejections {
		t.Errorf("%d requests were rejected with %v, want %d", rejections, f.rejected, floodRejections)
	}
	if a := s.livez(s.admin); a.code != http.StatusOK {
		t.Errorf("/livez afterwards: %s; the log: %s", a, s.log.head())
	}
	for _, q := range slices.Concat(get(configMaps+"?limit=1"), remove(configMaps)) {
		if a := s.send(q); a.code != http.StatusOK {
			t.Errorf("%s afterwards: %s", q.method, a)
		}
	}
	if problem := s.stop(); problem != "" {
		t.Error(problem)
	}
}

// flood sends until enough requests were rejected, or sent. It returns how often each code was answered.
func (f flood) flood(s *server) map[int]int {
	var all sync.Mutex
	codes := map[int]int{}
	var rejected, sent atomic.Int64
	deadline := time.Now().Add(floodTime)
	var workers sync.WaitGroup
	for worker := range floodWorkers {
		workers.Go(func() {
			for n := 0; time.Now().Before(deadline) && rejected.Load() < floodRejections; n++ {
				if sent.Add(1) > int64(f.requests) && f.requests > 0 {
					return
				}
				a := f.send(s, worker, n)
				if slices.Contains(f.rejected, a.code) {
					rejected.Add(1)
				}
				all.Lock()
				codes[a.code]++
				all.Unlock()
				select {
				case <-s.exited:
					return
				default:
				}
			}
		})
	}
	workers.Wait()
	return maps.Clone(codes)
}

// connectOnly opens a TLS connection, and leaves it idle until the test ends. It returns code 0 if the server does not
// accept it within a moment.
func connectOnly(s *server) answer {
	dialer := tls.Dialer{NetDialer: &net.Dialer{}, Config: s.tls}
	ctx, cancel := context.WithTimeout(s.t.Context(), 50*time.Millisecond)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp", s.address)
	if err != nil {
		return answer{err: err}
	}
	s.keep(func() { conn.Close() })
	return answer{code: http.StatusOK}
}

// openWatch opens a watch, and leaves it open until the test ends. Several clients share the watches, because each has
// a connection.
func openWatch(s *server, path string) answer {
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "https://"+s.address+path, nil)
	if err != nil {
		return answer{err: err}
	}
	response, err := s.admin.Do(r)
	if err != nil {
		return answer{err: err}
	}
	s.keep(func() { response.Body.Close() })
	return answer{code: response.StatusCode}
}
