package aggregate_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// dialUpgrade opens a connection to a plane and asks for the protocol echo.
func dialUpgrade(t *testing.T, p *plane, path string) io.ReadWriter {
	t.Helper()
	config, err := rest.TLSConfigFor(p.socket)
	if err != nil {
		t.Fatal(err)
	}
	config.NextProtos = []string{"http/1.1"}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(p.socket.Host, "https://"), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		body, _ := io.ReadAll(answer.Body)
		t.Fatalf("upgrade: %v, %v, %s", answer.Status, err, body)
	}
	return struct {
		io.Reader
		io.Writer
	}{reader, conn}
}
