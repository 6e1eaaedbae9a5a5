package attacks

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"
)

// anyPath are paths of all parts of the server.
var anyPath = []string{"/livez", "/version", "/metrics", "/api", "/apis/apps/v1", "/openapi/v2", "/openapi/v3",
	"/bowline/why",
	"/bowline/backup", "/debug/pprof/heap", configMaps, configMaps + "/a", configMaps + "?watch=true",
	pods + "/a/status", "/nothing"}

// slowClients send or read slowly, or stop. They stay connected until the server has stopped.
func slowClients() []row {
	ok := []int{http.StatusOK}
	return []row{
		{name: "connections that stop before a request", codes: ok, within: 15 * time.Second, livez: maxLivez,
			run: stopEarly},
		{name: "a body of a byte a second on each path", codes: ok, within: 70 * time.Second, run: slowBodies},
		{name: "answers that are not read on each path", codes: ok, livez: maxLivez, run: unreadAnswers},
		{name: "400 bodies that do not come", codes: ok, livez: maxLivez, run: missingBodies},
		{name: "500 handshakes that do not go on", codes: ok, livez: maxLivez, run: func(s *server) answer {
			return s.connectAll(500, func() (net.Conn, error) { return s.halfHello() })
		}},
	}
}

// kept closes a connection when the row has ended.
func (s *server) kept(conn net.Conn) net.Conn {
	s.t.Cleanup(func() { conn.Close() })
	return conn
}

// halfHello starts a handshake.
func (s *server) halfHello() (net.Conn, error) {
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		return nil, err
	}
	_, err = s.kept(conn).Write([]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"))
	return conn, err
}

// stopEarly opens connections that send nothing, a part of a handshake, or headers a byte at a time, and waits until
// the server has closed them all.
func stopEarly(s *server) answer {
	started := time.Now()
	var conns []net.Conn
	if conn, err := net.Dial("tcp", s.address); err == nil {
		conns = append(conns, s.kept(conn))
	}
	if conn, err := s.halfHello(); err == nil {
		conns = append(conns, conn)
	}
	for _, path := range anyPath {
		conn, err := s.dial(s.tls, "http/1.1")
		if err != nil {
			return answer{err: err}
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nA: ", path)
		go drip(conn)
		conns = append(conns, s.kept(conn))
	}
	for i, conn := range conns {
		conn.SetReadDeadline(started.Add(3 * maxAnswerTime))
		_, err := conn.Read(make([]byte, 1))
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			return answer{err: fmt.Errorf("connection %d of %d is still open: %w", i, len(conns), err),
				took: time.Since(started)}
		}
	}
	return answer{code: http.StatusOK, body: fmt.Appendf(nil, "%d closed", len(conns)), took: time.Since(started)}
}

// drip sends a byte a second until the connection is closed.
func drip(conn net.Conn) {
	for range time.Tick(time.Second) {
		if _, err := conn.Write([]byte("x")); err != nil {
			return
		}
	}
}

// slowBodies sends a request to each path whose body comes a byte a second, and waits for the answers.
func slowBodies(s *server) answer {
	started := time.Now()
	var lock sync.Mutex
	var text []string
	var all sync.WaitGroup
	answers := map[int]int{} // number of answers with a code
	code := http.StatusOK
	for _, path := range anyPath {
		for _, method := range []string{"POST", "PATCH"} {
			all.Go(func() {
				got, err := s.slowBody(method, path, started)
				lock.Lock()
				defer lock.Unlock()
				// A client that still sends when the server closes the connection may lose the answer (RFC 9112, 9.6).
				if err != nil && !errors.Is(err, syscall.ECONNRESET) {
					code = 0
					text = append(text, fmt.Sprintf("%s %s: %v", method, path, err))
				}
				answers[got]++
			})
		}
	}
	all.Wait()
	return answer{code: code, body: fmt.Appendf(nil, "%v %s", answers, strings.Join(text, "; ")), took: time.Since(started)}
}

func (s *server) slowBody(method, path string, started time.Time) (int, error) {
	conn, err := s.dial(s.tls, "http/1.1")
	if err != nil {
		return 0, err
	}
	s.kept(conn)
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n",
		method, path)
	go drip(conn)
	conn.SetReadDeadline(started.Add(69 * time.Second)) // a minute, and the time to read the rest
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, nil
}

// unreadAnswers asks for all paths on many connections, and reads nothing.
func unreadAnswers(s *server) answer {
	n := 0
	for range 8 {
		for _, path := range anyPath {
			conn, err := s.dial(s.tls, "http/1.1")
			if err != nil {
				return answer{err: err}
			}
			conn.NetConn().(*net.TCPConn).SetReadBuffer(4 * kilo) // a hint
			fmt.Fprintf(s.kept(conn), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
			n++
		}
	}
	return answer{code: http.StatusOK, body: fmt.Appendf(nil, "%d connections", n)}
}

// missingBodies announces 400 bodies, and checks that a light request of another program is served meanwhile.
func missingBodies(s *server) answer {
	got := s.connectAll(400, func() (net.Conn, error) {
		conn, err := s.dial(s.tls, "http/1.1")
		if err != nil {
			return nil, err
		}
		_, err = fmt.Fprintf(s.kept(conn), "POST %s HTTP/1.1\r\nHost: x\r\nUser-Agent: slow\r\n"+
			"Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{", configMaps)
		return conn, err
	})
	if got.err != nil {
		return got
	}
	return s.send(post(configMaps+"?dryRun=All", configMap("b", ""))[0]).as(http.StatusCreated)
}

// as returns the answer with code 200 if it has the expected code.
func (a answer) as(want int) answer {
	if a.code == want {
		a.code = http.StatusOK
	}
	return a
}

// connectAll opens n connections, 16 at a time.
func (s *server) connectAll(n int, connect func() (net.Conn, error)) answer {
	started := time.Now()
	var all sync.WaitGroup
	todo := make(chan struct{})
	errs := make(chan error, n)
	for range 16 {
		all.Go(func() {
			for range todo {
				if _, err := connect(); err != nil {
					errs <- err
				}
			}
		})
	}
	for range n {
		todo <- struct{}{}
	}
	close(todo)
	all.Wait()
	close(errs)
	if failed := len(errs); failed > 0 {
		return answer{err: fmt.Errorf("%d of %d connections failed: %w", failed, n, <-errs), took: time.Since(started)}
	}
	return answer{code: http.StatusOK, took: time.Since(started), body: fmt.Appendf(nil, "%d connections", n)}
}

// connections are many connections, most of them without a certificate. A handshake costs the server about half a
// millisecond, so a row of many has a limit of a millisecond for each.
func connections() []row {
	ok := []int{http.StatusOK}
	const (
		minute = time.Minute
		memory = 320 // MiB: 32 KiB for each of 10,000
	)
	curve := func(s *server) *tls.Config {
		config := s.stranger()
		config.CurvePreferences = []tls.CurveID{tls.X25519} // cheaper for this process
		return config
	}
	return []row{
		{name: "8,000 connections without a handshake", codes: ok, livez: maxLivez, within: minute,
			run: func(s *server) answer {
				return s.connectAll(8_000, func() (net.Conn, error) {
					conn, err := net.Dial("tcp", s.address)
					if err != nil {
						return nil, err
					}
					return s.kept(conn), nil
				})
			}},
		{name: "10,000 idle connections", codes: ok, livez: maxLivez, within: minute, cpu: 10 * time.Second, memory: memory,
			run: func(s *server) answer {
				config := curve(s)
				return s.connectAll(10_000, func() (net.Conn, error) {
					f, err := s.openFrames(config, true)
					if err != nil {
						return nil, err
					}
					return s.kept(f.conn), nil
				})
			}},
		{name: "2,000 idle connections over HTTP 1", codes: ok, livez: maxLivez, within: minute, cpu: 2 * time.Second,
			run: func(s *server) answer {
				config := curve(s)
				return s.connectAll(2_000, func() (net.Conn, error) {
					conn, err := s.dial(config, "http/1.1")
					if err != nil {
						return nil, err
					}
					_, err = s.kept(conn).Write([]byte("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"))
					return conn, err
				})
			}},
		{name: "1,000 connections reset in the handshake", codes: ok, livez: maxLivez, run: func(s *server) answer {
			return s.connectAll(1_000, func() (net.Conn, error) {
				conn, err := s.halfHello()
				if err == nil {
					conn.(*net.TCPConn).SetLinger(0)
					conn.Close()
				}
				return conn, err
			})
		}},
		{name: "3,000 requests of a stranger", codes: []int{401}, livez: maxLivez,
			run: as(nobody, repeat(allSecrets, 3_000)...)},
	}
}
