package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/declare"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/manifest"
)

func TestControllersAreSelectedAsKubeControllerManagerDoes(t *testing.T) {
	t.Parallel()
	known := []string{"garbage", "namespace"}
	for list, want := range map[string]selection{
		"*":                  {list: []string{"*"}},
		"*,network":          {list: []string{"*"}, network: true},
		"network":            {list: []string{}, network: true},
		"":                   {list: []string{}},
		"*,-namespace":       {list: []string{"*", "-namespace"}},
		"namespace, network": {list: []string{"namespace"}, network: true},
		"-network,network,*": {list: []string{"*"}},
		"network,-network,*": {list: []string{"*"}, network: true},
	} {
		var entries []string
		if list != "" {
			entries = strings.Split(list, ",")
		}
		got, err := selectControllers(entries, known)
		if err != nil || !slices.Equal(got.list, want.list) || got.list == nil || got.network != want.network {
			t.Errorf("%q: got %+v (%v), want %+v", list, got, err, want)
		}
	}
}

func TestUnknownControllerIsAnErrorThatListsTheKnown(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"netwrok", "-netwrok", "", "--namespace"} {
		_, err := selectControllers([]string{"*", entry}, []string{"namespace"})
		var usage *usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), "namespace, network") {
			t.Errorf("%q: error %v", entry, err)
		}
	}
}

// applied is a declared object of that name, as the server keeps it.
func applied(name string, document int) declare.Applied {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("example.com/v1")
	object.SetKind("Network")
	object.SetNamespace("default")
	object.SetName(name)
	return declare.Applied{Object: object, Source: manifest.Source{File: "f.yaml", Document: document, Line: 3}}
}

// session drives a report through all that it can be told.
func session(r *report) {
	r.serving("https://127.0.0.1:1", "/home/a b/kubeconfig", 17*time.Millisecond)
	r.begin(6)
	r.failed(errors.New("f.yaml:1: not valid YAML"))
	r.warning("deprecated")
	time.Sleep(1234 * time.Millisecond)
	r.BecameTrue(applied("a", 1), declare.Truth{True: true, What: "Ready"})
	r.NotYet(applied("b", 2), declare.Truth{What: "Ready", Why: "InvalidSpec: no gateway"})
	r.StillWaiting([]declare.Applied{applied("b", 2), applied("c", 3), applied("d", 4), applied("e", 5)})
	r.StillWaiting([]declare.Applied{applied("b", 2)})
	r.Deleted(applied("b", 2))
	r.end()
	r.stopping()
}

func TestReportInPlainLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		session(newReport(&out))
		want := `Bowline serves the Kubernetes API at https://127.0.0.1:1 (ready in 17ms)
The store is memory: what is declared is lost when bowline stops.

    export KUBECONFIG='/home/a b/kubeconfig'

failed: f.yaml:1: not valid YAML
warning: deprecated
network.example.com/default/a  Ready after 1.23s  (f.yaml:3)
network.example.com/default/b  not Ready yet: InvalidSpec: no gateway  (f.yaml:3 (document 2))
waiting for network.example.com/default/b, network.example.com/default/c, network.example.com/default/d, and 1 more (1s)
waiting for network.example.com/default/b (1s)
network.example.com/default/b  deleted before it was true  (f.yaml:3 (document 2))
1 of 6 declared objects true after 1.23s, 1 failed
Stopped.
`
		if out.String() != want {
			t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
		}
	})
}

func TestReportInATerminalKeepsOneLineChanging(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		session(&report{out: &out, terminal: true})
		text := out.String()
		for _, want := range []string{
			green + "✓ " + normal + "network.example.com/default/a  Ready after 1.23s",
			red + "✗ " + normal + "f.yaml:1",
			clearLine + "waiting for network.example.com/default/b (1s)" + clearLine + yellow + "- ",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in %q", want, text)
			}
		}
	})
}
