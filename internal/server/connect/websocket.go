package connect

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	constants "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

const (
	// remoteCommandV5 is the protocol of exec and attach whose clients can close their stdin.
	remoteCommandV5 = constants.StreamProtocolV5Name
	// closeChannel is the channel of v5 whose messages name a channel to close.
	closeChannel = 255
	// tunnelPrefix marks the protocols of WebSockets that carry the bytes of a SPDY connection.
	tunnelPrefix = "SPDY/3.1+"
	// maxMessage is the maximum length of a message of a client, in bytes. kubectl sends 32 KiB.
	maxMessage = 4 << 20
	// maxStatus is the maximum length of the result of a command, in bytes.
	maxStatus = 1 << 20
	// pingPeriod is how often a SPDY connection is tested, and clientPingPeriod how often that to a client.
	pingPeriod, clientPingPeriod = 5 * time.Second, 30 * time.Second
	// lastWrite is how long a client may take to receive the result of its command.
	lastWrite = 10 * time.Second
	// lastFrames is how long a kubelet may take to receive the end of a connection.
	lastFrames = time.Second
)

// protocolsOf returns the protocols that a client offers for a WebSocket; nil if it asks for none.
func protocolsOf(r *http.Request) (protocols []string) {
	if !strings.EqualFold(r.Header.Get(httpstream.HeaderUpgrade), "websocket") {
		return nil
	}
	for _, line := range r.Header["Sec-Websocket-Protocol"] {
		for name := range strings.SplitSeq(line, ",") {
			protocols = append(protocols, strings.TrimSpace(name))
		}
	}
	return protocols
}

// isWebSocket reports whether a client offers a protocol for a WebSocket.
func isWebSocket(r *http.Request, protocol string) bool {
	return slices.Contains(protocolsOf(r), protocol)
}

// tunneled returns the protocols of SPDY that a client offers to speak through a WebSocket.
func tunneled(r *http.Request) (protocols []string) {
	for _, name := range protocolsOf(r) {
		if inner, ok := strings.CutPrefix(name, tunnelPrefix); ok && strings.HasSuffix(inner, ".k8s.io") {
			protocols = append(protocols, inner)
		}
	}
	return protocols
}

// serveWebSocket answers with a WebSocket of the protocol, and returns when serve does.
func serveWebSocket(w http.ResponseWriter, r *http.Request, protocol string, serve func(socket)) {
	websocket.Server{
		Handshake: func(config *websocket.Config, _ *http.Request) error {
			config.Protocol = []string{protocol}
			return nil
		},
		Handler: func(ws *websocket.Conn) {
			ws.PayloadType, ws.MaxPayloadBytes = websocket.BinaryFrame, maxMessage
			serve(socket{ws})
		},
	}.ServeHTTP(w, r)
}

// socket is a WebSocket that can be closed while a client does not read.
type socket struct{ *websocket.Conn }

// Close sends the end of the stream, and closes the connection. Without a deadline it would wait for a Write, which
// waits for the client.
func (s socket) Close() error {
	s.SetDeadline(time.Now().Add(lastFrames))
	return s.Conn.Close()
}

// tunnel forwards the bytes of a SPDY connection that arrive in a WebSocket.
func (c *Connector) tunnel(w http.ResponseWriter, r *http.Request, to *target) error {
	back, protocol, err := c.dialSPDY(w, r, to, tunneled(r)...)
	if err != nil || back == nil {
		return err
	}
	defer back.Close()
	if !slices.Contains(tunneled(r), protocol) {
		return errNoProtocol
	}
	serveWebSocket(w, r, tunnelPrefix+protocol, func(ws socket) { copyBoth(r.Context(), ws, back) })
	return nil
}

// translate serves an exec or attach over a WebSocket of version 5 for a kubelet that only speaks SPDY.
func (c *Connector) translate(w http.ResponseWriter, r *http.Request, to *target) error {
	back, protocol, err := c.dialSPDY(w, r, to, constants.StreamProtocolV4Name)
	if err != nil || back == nil {
		return err
	}
	if protocol != constants.StreamProtocolV4Name {
		back.Close()
		return errNoProtocol
	}
	conn, err := spdy.NewClientConnectionWithPings(back, pingPeriod)
	if err != nil {
		return err
	}
	t := &translation{conn: conn, back: back}
	defer t.close()
	defer context.AfterFunc(r.Context(), t.close)()
	if err := t.open(to.streams); err != nil {
		return err
	}
	serveWebSocket(w, r, remoteCommandV5, func(ws socket) { t.run(r.Context(), ws) })
	return nil
}

// translation copies between the channels of a WebSocket and the streams of a SPDY connection.
type translation struct {
	conn httpstream.Connection
	back net.Conn // below conn
	// streams have the channels as index: stdin, stdout, stderr, the result, the size of the terminal. Those that the
	// client did not ask for are nil.
	streams [constants.StreamResize + 1]httpstream.Stream

	ws      socket
	pinging sync.Mutex
}

// open opens the streams. The order is that of kubectl: kubelets expect the error stream first.
func (t *translation) open(asked *streams) error {
	for _, s := range []struct {
		channel int
		name    string
		wanted  bool
	}{
		{constants.StreamErr, corev1.StreamTypeError, true},
		{constants.StreamStdIn, corev1.StreamTypeStdin, asked.stdin},
		{constants.StreamStdOut, corev1.StreamTypeStdout, asked.stdout},
		{constants.StreamStdErr, corev1.StreamTypeStderr, asked.stderr && !asked.tty},
		{constants.StreamResize, corev1.StreamTypeResize, asked.tty},
	} {
		if !s.wanted {
			continue
		}
		var err error
		t.streams[s.channel], err = t.conn.CreateStream(http.Header{corev1.StreamType: {s.name}})
		if err != nil {
			return err
		}
	}
	return nil
}

// close closes the SPDY connection. It does not wait for a kubelet that does not read.
func (t *translation) close() {
	t.back.SetDeadline(time.Now().Add(lastFrames))
	t.conn.Close()
	t.back.Close()
}

// run copies until the command has ended and its result was sent, or until either end closes its connection or ctx
// ends.
func (t *translation) run(ctx context.Context, ws socket) {
	t.ws = ws
	defer context.AfterFunc(ctx, func() { ws.Close() })()
	var copies sync.WaitGroup
	defer copies.Wait()
	defer t.close() // ends the copies
	defer ws.Close()
	first := constants.StreamErr
	for _, channel := range []int{constants.StreamStdErr, constants.StreamStdOut} {
		if t.streams[channel] != nil {
			first = channel
		}
	}
	if t.send(first, nil) != nil { // tells the client that the streams are open
		return
	}
	var output sync.WaitGroup
	for _, channel := range []int{constants.StreamStdOut, constants.StreamStdErr} {
		if stream := t.streams[channel]; stream != nil {
			output.Go(func() { t.copyOut(channel, stream) })
		}
	}
	ended := make(chan struct{})
	copies.Go(func() {
		defer close(ended)
		result, err := io.ReadAll(io.LimitReader(t.streams[constants.StreamErr], maxStatus))
		output.Wait()
		t.finish(result, err)
	})
	left := make(chan struct{})
	copies.Go(func() {
		defer close(left)
		t.receive()
	})
	ping := time.NewTicker(clientPingPeriod)
	defer ping.Stop()
	for {
		select {
		case <-ended:
			return
		case <-left: // the client is gone: nobody waits for the result
			return
		case <-t.conn.CloseChan():
			if ctx.Err() == nil { // otherwise ws is being closed, with an earlier deadline
				ws.SetWriteDeadline(time.Now().Add(lastWrite))
			}
			<-ended // the streams end now; what they have received is still sent
			return
		case <-ping.C:
			copies.Go(t.ping)
		}
	}
}

// pings sends pings. It waits for other messages, as Message.Send does.
var pings = websocket.Codec{Marshal: func(any) ([]byte, byte, error) { return nil, websocket.PingFrame, nil }}

// ping sends the client a ping. If the client is gone, it closes the connections: receive does not notice while a
// command does not read its input. If a client does not read, one ping waits and later pings are skipped.
func (t *translation) ping() {
	if !t.pinging.TryLock() {
		return
	}
	defer t.pinging.Unlock()
	if err := pings.Send(t.ws.Conn, nil); err != nil {
		t.ws.Close()
		t.close()
	}
}

// send sends a message of a channel.
func (t *translation) send(channel int, data []byte) error {
	message := make([]byte, 0, len(data)+1)
	message = append(append(message, byte(channel)), data...)
	return websocket.Message.Send(t.ws.Conn, message)
}

// copyOut sends the output of a command. Once the client is gone, it closes the connection.
func (t *translation) copyOut(channel int, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && t.send(channel, buffer[:n]) != nil {
			t.close()
			return
		}
		if err != nil {
			return
		}
	}
}

// receive writes the messages of the client to the streams, until the client closes the connection or breaks the
// protocol.
func (t *translation) receive() {
	for {
		var message []byte
		if err := websocket.Message.Receive(t.ws.Conn, &message); err != nil {
			return
		}
		switch {
		case len(message) == 0:
		case message[0] == closeChannel:
			if len(message) != 2 || int(message[1]) >= len(t.streams) {
				return
			}
			if stream := t.input(message[1]); stream != nil {
				stream.Close()
			}
		default:
			if stream := t.input(message[0]); stream != nil {
				if _, err := stream.Write(message[1:]); err != nil && message[0] == constants.StreamStdIn {
					t.streams[constants.StreamStdIn] = nil // the command reads no more
				}
			}
		}
	}
}

// input returns the stream of a channel to which clients send; nil for other channels, whose messages are ignored.
func (t *translation) input(channel byte) io.WriteCloser {
	if channel != constants.StreamStdIn && channel != constants.StreamResize || t.streams[channel] == nil {
		return nil
	}
	return t.streams[channel]
}

// finish sends the result of the command, a Status as JSON, which is empty for success.
func (t *translation) finish(result []byte, err error) {
	status := metav1.Status{Status: metav1.StatusSuccess}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		status = metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Reason:  metav1.StatusReasonInternalError,
			Message: "Internal error occurred: reading the result of the command: " + err.Error()}
	case len(result) > 0:
		t.sendLast(result)
		return
	}
	text, err := json.Marshal(&status)
	if err == nil {
		t.sendLast(text)
	}
}

func (t *translation) sendLast(result []byte) {
	t.ws.SetWriteDeadline(time.Now().Add(lastWrite))
	t.send(constants.StreamErr, result)
}
