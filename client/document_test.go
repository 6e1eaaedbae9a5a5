package client_test

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline/client"
)

// The kubeconfig in docs/client.md has the mistakes that the page lists.
func TestDocumentedKubeconfigErrors(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(page(t), "```yaml\n")
	text, rest, _ := strings.Cut(rest, "```\n")
	_, rest, _ = strings.Cut(rest, "```\n")
	want, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("the page has no kubeconfig followed by an error")
	}
	path := write(t, "kubeconfig", []byte(text))
	_, err := client.Load(client.Flags{Kubeconfig: path})
	want = strings.NewReplacer("KUBECONFIG", path, "FOLDER", filepath.Dir(path)).Replace(want)
	if err == nil || err.Error()+"\n" != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/client.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// flags replaces package flag, which a program of its own would use.
type flags struct {
	CommandLine *flag.FlagSet
	Parse       func()
}

// The Go code of the page works as the page describes, with a server of widgets.
func TestDocumentedLinesWork(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	server := serveWidgets(t, &requests)
	set := flag.NewFlagSet("program", flag.ContinueOnError)
	path := kubeconfigFor(t, clientcmdapi.Cluster{Server: server}, clientcmdapi.AuthInfo{})
	program := func(ctx context.Context, flag flags) error {
		var flags client.Flags
		flags.Bind(flag.CommandLine) // --kubeconfig, --master, --context
		flag.Parse()
		config, err := client.Load(flags)
		if err != nil {
			return err
		}
		ctx = client.Observe(ctx, func(w client.Write) { log.Print(w.Verb, w.Resource, w.Name, w.Revision) })
		// the AddToScheme of your own kinds; the built-in ones need none
		c, err := client.New(config, client.Types(addWidgets))
		if err != nil {
			return err
		}
		widgets := client.For[*Widget](c)
		widget, err := widgets.Get(ctx, "default", "example")
		if err != nil || widget.Spec.Size != 7 {
			return fmt.Errorf("got %v, %w", widget, err)
		}
		for widget, err := range widgets.All(ctx, "", metav1.ListOptions{}) {
			if err != nil || widget.Name != "example" {
				return fmt.Errorf("listed %v, %w", widget, err)
			}
		}
		return nil
	}
	err := program(t.Context(), flags{set, func() { set.Parse([]string{"--kubeconfig", path}) }})
	if err != nil || requests.Load() != 3 {
		t.Errorf("got %v after %d requests", err, requests.Load())
	}
	expectDocumentedLines(t)
}

// serveWidgets returns a server with one widget. It counts requests in asked.
func serveWidgets(t *testing.T, requests *atomic.Int64) string {
	const widget = `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"namespace":"default","name":"example"},"spec":{"size":7}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		switch r.URL.Path {
		case "/apis/example.com/v1":
			answer(w, 200,
				`{"kind":"APIResourceList","apiVersion":"v1","resources":[{"name":"widgets","kind":"Widget","namespaced":true}]}`)
		case "/apis/example.com/v1/namespaces/default/widgets/example":
			answer(w, 200, widget)
		case "/apis/example.com/v1/widgets":
			answer(w, 200,
				`{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"5"},"items":[`+
					widget+`]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// expectDocumentedLines checks that each line of Go of the page is in this file.
func expectDocumentedLines(t *testing.T) {
	t.Helper()
	source, err := os.ReadFile("document_test.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(page(t)) {
		code := strings.TrimSuffix(strings.TrimSpace(line), " ... }\n")
		begins := strings.HasPrefix(line, "    ") &&
			(strings.Contains(code, ":= ") || strings.HasPrefix(code, "var ") ||
				strings.HasPrefix(code, "flag") || strings.HasPrefix(code, "ctx = "))
		if !begins {
			continue
		}
		if lines++; !strings.Contains(string(source), "\t\t"+strings.TrimSuffix(code, " ... }")) {
			t.Errorf("docs/client.md has a line that no test runs: %s", code)
		}
	}
	if lines < 9 {
		t.Errorf("docs/client.md has %d lines of Go", lines)
	}
}
