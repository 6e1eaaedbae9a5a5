//go:build linux || darwin

package nginx

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
)

// A nginx that dies after a long life is started at once, and one that does not start is not tried in a loop, however long it
// had lived before.
func TestStartsThatFailAreFartherAndFartherApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &process{log: slog.New(slog.DiscardHandler)}
		started := func() { p.child, p.begun = &child{}, time.Now() }
		waited := func() time.Duration {
			begun := time.Now()
			<-p.retry
			return time.Since(begun)
		}
		started()
		time.Sleep(time.Hour)
		p.died()
		for _, want := range []time.Duration{0, 1, 2, 4, 8, 16, 30, 30} {
			if got := waited(); got != want*time.Second {
				t.Errorf("a start that fails comes after %s, want %d seconds", got, want)
			}
			p.again()
		}
		started()
		p.died()
		if got := waited(); got != lastBackoff {
			t.Errorf("one that dies young is started after %s", got)
		}
		started()
		time.Sleep(2 * stable)
		p.died()
		if got := waited(); got != 0 {
			t.Errorf("one that dies old is started after %s", got)
		}
	})
}

// A path is the caller's, not one of nginx's folder.
func TestTheProgramMayBeARelativePath(t *testing.T) {
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
	p, err := newProcess(t.Context(), relative, t.TempDir(), listening{http: freeAddress(t)}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p.folder.close()
}

func TestAProgramThatEndsAtOnceDoesNotServe(t *testing.T) {
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

// What nginx serves is looked at whenever something happens, and not taken for granted: somebody may have had it read another
// configuration.
func TestNginxThatTookSomethingElseGetsItsOwnAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")), newIngress("web").prefix("h.com", "/", "web").Ingress)
	file := filepath.Join(l.folder, configurationFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := regexp.MustCompile(`return 200 "[0-9a-f]+"`).ReplaceAllString(string(text), `return 200 "other"`)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(other, "h.com", "other.com")), 0o600); err != nil {
		t.Fatal(err)
	}
	workers := l.count("start worker process ")
	if err := syscall.Kill(masterOf(t, l.folder), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	l.until("the workers before have gone", func() bool { return l.count(" exited with code 0") == workers })
	if got := l.get("other.com", "/") + l.get("h.com", "/"); got != "web404" {
		t.Errorf("with the other configuration it answers %s", got)
	}
	update(l, "web", func(i *networkingv1.Ingress) { i.Labels = map[string]string{"a": "b"} })
	l.until("nginx is reloaded", func() bool { return l.reloads() == 1 })
	if got := l.get("other.com", "/") + l.get("h.com", "/"); got != "404web" {
		t.Errorf("with its own again it answers %s", got)
	}
}
