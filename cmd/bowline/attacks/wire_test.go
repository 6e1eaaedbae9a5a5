package attacks

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// dial opens a TLS connection with a protocol.
func (s *server) dial(config *tls.Config, protocol string) (*tls.Conn, error) {
	config = config.Clone()
	config.NextProtos = []string{protocol}
	ctx, cancel := context.WithTimeout(s.t.Context(), maxAnswerTime)
	defer cancel()
	d := tls.Dialer{Config: config}
	conn, err := d.DialContext(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	return conn.(*tls.Conn), nil
}

// speak returns a function that sends a text over HTTP/1.1 as the administrator, and reads all answers until the server
// closes the connection or is silent. The answer has the code of the first; its text has all codes.
func speak(text string) func(*server) answer {
	return speakAs(func(s *server) *tls.Config { return s.tls }, text)
}

func speakAs(client func(*server) *tls.Config, text string) func(*server) answer {
	const silent = 2 * time.Second
	return func(s *server) answer {
		started := time.Now()
		conn, err := s.dial(client(s), "http/1.1")
		if err != nil {
			return answer{err: err}
		}
		defer conn.Close()
		go conn.Write([]byte(text)) // fails if the server closes the connection before it has all
		conn.SetReadDeadline(time.Now().Add(maxAnswerTime))
		got := answer{}
		var codes []string
		in := bufio.NewReader(conn)
		for {
			response, err := http.ReadResponse(in, nil)
			if err != nil {
				break
			}
			if codes = append(codes, fmt.Sprint(response.StatusCode)); got.code == 0 {
				got.code, got.header = response.StatusCode, response.Header
			}
			var body strings.Builder
			if _, err := bufio.NewReader(response.Body).WriteTo(&body); err != nil {
				break
			}
			got.body = append(got.body, body.String()...)
			conn.SetReadDeadline(time.Now().Add(silent))
		}
		got.took = time.Since(started)
		got.body = fmt.Appendf(nil, "%d answers: %s\n%s", len(codes), strings.Join(codes, " "), got.body)
		return got
	}
}

// smuggling are requests over HTTP/1.1 whose end two parsers could see in different places. What matters is how many
// answers come: what follows must not be read as a request.
func smuggling() []row {
	const (
		head   = "POST " + configMaps + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		after  = "GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
		object = `{"metadata":{"generateName":"a"}}`
	)
	sized := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(object), object)
	rows := []row{
		{name: "a length and chunks",
			run:   speak(head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + sized + after),
			codes: []int{201, 400}},
		{name: "two lengths", run: speak(head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello" + after)},
		{name: "two equal lengths", run: speak(head + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" + after),
			codes: []int{400, 422}},
		{name: "a list of lengths", run: speak(head + "Content-Length: 2, 2\r\n\r\n{}" + after)},
		{name: "xchunked", run: speak(head + "Transfer-Encoding: xchunked\r\n\r\n" + sized + after), codes: []int{501}},
		{name: "chunked twice", run: speak(head + "Transfer-Encoding: chunked, chunked\r\n\r\n" + sized + after),
			codes: []int{400, 501}},
		{name: "chunked after identity", run: speak(head + "Transfer-Encoding: identity, chunked\r\n\r\n" + sized + after),
			codes: []int{400, 501}},
		{name: "chunked in two headers",
			run: speak(head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + sized +
				after), codes: []int{400, 501}},
		{name: "a folded header", run: speak(head + "Transfer-Encoding:\r\n chunked\r\n\r\n" + sized + after),
			codes: []int{201, 400}},
		{name: "a space before the colon", run: speak(head + "Transfer-Encoding : chunked\r\n\r\n" + sized + after)},
		{name: "a tab before the name", run: speak(head + "\tTransfer-Encoding: chunked\r\n\r\n" + sized + after),
			codes: []int{400, 415}, text: " 400"}, // it is a part of the Content-Type, and the body is no request,
		{name: "a length with a sign", run: speak(head + "Content-Length: +5\r\n\r\nhello" + after)},
		{name: "a length in hexadecimal", run: speak(head + "Content-Length: 0x5\r\n\r\nhello" + after)},
		{name: "a negative length", run: speak(head + "Content-Length: -1\r\n\r\nhello" + after)},
		{name: "a length of 20 digits", run: speak(head + "Content-Length: 99999999999999999999\r\n\r\nhello" + after)},
		{name: "a length of 2^62", run: speak(head + "Content-Length: 4611686018427387904\r\n\r\nhello" + after),
			codes: []int{400, 413}},
		{name: "line feeds in chunks", run: speak(head + "Transfer-Encoding: chunked\r\n\r\n2;a=b\n{}\n0\n\n" + after),
			codes: []int{400, 422}},
		{name: "a chunk of 2^64", run: speak(head + "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n{}" + after)},
		{name: "a chunk of 16^20",
			run: speak(head + "Transfer-Encoding: chunked\r\n\r\n100000000000000000000\r\n{}" + after)},
		{name: "a chunk of a negative size", run: speak(head + "Transfer-Encoding: chunked\r\n\r\n-2\r\n{}" + after)},
		{name: "a chunk longer than its size",
			run: speak(head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n" + after)},
		{name: "chunks of a byte with extensions of a kilobyte", run: speak(head + "Transfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat("1;"+strings.Repeat("x", kilo)+"\r\na\r\n", 1000) + "0\r\n\r\n" + after)},
		{name: "300,000 chunks of a byte", run: speak(head + "Transfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat("1\r\n \r\n", 300_000) + "0\r\n\r\n" + after), codes: []int{400, 413, 422}},
		{name: "trailers", run: speak(head + "Transfer-Encoding: chunked\r\nTrailer: Impersonate-User\r\n\r\n" +
			strings.TrimSuffix(sized, "\r\n") + "Impersonate-User: a\r\nContent-Length: 3\r\n\r\n" + after),
			codes: []int{201}, text: "2 answers: 201 200"},
		{name: "trailers of 2 MB", run: speak(head + "Transfer-Encoding: chunked\r\n\r\n" + strings.TrimSuffix(sized,
			"\r\n") +
			strings.Repeat("A: "+strings.Repeat("x", kilo)+"\r\n", 2*kilo) + "\r\n" + after), codes: []int{201, 400}},
		{name: "a GET with a body",
			run:   speak("GET " + configMaps + " HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" + after),
			codes: []int{200}, text: "2 answers: 200 200"},
		{name: "a GET in the body of a GET", run: speak("GET " + configMaps + " HTTP/1.1\r\nHost: x\r\nContent-Length: " +
			fmt.Sprint(len(after)) + "\r\n\r\n" + after + after), codes: []int{200}, text: "2 answers: 200 200"},
		{name: "a URL of another host",
			run:   speak("GET http://evil/api/v1/secrets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
			codes: []int{200}, text: "1 answers"},
		{name: "a carriage return in a header", run: speak("GET /version HTTP/1.1\r\nHost: x\r\nA: b\rc: d\r\n\r\n" + after)},
		{name: "NUL in a header", run: speak("GET /version HTTP/1.1\r\nHost: x\r\nA: b\x00c\r\n\r\n" + after)},
		{name: "NUL in the name of a header", run: speak("GET /version HTTP/1.1\r\nHost: x\r\nA\x00: b\r\n\r\n" + after)},
		{name: "no Host", run: speak("GET /version HTTP/1.1\r\n\r\n" + after)},
		{name: "two Hosts", run: speak("GET /version HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + after)},
		{name: "a Host with a slash", run: speak("GET /version HTTP/1.1\r\nHost: x/../y\r\n\r\n" + after)},
		{name: "HTTP 0.9", run: speak("GET /version\r\n\r\n" + after)},
		{name: "HTTP 1.0", run: speak("GET /version HTTP/1.0\r\n\r\n" + after), codes: []int{200}, text: "1 answers"},
		{name: "HTTP 2.0 in HTTP 1", run: speak("GET /version HTTP/2.0\r\nHost: x\r\n\r\n" + after), codes: []int{400, 505}},
		{name: "a line of 2 MB", run: speak("GET /" + strings.Repeat("a", 2*mega) + " HTTP/1.1\r\nHost: x\r\n\r\n" + after),
			codes: []int{0, 431}}, // the reset may overtake the answer
		{name: "headers of 2 MB", run: speak("GET /version HTTP/1.1\r\nHost: x\r\n" +
			strings.Repeat("A: "+strings.Repeat("x", kilo)+"\r\n", 2*kilo) + "\r\n" + after), codes: []int{0, 431}},
		{name: "200,000 headers", run: speak("GET /version HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("a:b\r\n",
			200_000) + "\r\n" +
			after), codes: []int{0, 200, 431}},
		{name: "a method with a space", run: speak("GE T /version HTTP/1.1\r\nHost: x\r\n\r\n" + after)},
		{name: "a method of 100 KB", run: speak(strings.Repeat("G",
			100_000) + " /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
			codes: []int{200, 400, 404, 405}},
		{name: "CONNECT", run: speak("CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 169.254.169.254:80\r\n\r\n" + after),
			codes: []int{200, 405}, text: "2 answers"}, // its path is empty, as that of the index; no tunnel is opened
		{name: "Expect: 100-continue without a body",
			run:   speak(head + "Expect: 100-continue\r\nContent-Length: 5000000\r\n\r\n"),
			codes: []int{413}, text: "1 answers"},
		{name: "Expect: a text", run: speak(head + "Expect: evil\r\nContent-Length: 2\r\n\r\n{}" + after), codes: []int{417}},
		{name: "Upgrade: h2c", run: speakAs(jane,
			"GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\n"+
				"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n"), codes: []int{403}},
		{name: "Upgrade: websocket", run: speakAs(jane,
			"GET /api/v1/secrets?watch=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"+
				"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"),
			codes: []int{403}},
		{name: "1,000 requests at once", run: speak(strings.Repeat("GET /version HTTP/1.1\r\nHost: x\r\n\r\n", 1000) + after),
			codes: []int{200}, text: "1001 answers"},
	}
	for _, host := range []string{"evil.example", "169.254.169.254", "localhost:1", strings.Repeat("a", 60_000)} {
		rows = append(rows, row{name: "Host: " + host[:min(len(host), 20)], codes: []int{200}, text: "1 answers",
			run: speak("GET /version HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")})
	}
	return rows
}

// transportSecurity are handshakes. A refused one has no answer; its text has the alert.
func transportSecurity() []row {
	with := func(change func(*tls.Config)) func(*server) answer {
		return func(s *server) answer {
			config := s.tls.Clone()
			change(config)
			conn, err := tls.Dial("tcp", s.address, config)
			if err != nil {
				return answer{err: err}
			}
			defer conn.Close()
			state := conn.ConnectionState()
			return answer{code: 200, body: fmt.Appendf(nil, "%s %s %s", tls.VersionName(state.Version),
				tls.CipherSuiteName(state.CipherSuite), state.NegotiatedProtocol)}
		}
	}
	suite := func(id uint16) func(*server) answer {
		return with(func(c *tls.Config) { c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{id} })
	}
	version := func(v uint16) func(*server) answer {
		return with(func(c *tls.Config) { c.MinVersion, c.MaxVersion = v, v })
	}
	protocol := func(names ...string) func(*server) answer {
		return with(func(c *tls.Config) { c.NextProtos = names })
	}
	none := []int{0}
	rows := []row{
		{name: "TLS 1.0", run: version(tls.VersionTLS10), codes: none, text: "protocol version"},
		{name: "TLS 1.1", run: version(tls.VersionTLS11), codes: none, text: "protocol version"},
		{name: "TLS 1.2", run: version(tls.VersionTLS12), codes: []int{200}, text: "TLS 1.2 TLS_ECDHE_ECDSA"},
		{name: "TLS 1.3", run: version(tls.VersionTLS13), codes: []int{200}, text: "TLS 1.3"},
		{name: "ALPN: spdy", run: protocol("spdy/3"), codes: none, text: "no application protocol"},
		{name: "ALPN: acme", run: protocol("acme-tls/1"), codes: none, text: "no application protocol"},
		{name: "ALPN: h2c", run: protocol("h2c"), codes: none, text: "no application protocol"},
		{name: "ALPN: H2", run: protocol("H2"), codes: none, text: "no application protocol"},
		{name: "ALPN: none", run: protocol(), codes: []int{200}},
		{name: "ALPN: 5,000 protocols", run: protocol(strings.Split(numbered("p%d", 5_000), ",")...), codes: none},
		{name: "another name of the server", codes: none, text: "evil.example",
			run: with(func(c *tls.Config) { c.ServerName = "evil.example" })},
		{name: "a curve of 521 bits", codes: []int{0, 200}, run: with(func(c *tls.Config) {
			c.CurvePreferences = []tls.CurveID{tls.CurveP521}
		})},
		{name: "plain HTTP", run: plain("GET /version HTTP/1.1\r\nHost: x\r\n\r\n"), codes: []int{200},
			text: "HTTP request to an HTTPS server"},
		{name: "plain HTTP/2", run: plain("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), codes: []int{0, 200}},
		{name: "SSH", run: plain("SSH-2.0-OpenSSH_9.9\r\n"), codes: none},
		{name: "a record of 64 KB", run: plain("\x16\x03\x01\xff\xff" + strings.Repeat("a", 70_000)), codes: []int{0, 200}},
		{name: "a hello of 16 MB", run: plain("\x16\x03\x01\x40\x00\x01\xff\xff\xff" + strings.Repeat("a", 0x4000-4)),
			codes: []int{0, 200}},
		{name: "a hello of no length", run: plain("\x16\x03\x01\x00\x00"), codes: []int{0, 200}},
		{name: "10,000 empty records", run: plain(strings.Repeat("\x16\x03\x01\x00\x00", 10_000)), codes: []int{0, 200}},
		{name: "SSL 2", run: plain("\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + strings.Repeat("a", 37)),
			codes: []int{0, 200}},
		{name: "an alert", run: plain("\x15\x03\x01\x00\x02\x02\x28"), codes: none},
		{name: "application data first", run: plain("\x17\x03\x03\x00\x05hello"), codes: []int{0, 200}},
		{name: "a heartbeat (CVE-2014-0160)", run: plain("\x18\x03\x02\x00\x03\x01\x40\x00"), codes: []int{0, 200}},
	}
	for _, s := range tls.InsecureCipherSuites() {
		rows = append(rows, row{name: s.Name, run: suite(s.ID), codes: none, text: "handshake failure"})
	}
	for _, s := range tls.CipherSuites() {
		if strings.HasSuffix(s.Name, "_SHA") {
			rows = append(rows, row{name: s.Name, run: suite(s.ID), codes: none, text: "handshake failure"})
		}
	}
	return rows
}

// plain returns a function that sends a text without TLS. The code is 200 if the server says anything.
func plain(text string) func(*server) answer {
	return func(s *server) answer {
		started := time.Now()
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			return answer{err: err}
		}
		defer conn.Close()
		conn.Write([]byte(text)) // may fail: the server may close the connection at any byte
		conn.(*net.TCPConn).CloseWrite()
		conn.SetReadDeadline(time.Now().Add(maxAnswerTime))
		got := answer{body: make([]byte, kilo)}
		n, err := conn.Read(got.body)
		if got.body, got.took = got.body[:n], time.Since(started); n > 0 {
			got.code = 200
		} else {
			got.err = err
		}
		return got
	}
}
