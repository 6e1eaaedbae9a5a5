//go:build linux || darwin

package nginx

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// An nginx that ends after running for a long time is restarted at once. If the start fails, the delay grows,
// however long nginx had run before.
func TestRestartBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &process{log: slog.New(slog.DiscardHandler)}
		started := func() { p.child, p.startedAt = &child{}, time.Now() }
		waited := func() time.Duration {
			start := time.Now()
			<-p.retry
			return time.Since(start)
		}
		started()
		time.Sleep(time.Hour)
		p.died()
		for _, want := range []time.Duration{0, 1, 2, 4, 8, 16, 30, 30} {
			if got := waited(); got != want*time.Second {
				t.Errorf("the start after a failed one came after %s, want %d seconds", got, want)
			}
			p.scheduleRestart()
		}
		started()
		p.died()
		if got := waited(); got != lastBackoff {
			t.Errorf("an nginx that ended soon after its start was restarted after %s", got)
		}
		started()
		time.Sleep(2 * stable)
		p.died()
		if got := waited(); got != 0 {
			t.Errorf("an nginx that ended after a long time was restarted after %s, want at once", got)
		}
	})
}

// A relative path is relative to the caller's working directory, not to nginx's folder.
func TestRelativeProgramPath(t *testing.T) {
	t.Parallel()
	needNginx(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, program)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProcess(t.Context(), relative, t.TempDir(), listening{http: freeAddress(t)},
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p.folder.close()
}

func TestProgramThatExits(t *testing.T) {
	t.Parallel()
	p, err := newProcess(t.Context(), "true", t.TempDir(), listening{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(context.WithoutCancel(t.Context())) }()
	const want = "nginx ended (exit status 0)"
	if err := p.Serve(t.Context(), Configuration{}); err == nil || err.Error() != want {
		t.Errorf("Serve: %v", err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Run: %v", err)
	}
}

// Each Serve verifies what nginx serves, because another process may have reloaded it with another
// configuration.
func TestForeignReloadIsReverted(t *testing.T) {
	t.Parallel()
	needNginx(t)
	l := &lab{T: t, journal: newJournal(t), folder: t.TempDir(), http: freeAddress(t)}
	at := listening{http: l.http}
	p, err := newProcess(t.Context(), "nginx", l.folder, at, slog.New(l.journal))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	own, err := at.render(routing{hosts: []host{{}, {name: "h.com", routes: []route{{path: "/"}}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(want string) {
		t.Helper()
		if err := p.Serve(t.Context(), own); err != nil {
			t.Error(err)
		}
		if got := l.get("h.com", "/") + " " + l.get("other.com", "/"); got != want {
			t.Errorf("the two hosts are answered by %s, want %s", got, want)
		}
	}
	serve("503 404")
	other := strings.NewReplacer("h.com", "other.com", own.Generation, "other").Replace(own.Text)
	if err := os.WriteFile(p.folder.file(configurationFile), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(masterOf(t, l.folder), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	l.until("the workers before have gone", func() bool { // half of those that were started
		exited := l.count(" exited with code 0")
		return exited > 0 && 2*exited == l.count("start worker process ")
	})
	if got := l.get("h.com", "/") + " " + l.get("other.com", "/"); got != "404 503" {
		t.Errorf("with the foreign configuration the hosts are answered by %s", got)
	}
	serve("503 404")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
