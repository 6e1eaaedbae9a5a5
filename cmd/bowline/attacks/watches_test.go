package attacks

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http2"
)

// watches are many watches, on few connections.
func watches() []row {
	ok := []int{http.StatusOK}
	const minute = time.Minute
	selector := "&labelSelector=" + strings.ReplaceAll(numbered("a%d!=b", 2_000), "!", "%21")
	return []row{
		{name: "1,000 watches, and 10 writes", codes: ok, livez: maxLivez, within: minute, cpu: 2 * time.Second,
			run: watching(1, 1000, "", 10)},
		{name: "10,000 watches, and 10 writes", codes: ok, livez: maxLivez, within: 2 * minute, cpu: 15 * time.Second,
			run: watching(10, 1000, "", 10)},
		{name: "100,000 watches, and 10 writes", codes: ok, within: 4 * minute, cpu: 90 * time.Second, memory: 2560,
			run: watching(100, 1000, "", 10)},
		{name: "20 watches with a selector of 2,000 requirements, and 20 writes", codes: ok, livez: maxLivez,
			run: watching(1, 20, selector, 20)},
		{name: "300 watches with the state first", codes: ok, livez: maxLivez, setup: manyConfigMaps(50),
			run: watching(1, 300, "&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", 1)},
		{name: "5,000 watches that end at once", codes: ok, livez: maxLivez, cpu: 5 * time.Second,
			run: overFrames(times(5_000, func(f *frames) error {
				stream, err := f.open(true, asking("GET", configMaps+"?watch=true")...)
				if err != nil {
					return err
				}
				return f.WriteRSTStream(stream, 8)
			}))},
		{name: "1,000 lists of all objects", codes: ok, livez: maxLivez, setup: manyConfigMaps(50),
			send: repeat(get(configMaps + "?limit=500")[0], 1_000)},
	}
}

// manyConfigMaps creates n ConfigMaps.
func manyConfigMaps(n int) (all []request) {
	for i := range n {
		all = append(all, post(configMaps, configMap(fmt.Sprintf("m%d", i), `,"data":{"a":"b"}`))...)
	}
	return all
}

// atOnce is how many watches start together. The server refuses more than it has room for with 429.
const atOnce = 20

// watching returns a function that opens watches on connections whose events are not decoded, and then writes.
func watching(connections, each int, parameters string, writes int) func(*server) answer {
	return func(s *server) answer {
		started := time.Now()
		for range connections {
			f, err := s.openFrames(s.tls, false, http2.Setting{ID: http2.SettingInitialWindowSize, Val: mega})
			if err != nil {
				return answer{err: err}
			}
			f.WriteWindowUpdate(0, 1<<30) // Flush returns the error
			s.kept(f.conn)
			for n := 1; n <= each; n++ {
				if _, err := f.open(true, asking("GET", configMaps+"?watch=true"+parameters)...); err != nil {
					return answer{err: err}
				}
				if n%atOnce != 0 && n < each {
					continue
				}
				if err := errors.Join(f.out.Flush(), f.answered(n, started.Add(4*time.Minute))); err != nil {
					return answer{err: err}
				}
			}
		}
		opened := time.Since(started)
		var slowest time.Duration
		for i := range writes {
			a := s.send(post(configMaps, configMap(fmt.Sprintf("w%d", i), ""))[0])
			if a.code != http.StatusCreated {
				return a
			}
			slowest = max(slowest, a.took)
		}
		return answer{code: http.StatusOK, took: time.Since(started),
			body: fmt.Appendf(nil, "opened in %v, slowest write %v", opened.Round(time.Millisecond),
				slowest.Round(time.Millisecond))}
	}
}

// answered waits until n streams have an answer with status 200.
func (f *frames) answered(n int, until time.Time) error {
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for range ticks.C {
		f.lock.Lock()
		status, refused, resets, closed := f.status["200"], f.status["429"], f.resets, f.closed
		text := fmt.Sprintf("answers %v, resets %v, closed %t", f.status, resets, closed)
		f.lock.Unlock()
		if status >= n {
			return nil
		}
		if closed || refused > 0 || time.Now().After(until) {
			return fmt.Errorf("%d of %d streams are served: %s", status, n, text)
		}
	}
	return nil
}

// growth are requests that each leave something behind in the server's memory.
func growth() []row {
	variants := func(n int, vary func(i int, q *request)) []request {
		all := repeat(get(configMaps)[0], n)
		for i := range all {
			vary(i, &all[i])
		}
		return all
	}
	// small returns an answer with code 500 if the metrics have grown.
	small := func(requests []request) func(*server) answer {
		return func(s *server) answer {
			before := len(s.send(get("/metrics")[0]).body)
			for _, q := range requests {
				s.send(q)
			}
			got := s.send(get("/metrics")[0])
			const most = 64 * kilo
			if grown := len(got.body) - before; grown > most {
				return answer{code: 500, body: fmt.Appendf(nil, "the metrics grew by %d bytes", grown)}
			}
			return got
		}
	}
	ok := []int{http.StatusOK}
	return []row{
		{name: "2,000 programs", codes: ok, run: small(variants(2_000, func(i int, q *request) {
			q.header = []string{"User-Agent", fmt.Sprintf("program-%d", i)}
		}))},
		{name: "2,000 paths", codes: ok, run: small(variants(2_000, func(i int,
			q *request) {
			q.path = fmt.Sprintf("/path/%d", i)
		}))},
		{name: "2,000 resources", codes: ok, run: small(variants(2_000, func(i int, q *request) {
			q.path = fmt.Sprintf("/apis/g%d.example.com/v1/things", i)
		}))},
		{name: "2,000 methods", codes: ok, run: small(variants(2_000, func(i int,
			q *request) {
			q.method = fmt.Sprintf("M%d", i)
		}))},
		{name: "2,000 media types", codes: ok, run: small(variants(2_000, func(i int, q *request) {
			q.header = []string{"Accept", fmt.Sprintf("application/x%d", i)}
		}))},
		{name: "50 definitions of 100 fields", codes: []int{201}, send: manyDefinitions(50)},
		{name: "1,000 events", codes: []int{201}, send: manyEvents(1_000)},
		{name: "200 field managers", codes: ok, setup: post(configMaps, configMap("a", "")), send: manyManagers(200)},
		{name: "50 writes of an object of 100 KB", codes: ok, setup: post(configMaps, configMap("a", "")),
			send: manyWrites(50)},
	}
}

func manyDefinitions(n int) (all []request) {
	for i := range n {
		name := fmt.Sprintf("thing%d", i)
		schema := `{"type":"object","properties":{` + numbered(`"f%d":{"type":"string","description":"a field"}`, 100) + `}}`
		text := strings.ReplaceAll(definition(schema), "things", name+"s")
		all = append(all, post(definitions, strings.ReplaceAll(text, "Thing", "Thing"+fmt.Sprint(i)))...)
	}
	return all
}

func manyEvents(n int) (all []request) {
	for i := range n {
		all = append(all, post("/api/v1/namespaces/default/events",
			fmt.Sprintf(`{"metadata":{"name":"e%d"},"involvedObject":{`+
				`"namespace":"default","name":"a","kind":"Pod"},"reason":"A","message":"%s","type":"Normal"}`, i,
				strings.Repeat("x", kilo)))...)
	}
	return all
}

func manyManagers(n int) (all []request) {
	for i := range n {
		all = append(all, patch(fmt.Sprintf("%s/a?fieldManager=m%d", configMaps, i), mergeType,
			fmt.Sprintf(`{"data":{"k%d":"v"}}`, i))...)
	}
	return all
}

func manyWrites(n int) (all []request) {
	for i := range n {
		all = append(all, patch(configMaps+"/a", mergeType, fmt.Sprintf(`{"data":{"k":"%d%s"}}`, i, strings.Repeat("x",
			100*kilo)))...)
	}
	return all
}
