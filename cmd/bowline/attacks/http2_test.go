package attacks

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// frames writes frames of HTTP/2, also invalid ones, and counts those that the server sends.
type frames struct {
	*http2.Framer
	conn *tls.Conn
	out  *bufio.Writer // of the Framer
	next uint32        // ID of the next stream

	headers bytes.Buffer
	encoder *hpack.Encoder

	reader sync.WaitGroup
	lock   sync.Mutex
	status map[string]int // number of answers of each status
	resets map[string]int // number of resets of each reason
	goAway string
	closed bool
}

// openFrames opens a connection. Unless it is deaf, all frames of the server are read.
func (s *server) openFrames(config *tls.Config, deaf bool, settings ...http2.Setting) (*frames, error) {
	conn, err := s.dial(config, "h2")
	if err != nil {
		return nil, err
	}
	f := newFrames(conn)
	f.encoder = hpack.NewEncoder(&f.headers)
	f.out.WriteString(http2.ClientPreface) // Flush returns the error
	if err := f.WriteSettings(settings...); err != nil {
		return nil, err
	}
	if !deaf {
		f.reader.Go(f.read)
	}
	return f, f.out.Flush()
}

func newFrames(conn *tls.Conn) *frames {
	f := &frames{conn: conn, out: bufio.NewWriterSize(conn, 16*kilo), next: 1, status: map[string]int{},
		resets: map[string]int{}}
	f.Framer = http2.NewFramer(f.out, conn)
	f.AllowIllegalWrites = true
	return f
}

// read reads frames until the connection is closed.
func (f *frames) read() {
	decoder := hpack.NewDecoder(4096, nil)
	for {
		frame, err := f.ReadFrame()
		f.lock.Lock()
		switch frame := frame.(type) {
		case *http2.HeadersFrame:
			fields, _ := decoder.DecodeFull(frame.HeaderBlockFragment())
			for _, field := range fields {
				if field.Name == ":status" {
					f.status[field.Value]++
				}
			}
		case *http2.RSTStreamFrame:
			f.resets[frame.ErrCode.String()]++
		case *http2.GoAwayFrame:
			f.goAway = frame.ErrCode.String()
		}
		f.closed = err != nil
		f.lock.Unlock()
		if err != nil {
			return
		}
	}
}

// block returns a block of headers: names and values in turn.
func (f *frames) block(fields ...string) []byte {
	f.headers.Reset()
	for i := 0; i+1 < len(fields); i += 2 {
		f.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // to a buffer
	}
	return f.headers.Bytes()
}

// open sends the headers of a request on a new stream.
func (f *frames) open(end bool, fields ...string) (stream uint32, err error) {
	stream = f.next
	f.next += 2
	return stream, f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndHeaders: true, EndStream: end,
		BlockFragment: f.block(fields...)})
}

// asking returns the headers of a request, and additional ones.
func asking(method, path string, fields ...string) []string {
	return append([]string{":method", method, ":scheme", "https", ":authority", "x", ":path", path}, fields...)
}

// result closes the connection after a time in which the server may answer, and describes what the server did.
func (f *frames) result() answer {
	const patience = 300 * time.Millisecond
	f.out.Flush() // fails if the server has closed the connection
	ended := make(chan struct{})
	go func() { f.reader.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(patience):
	}
	f.lock.Lock()
	closed := f.closed
	f.lock.Unlock()
	f.conn.Close()
	f.reader.Wait()
	text := fmt.Sprintf("answers %v, resets %v, goaway %q, closed %t", f.status, f.resets, f.goAway, closed)
	return answer{code: http.StatusOK, body: []byte(text)}
}

// overFrames returns a function that runs an attack on a connection of the administrator.
func overFrames(attack func(*frames) error, settings ...http2.Setting) func(*server) answer {
	return framesAs(func(s *server) *tls.Config { return s.tls }, false, attack, settings...)
}

// unread is overFrames with a client that never reads.
func unread(attack func(*frames) error) func(*server) answer {
	return framesAs(func(s *server) *tls.Config { return s.tls }, true, attack)
}

func framesAs(client func(*server) *tls.Config, deaf bool, attack func(*frames) error,
	settings ...http2.Setting) func(*server) answer {
	return func(s *server) answer {
		f, err := s.openFrames(client(s), deaf, settings...)
		if err != nil {
			return answer{err: err}
		}
		f.conn.SetWriteDeadline(time.Now().Add(maxAnswerTime))
		attack(f) // an error means that the server closed the connection, or reads no more
		return f.result()
	}
}

// times calls write n times, or until it fails.
func times(n int, write func(f *frames) error) func(*frames) error {
	return func(f *frames) error {
		for range n {
			if err := write(f); err != nil {
				return err
			}
		}
		return nil
	}
}

// http2Floods are many frames that cost a client little. As in http2Errors, the code is always 200, and the text has
// what the server did.
func http2Floods() []row {
	ok := []int{http.StatusOK}
	flood := func(name string, run func(*server) answer, text string) row {
		return row{name: name, run: run, codes: ok, text: text, livez: maxLivez}
	}
	endless := func(fragment []byte, n int) func(*frames) error {
		return func(f *frames) error {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.block(asking("GET", "/version")...)})
			return times(n, func(f *frames) error { return f.WriteContinuation(1, false, fragment) })(f)
		}
	}
	return []row{
		flood("10,000 rapid resets", overFrames(times(10_000, func(f *frames) error {
			stream, err := f.open(true, asking("GET", configMaps)...)
			if err != nil {
				return err
			}
			return f.WriteRSTStream(stream, http2.ErrCodeCancel)
		})), ""),
		flood("10,000 streams that the server has to reset", overFrames(times(10_000, func(f *frames) error {
			stream, err := f.open(true, asking("GET", configMaps)...)
			if err != nil {
				return err
			}
			// A window of 0 more is an error.
			return f.WriteRawFrame(http2.FrameWindowUpdate, 0, stream, make([]byte, 4))
		})), ""),
		flood("10,000 streams above the limit", overFrames(times(10_000, func(f *frames) error {
			_, err := f.open(false, asking("POST", configMaps)...)
			return err
		})), ""),
		flood("CONTINUATION without an end", overFrames(endless(bytes.Repeat([]byte{0x40, 1, 'a', 1, 'b'}, 3_000), 1_000)),
			"closed true"),
		flood("100,000 empty CONTINUATIONs", overFrames(endless(nil, 100_000)), ""),
		flood("200,000 PINGs, unread", unread(times(200_000, func(f *frames) error {
			return f.WritePing(false,
				[8]byte{})
		})), ""),
		flood("100,000 SETTINGS, unread", unread(times(100_000, func(f *frames) error {
			return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
		})), ""),
		flood("100,000 empty DATA", overFrames(func(f *frames) error {
			stream, err := f.open(false, asking("POST", configMaps)...)
			if err != nil {
				return err
			}
			return times(100_000, func(f *frames) error { return f.WriteData(stream, false, nil) })(f)
		}), ""),
		flood("100,000 PRIORITYs", overFrames(times(100_000, func(f *frames) error {
			f.next += 2
			return f.WritePriority(f.next, http2.PriorityParam{StreamDep: f.next + 2, Weight: 255})
		})), ""),
		flood("100,000 unknown frames", overFrames(times(100_000, func(f *frames) error {
			return f.WriteRawFrame(0xfa, 0xff, 1, make([]byte, 100))
		})), ""),
		flood("100,000 WINDOW_UPDATEs", overFrames(times(100_000, func(f *frames) error {
			return f.WriteWindowUpdate(0,
				1)
		})), ""),
		flood("100,000 GOAWAYs", overFrames(times(100_000, func(f *frames) error {
			return f.WriteGoAway(0, http2.ErrCodeNo, nil)
		})), ""),
		flood("10,000 references to a header of 3.9 KB", overFrames(func(f *frames) error {
			f.open(true, asking("GET", "/version", "a", strings.Repeat("x", 3_900))...)
			_, err := f.open(true, asking("GET", "/version", strings.Split(strings.Repeat("a,"+strings.Repeat("x", 3_900)+",",
				10_000), ",")...)...)
			return err
		}), ""),
		flood("1,200 watches on one connection", overFrames(times(1_200, func(f *frames) error {
			_, err := f.open(true, asking("GET", configMaps+"?watch=true")...)
			return err
		})), "REFUSED_STREAM"),
		flood("60 documents into a window of nothing", overFrames(times(60, func(f *frames) error {
			_, err := f.open(true, asking("GET", "/openapi/v2")...)
			return err
		}), http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}), ""),
		flood("a document into a window of a byte at a time", overFrames(func(f *frames) error {
			stream, err := f.open(true, asking("GET", "/openapi/v2")...)
			if err != nil {
				return err
			}
			return times(2_000, func(f *frames) error { return f.WriteWindowUpdate(stream, 1) })(f)
		}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}), ""),
		flood("5,000 changes of the window of 100 streams", overFrames(func(f *frames) error {
			for range 100 {
				if _, err := f.open(true, asking("GET", configMaps+"?watch=true")...); err != nil {
					return err
				}
			}
			n := uint32(0)
			return times(5_000, func(f *frames) error {
				n++
				return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: n % 2 * 1000})
			})(f)
		}), ""),
	}
}

// http2Errors are frames that the specification forbids. The server resets the stream or ends the connection.
func http2Errors() []row {
	ok := []int{http.StatusOK}
	ask := func(fields ...string) func(*server) answer {
		return overFrames(func(f *frames) error { _, err := f.open(true, fields...); return err })
	}
	raw := func(kind http2.FrameType, flags http2.Flags, stream uint32, payload ...byte) func(*server) answer {
		return overFrames(func(f *frames) error { return f.WriteRawFrame(kind, flags, stream, payload) })
	}
	header := func(payload ...byte) func(*server) answer {
		return raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, 1, payload...)
	}
	version := asking("GET", "/version")
	const (
		reset    = "PROTOCOL_ERROR:1"
		protocol = `goaway "PROTOCOL_ERROR"`
		size     = `goaway "FRAME_SIZE_ERROR"`
		flow     = `goaway "FLOW_CONTROL_ERROR"`
		hpacked  = `goaway "COMPRESSION_ERROR"`
	)
	return []row{
		{name: "two paths", run: ask(append(version, ":path", "/metrics")...), codes: ok, text: reset},
		{name: "no path", run: ask(":method", "GET", ":scheme", "https", ":authority", "x"), codes: ok, text: reset},
		{name: "no method", run: ask(":scheme", "https", ":authority", "x", ":path", "/"), codes: ok, text: reset},
		{name: "an unknown pseudo header", run: ask(append(version, ":evil", "1")...), codes: ok, text: reset},
		{name: "the status of an answer", run: ask(append(version, ":status", "200")...), codes: ok, text: reset},
		{name: "a pseudo header last", run: ask(append([]string{"a", "b"}, version...)...), codes: ok, text: reset},
		{name: "a header in upper case", run: ask(append(version, "Impersonate-User", "admin")...), codes: ok, text: reset},
		{name: "CR LF in a value", run: ask(append(version, "a", "b\r\nc: d")...), codes: ok, text: reset},
		{name: "NUL in a value", run: ask(append(version, "a", "b\x00")...), codes: ok, text: reset},
		{name: "a space in a name", run: ask(append(version, "a b", "c")...), codes: ok, text: reset},
		{name: "Connection", run: ask(append(version, "connection", "close")...), codes: ok, text: ""},
		{name: "Transfer-Encoding", run: ask(append(version, "transfer-encoding", "chunked")...), codes: ok, text: ""},
		{name: "a path without a slash", run: ask(asking("GET", "version")...), codes: ok, text: ""},
		{name: "a URL as path", run: ask(asking("GET", "https://evil/api/v1/secrets")...), codes: ok, text: ""},
		{name: "an asterisk as path", run: ask(asking("OPTIONS", "*")...), codes: ok, text: ""},
		{name: "a method with a line break", run: ask(asking("GET / HTTP/1.1\r\n", "/version")...), codes: ok, text: ""},
		{name: "CONNECT", run: ask(":method", "CONNECT", ":authority", "169.254.169.254:80"), codes: ok, text: ""},
		{name: "extended CONNECT", run: ask(append(asking("CONNECT", "/"), ":protocol", "websocket")...), codes: ok,
			text: ""},
		{name: "2 MB of headers", run: ask(append(version, strings.Split(strings.Repeat("a,"+strings.Repeat("x", 1000)+",",
			2_000), ",")...)...),
			codes: ok, text: ""},
		{name: "another length than the body's", codes: ok, text: "PROTOCOL_ERROR", run: overFrames(func(f *frames) error {
			stream, _ := f.open(false, asking("POST", configMaps, "content-length", "5")...)
			return f.WriteData(stream, true, []byte("a longer body"))
		})},
		{name: "a length of 2^63", run: ask(append(version, "content-length", "9223372036854775808")...), codes: ok},
		{name: "Impersonate-User in the trailer", codes: ok, text: "answers map[403:1]",
			run: framesAs(jane, false, func(f *frames) error {
				stream, _ := f.open(false, asking("POST", "/api/v1/secrets", "trailer", "impersonate-user")...)
				f.WriteData(stream, false, []byte("{}"))
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndHeaders: true, EndStream: true,
					BlockFragment: f.block("impersonate-user", "bowline-admin")})
			})},
		{name: "a path in the trailer", codes: ok, text: "PROTOCOL_ERROR", run: overFrames(func(f *frames) error {
			stream, _ := f.open(false, asking("POST", configMaps)...)
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndHeaders: true, EndStream: true,
				BlockFragment: f.block(":path", "/metrics")})
		})},
		{name: "an even stream", run: raw(http2.FrameHeaders, 5, 2, 0x82), codes: ok, text: protocol},
		{name: "a stream twice", codes: ok, run: overFrames(func(f *frames) error {
			f.open(true, version...)
			f.next = 1
			_, err := f.open(true, version...)
			return err
		})},
		{name: "a stream that is too low", codes: ok, text: protocol, run: overFrames(func(f *frames) error {
			f.next = 9
			f.open(true, asking("GET", configMaps+"?watch=true")...)
			f.next = 3
			_, err := f.open(true, version...)
			return err
		})},
		{name: "headers on stream 0", run: raw(http2.FrameHeaders, 5, 0, 0x82), codes: ok, text: protocol},
		{name: "data on stream 0", run: raw(http2.FrameData, 0, 0, 1), codes: ok, text: protocol},
		{name: "data on an idle stream", run: raw(http2.FrameData, 0, 5, 1), codes: ok, text: protocol},
		{name: "a reset of an idle stream", run: raw(http2.FrameRSTStream, 0, 5, 0, 0, 0, 8), codes: ok, text: protocol},
		{name: "a window of an idle stream", run: raw(http2.FrameWindowUpdate, 0, 5, 0, 0, 0, 8), codes: ok, text: protocol},
		{name: "CONTINUATION without headers", run: raw(http2.FrameContinuation, 4, 1, 0x82), codes: ok, text: protocol},
		{name: "PING between headers and CONTINUATION", codes: ok, text: protocol, run: overFrames(func(f *frames) error {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.block(version...)})
			return f.WritePing(false, [8]byte{})
		})},
		{name: "a promise of a client", run: raw(http2.FramePushPromise, 4, 1, 0, 0, 0, 2, 0x82), codes: ok, text: protocol},
		{name: "a stream that depends on itself", run: raw(http2.FramePriority, 0, 1, 0, 0, 0, 1, 1), codes: ok, text: reset},
		{name: "a priority of 4 bytes", run: raw(http2.FramePriority, 0, 1, 0, 0, 0, 1), codes: ok},
		{name: "padding longer than the frame", run: raw(http2.FrameData, 8, 1, 255, 1), codes: ok, text: protocol},
		{name: "a PING of 7 bytes", run: raw(http2.FramePing, 0, 0, 1, 2, 3, 4, 5, 6, 7), codes: ok, text: size},
		{name: "a PING on a stream", run: raw(http2.FramePing, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8), codes: ok, text: protocol},
		{name: "SETTINGS of 5 bytes", run: raw(http2.FrameSettings, 0, 0, 0, 1, 0, 0, 0), codes: ok, text: size},
		{name: "SETTINGS: a window of 2^31", run: raw(http2.FrameSettings, 0, 0, 0, 4, 0x80, 0, 0, 0), codes: ok, text: flow},
		{name: "SETTINGS: a frame of nothing", run: raw(http2.FrameSettings, 0, 0, 0, 5, 0, 0, 0, 0), codes: ok,
			text: protocol},
		{name: "SETTINGS: push 2", run: raw(http2.FrameSettings, 0, 0, 0, 2, 0, 0, 0, 2), codes: ok, text: protocol},
		{name: "SETTINGS: a table of 4 GB", codes: ok, text: "answers map[200:1]", run: overFrames(func(f *frames) error {
			_, err := f.open(true, version...)
			return err
		}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 1<<32 - 1})},
		{name: "an acknowledgement of nothing", run: raw(http2.FrameSettings, 1, 0), codes: ok},
		{name: "a window of 2^31 and more", codes: ok, text: flow, run: overFrames(times(2, func(f *frames) error {
			return f.WriteWindowUpdate(0, 1<<31-1)
		}))},
		{name: "a window of 0 more", run: raw(http2.FrameWindowUpdate, 0, 0, 0, 0, 0, 0), codes: ok, text: protocol},
		{name: "a frame of 16 MB", codes: ok, text: size, run: overFrames(func(f *frames) error {
			_, err := f.out.Write([]byte{0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1})
			return err
		})},
		{name: "HPACK: an index beyond the table", run: header(0xff, 0xff, 0x7f), codes: ok, text: hpacked},
		{name: "HPACK: index 0", run: header(0x80), codes: ok, text: hpacked},
		{name: "HPACK: a number without an end", run: header(bytes.Repeat([]byte{0xff}, 1_000)...), codes: ok, text: hpacked},
		{name: "HPACK: a text longer than the block", run: header(0x40, 0x7f, 0xff, 0xff, 0x7f), codes: ok, text: hpacked},
		{name: "HPACK: a table of 4 GB", run: header(0x3f, 0xff, 0xff, 0xff, 0xff, 0x0f), codes: ok, text: hpacked},
		{name: "HPACK: a wrong Huffman code", run: header(0x40, 0x84, 0xff, 0xff, 0xff, 0xff, 0), codes: ok, text: hpacked},
		{name: "HPACK: 5,000 changes of the table", run: header(bytes.Repeat([]byte{0x20}, 5_000)...), codes: ok},
		{name: "HTTP/1.1", codes: ok, text: "closed true", run: func(s *server) answer {
			conn, err := s.dial(s.tls, "h2")
			if err != nil {
				return answer{err: err}
			}
			f := newFrames(conn)
			f.out.WriteString("GET /version HTTP/1.1\r\nHost: x\r\n\r\n") // result flushes
			f.reader.Go(f.read)
			return f.result()
		}},
	}
}
