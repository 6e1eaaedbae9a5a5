package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
)

// blocking blocks every write of a config map until the request's deadline, or until its client disconnects.
type blocking struct{ ended atomic.Int32 }

func (*blocking) Name() string { return "Blocking" }
func (*blocking) Handles(_ admission.Operation, r resourceOf, _ string) bool {
	return r.Resource == "configmaps"
}
func (b *blocking) Admit(ctx context.Context, _ *admission.Attributes, _ admission.Reader) error {
	<-ctx.Done()
	b.ended.Add(1)
	return ctx.Err()
}
func (*blocking) Validate(ctx, *admission.Attributes, admission.Reader) error { return nil }

// A request ends with a 504 at the client's deadline, or after the server's minute if that is shorter.
func TestRequestDeadline(t *testing.T) {
	t.Parallel()
	for query, lasts := range map[string]time.Duration{
		"?timeout=5s": 5 * time.Second, "": time.Minute, "?timeout=10m": time.Minute, "?timeout=0s": time.Minute,
		"?timeout=1500ms": 1500 * time.Millisecond,
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				plugin := &blocking{}
				w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{plugin} })
				began := time.Now()
				w.send(t, http.MethodPost, configMaps+query, `{"metadata":{"name":"a"}}`).wantError(t,
					http.StatusGatewayTimeout, metav1.StatusReasonTimeout,
					"the request did not complete within its time")
				if took := time.Since(began); took != lasts || plugin.ended.Load() != 1 {
					t.Errorf("it took %s, want %s", took, lasts)
				}
				if got := w.names(t, configMaps); got != "" {
					t.Errorf("stored %q", got)
				}
			})
		})
	}
	w := start(t)
	for _, broken := range []string{"soon", "5", "1h1"} {
		w.get(t, configMaps+"?timeout="+broken).wantError(t, http.StatusBadRequest, metav1.StatusReasonBadRequest,
			"invalid timeout specified in the request URL")
	}
}

// A request is canceled when its client disconnects.
func TestDisconnectCancelsRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plugin := &blocking{}
		w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{plugin} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.clients.CoreV1().ConfigMaps("default").Create(ctx, configMap("a"),
			metav1.CreateOptions{}); err == nil {
			t.Error("the create was answered")
		}
		synctest.Wait()
		if plugin.ended.Load() != 1 {
			t.Error("the plugin's context was not canceled")
		}
	})
}

// Typed clients recognize the error of a timeout.
func TestTypedClientsRecognizeTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{&blocking{}} })
		for _, contentType := range []string{jsonType, protobufType} {
			_, err := typed(t, w.config, contentType).CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a"),
				metav1.CreateOptions{})
			if !apierrors.IsTimeout(err) {
				t.Errorf("%s: %v", contentType, err)
			}
		}
	})
}

// A body that is never sent does not hold a request beyond its deadline, in process and over both HTTP
// versions of a socket.
func TestMissingBodyTimesOut(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]*testPlane{"in process": start(t), "HTTP/2": startTLS(t),
		"HTTP/1.1": http1(t, startTLS(t))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct{ method, path string }{
				{http.MethodPost, configMaps}, {http.MethodPatch, configMaps + "/a"},
				{http.MethodDelete, configMaps + "/a"}, {http.MethodPost, "/bowline/why"},
				{http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"},
			} {
				body, writer := io.Pipe()
				go writer.Write([]byte(`{"metadata":`))
				r, err := w.try(t.Context(), c.method, c.path+"?timeout=100ms", body, "Content-Type",
					patchTypeFor(c.method))
				if err != nil {
					t.Fatalf("%s: %v", c.method, err)
				}
				r.wantError(t, http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "")
				writer.Close()
			}
			w.createConfigMaps(t, "default", "a") // the server goes on
		})
	}
}

// A client that sends a body slowly to a path that reads none does not hold its connection over HTTP/1.1.
func TestUnreadBodyEndsConnection(t *testing.T) {
	t.Parallel()
	w := startTLS(t)
	config := must(rest.TLSConfigFor(w.config))(t)
	config.NextProtos = []string{"http/1.1"}
	for _, path := range []string{"/version", "/metrics", "/nowhere", "/debug/pprof/symbol"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			conn := must(tls.Dial("tcp", w.Addr(), config))(t)
			defer conn.Close()
			must(fmt.Fprintf(conn, "POST %s?timeout=1s HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nx", path))(t)
			conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the server did not close the connection: %v", err)
			}
		})
	}
}

func patchTypeFor(method string) string {
	if method == http.MethodPatch {
		return mergeType
	}
	return jsonType
}

// An answer that is not read is aborted after the deadline, for every request and form, so that no client can
// hold memory or seats.
func TestUnreadResponseIsAborted(t *testing.T) {
	t.Parallel()
	const table, metadata = "application/json;as=Table;g=meta.k8s.io;v=v1",
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	for name, c := range map[string]struct{ path, accept string }{
		"JSON": {configMaps, jsonType}, "protobuf": {configMaps, protobufType}, "YAML": {configMaps, yamlType},
		"table": {configMaps + "?includeObject=Object", table}, "metadata": {configMaps, metadata},
		"indented":   {configMaps + "?pretty=1", jsonType},
		"one object": {configMaps + "/a", jsonType}, "document": {"/openapi/v2", jsonType},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				load := startOverload(t)
				load.release()
				w := load.as(t, "reader", "")
				for _, name := range []string{"a", "b", "c"} {
					cm := configMap(name, "k", strings.Repeat("x", 200<<10))
					cm.Annotations = map[string]string{"a": strings.Repeat("x", 100<<10)}
					must(w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}))(t)
				}
				req := must(http.NewRequest(http.MethodGet, w.host+c.path, nil))(t)
				req.Header.Set("Accept", c.accept)
				resp := must(w.wire.Do(req))(t)
				defer resp.Body.Close()
				time.Sleep(2 * time.Minute)
				load.wantIdle(t)
				if n, err := io.Copy(io.Discard, resp.Body); err == nil {
					t.Errorf("after two minutes all %d bytes could be read, want an error", n)
				}
			})
		})
	}
}

// A slow reader of the initial state of a watch gives its seats back after the request timeout, and still
// receives the state.
func TestSlowWatchReaderReleasesSeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		load := startOverload(t)
		load.release()
		w := load.as(t, "reader", "")
		const objects, size = 40, 60 << 10
		for i := range objects {
			cm := configMap(fmt.Sprint("m", i), "k", strings.Repeat("x", size))
			must(w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}))(t)
		}
		resp := must(w.wire.Get(w.host + configMaps + "?watch=1&resourceVersion=0"))(t)
		defer resp.Body.Close()
		if _, working, seats := load.counts(t); working != 1 || seats < 2 {
			t.Errorf("during the initial state %d requests run with %d seats, want 1 with at least 2", working, seats)
		}
		for range 10 { // a write is of two objects, and may take 30 seconds
			time.Sleep(10 * time.Second)
			must(io.CopyN(io.Discard, resp.Body, 64<<10))(t)
		}
		load.wantIdle(t)
		must(io.CopyN(io.Discard, resp.Body, (objects-12)*size))(t)
	})
}
