package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestConnectionLimitReservesFilesForStore opens 400 idle connections to a server whose limit is 256 open files.
// An existing client must still be able to write so much that the store needs new files. When the connections
// are closed, new clients can connect.
func TestConnectionLimitReservesFilesForStore(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	server := startCrashCommand(t, folder,
		exec.Command("sh", "-c", `ulimit -n 256; exec bowline up --listen 127.0.0.1:0 --data "$0"`, folder))
	config, err := server.ready()
	if err != nil {
		t.Fatal(err)
	}
	maps, err := configMaps(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := maps.List(t.Context(), metav1.ListOptions{}); err != nil { // opens the connection
		t.Fatal(err)
	}
	address := strings.TrimPrefix(config.Host, "https://")
	connections, err := connectOften(address, 400)
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", server.cmd.Process.Pid))
	if err != nil || len(files) > 200 {
		t.Errorf("got %d open files (%v), want at most 200", len(files), err)
	}
	const large = 500 << 10
	for i := range 20 {
		text := make([]byte, large/2)
		rand.Read(text)
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%d", i)},
			Data: map[string]string{"a": hex.EncodeToString(text)}}
		if _, err := maps.Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, conn := range connections {
		conn.Close()
	}
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if conn, err := dialer.DialContext(ctx, "tcp", address); err != nil {
		t.Errorf("new connection after the others are closed: %v", err)
	} else {
		conn.Close()
	}
	server.kill()
	if logged := server.stderr.String(); strings.Contains(logged, "disk") ||
		!strings.Contains(logged, "no more are accepted until some are closed") {
		t.Errorf("got log %q, want that no more connections are accepted, and nothing about the disk", logged)
	}
}

// connectOften opens idle connections.
func connectOften(address string, times int) ([]net.Conn, error) {
	all, errs := make([]net.Conn, times), make([]error, times)
	for i := range all {
		all[i], errs[i] = net.Dial("tcp", address)
	}
	return all, errors.Join(errs...)
}
