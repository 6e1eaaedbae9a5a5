package namespace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/inprocess"
)

// unreadable serves one namespace, whose JSON does not fit the Go type.
func unreadable(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") == "" {
		fmt.Fprint(w, `{"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[
			{"metadata":{"name":"a","resourceVersion":"7"},"spec":{"finalizers":"kubernetes"}}]}`)
		return
	}
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// If a namespace cannot be decoded, it is unknown whether it is terminating: its content is neither listed
// nor deleted, and the reconcile is retried.
func TestUndecodableNamespacesAreLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := inprocess.NewTransport(http.HandlerFunc(unreadable))
		defer transport.Close()
		c, err := client.New(transport.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		i := informer.New(client.NewSource(c), namespaces,
			informer.Options[*corev1.Namespace]{Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { i.Run(ctx) })
		<-i.Synced()
		r := &reconciler{cached: i.Lister()} // no client: Reconcile must not make requests
		var unreadable *informer.UnreadableError
		if _, err := r.Reconcile(ctx, controller.Request{Name: "a"}); !errors.As(err, &unreadable) {
			t.Errorf("got error %v, want an UnreadableError", err)
		}
		cancel()
		running.Wait()
	})
}
