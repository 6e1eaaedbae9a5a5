package up

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/declare"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/manifest"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
)

// applied returns a declared object with the given name, as stored by the server.
func applied(name string, document int) declare.Applied {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("example.com/v1")
	object.SetKind("Network")
	object.SetNamespace("default")
	object.SetName(name)
	return declare.Applied{Object: object, Source: manifest.Source{File: "f.yaml", Document: document, Line: 3}}
}

// session calls every method of a report.
func session(r *report) {
	r.serving("https://127.0.0.1:1", "/home/a b/kubeconfig", "Objects are stored.", 17*time.Millisecond)
	r.begin(6)
	r.failed(errors.New("f.yaml:1: not valid YAML"))
	r.warning(manifest.Source{File: "f.yaml", Line: 7}, "deprecated")
	time.Sleep(1234 * time.Millisecond)
	r.Ready(applied("a", 1), declare.Readiness{Ready: true, State: "Ready"})
	r.NotReady(applied("b", 2), declare.Readiness{State: "Ready", Reason: "InvalidSpec: no gateway"})
	r.StillWaiting([]declare.Applied{applied("b", 2), applied("c", 3), applied("d", 4), applied("e", 5)})
	r.StillWaiting([]declare.Applied{applied("b", 2)})
	r.Deleted(applied("b", 2))
	r.end()
	r.EndStatus()
	r.stopping()
}

func TestReportToFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		session(newReport(terminal.NewScreen(&out, io.Discard)))
		want := `Bowline serves the Kubernetes API at https://127.0.0.1:1 (ready in 17ms)
Objects are stored.

    export KUBECONFIG='/home/a b/kubeconfig'

failed: f.yaml:1: not valid YAML
warning: f.yaml:7: deprecated
Ready           1.23s  network.example.com/default/a  f.yaml:3
not Ready yet   1.23s  network.example.com/default/b: InvalidSpec: no gateway  f.yaml:3 (document 2)
waiting for network.example.com/default/b, network.example.com/default/c, network.example.com/default/d, and 1 more (1s)
waiting for network.example.com/default/b (1s)
deleted         1.23s  network.example.com/default/b  f.yaml:3 (document 2)
1 of 6 declared objects ready after 1.23s, 1 failed
Stopped.
`
		if out.String() != want {
			t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
		}
	})
}

func TestReportToTerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		session(newReport(terminal.ScreenOfWidth(&out, 70)))
		want := `Bowline serves the Kubernetes API at https://127.0.0.1:1 (ready in 17ms)
Objects are stored.

    export KUBECONFIG='/home/a b/kubeconfig'

✗ f.yaml:1: not valid YAML
! f.yaml:7: deprecated
✓ Ready           1.23s  network.example.com/default/a  f.yaml:3
… not Ready yet   1.23s  network.example.com/default/b: InvalidSpec: no gateway
- deleted         1.23s  network.example.com/default/b
1 of 6 declared objects ready after 1.23s, 1 failed
Stopped.
`
		if got := terminal.Visible(out.String()); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
		cut := terminal.ClearLine + "waiting for network.example.com/default/b, network.example.com/defau…"
		if !strings.Contains(out.String(), cut) {
			t.Errorf("output lacks the shortened line %q: %q", cut, out.String())
		}
	})
}
