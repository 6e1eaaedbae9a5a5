//go:build linux || darwin

package nginx

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"
)

// If the controller cannot start, the error states what to do.
func TestStartErrors(t *testing.T) {
	t.Parallel()
	needNginx(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options Options
		says    string
	}{
		"a port in use": {Options{HTTP: listener.Addr().String()},
			listener.Addr().String() + " is in use by another program"},
		"a port in use, HTTPS": {Options{HTTP: freeAddress(t), HTTPS: listener.Addr().String()},
			"is in use by another program"},
		"an address not ours":   {Options{HTTP: "203.0.113.7:8080"}, "nginx cannot listen on 203.0.113.7:8080"},
		"no address":            {Options{}, "set one for HTTP or HTTPS"},
		"a name for an address": {Options{HTTP: "localhost:8080"}, "must be an IP address and a port"},
		"no port":               {Options{HTTP: "127.0.0.1"}, "must be an IP address and a port"},
		"one address for both":  {Options{HTTP: "127.0.0.1:8080", HTTPS: ":8080"}, "choose different ports"},
		"no nginx":              {Options{HTTP: freeAddress(t), Binary: "no-such-nginx"}, "apt-get install nginx"},
		"another program": {Options{HTTP: freeAddress(t), Binary: "false"},
			"nginx 1.19.4 or later with TLS is required"},
		"a folder that is none": {Options{HTTP: freeAddress(t), Folder: filepath.Join(file, "folder")},
			"must be writable"},
		"a folder that is too deep": {
			Options{HTTP: freeAddress(t), Folder: filepath.Join(t.TempDir(), strings.Repeat("d", 100))},
			"too long for a socket",
		},
	} {
		if test.options.Folder == "" {
			test.options.Folder = t.TempDir()
		}
		log := newJournal(t)
		test.options.Config, test.options.Log = &rest.Config{Host: "http://127.0.0.1:1"}, slog.New(log)
		if err := Run(t.Context(), test.options); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
		if log.count("requests for Ingresses go to") > 0 {
			t.Errorf("%s: the log says where requests go", name)
		}
	}
}

func TestFolderIsExclusive(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	quiet := slog.New(slog.DiscardHandler)
	err := Run(t.Context(), Options{Config: l.plane.RESTConfig(), Folder: l.folder, HTTP: freeAddress(t), Log: quiet})
	if err == nil || !strings.Contains(err.Error(), "in use by another nginx controller") {
		t.Errorf("the second controller in the folder: got error %v", err)
	}
	if got := l.get("h.com", "/"); got != "404" {
		t.Errorf("the first nginx answers %q", got)
	}
}

// If another program takes the port after it was checked and before nginx starts, the controller fails.
func TestPortTakenAfterCheck(t *testing.T) {
	t.Parallel()
	needNginx(t)
	at := freeAddress(t)
	where, err := parseAddress(at)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProcess(t.Context(), "nginx", t.TempDir(), listening{http: where.directive()},
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	// if this fails, another program has the port, which serves as well
	if listener, err := net.Listen("tcp", at); err == nil {
		defer listener.Close()
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(context.WithoutCancel(t.Context())) }()
	c, err := listening{http: where.directive()}.render(routing{hosts: []host{{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Test(t.Context(), c); err != nil {
		t.Errorf("nginx -t: %v", err)
	}
	if err := p.Serve(t.Context(), c); err == nil || !strings.Contains(err.Error(), "Address already in use") {
		t.Errorf("Serve: %v", err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), at) {
		t.Errorf("Run: %v", err)
	}
	if err := p.Serve(t.Context(), c); err == nil {
		t.Error("a process that has ended still serves")
	}
}

// If another program takes the port while nginx is down, the controller retries until it is free.
func TestRestartWaitsForPort(t *testing.T) {
	t.Parallel()
	l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")),
		newIngress("web").prefix("h.com", "/", "web").Ingress)
	pid := masterOf(t, l.folder)
	var listener net.Listener
	for listener == nil { // until the test has the port and not a restarted nginx
		starts := l.count("nginx serves pid")
		if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			t.Fatal(err)
		}
		// a killed process releases its port a little later
		for listener == nil && l.count("nginx serves pid") == starts {
			listener, _ = net.Listen("tcp", l.http)
			runtime.Gosched()
		}
		if listener == nil {
			pid = masterOf(t, l.folder)
		}
	}
	l.until("nginx does not start", func() bool { return l.count("nginx does not start") > 0 })
	l.create(newIngress("meanwhile").prefix("i.com", "/", "web"))
	listener.Close()
	l.serves("i.com", "/", "web")
	l.serves("h.com", "/", "web")
}
