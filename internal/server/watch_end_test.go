package server_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline"
)

// A watch from a compacted revision is a 200 with an ERROR event of 410.
func TestWatchFromCompactedRevision(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.createConfigMaps(t, "default", "a")
		old := must(w.clients.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}))(t).ResourceVersion
		w.createConfigMaps(t, "default", "b")
		time.Sleep(time.Hour)
		s := w.open(t, configMaps+"?watch=1&resourceVersion="+old)
		e := s.want(t, "ERROR")
		if e.Object["kind"] != "Status" || e.Object["code"] != float64(http.StatusGone) ||
			e.Object["reason"] != "Expired" {
			t.Errorf("the event carries %v", e.Object)
		}
		if e, more := s.next(t); more {
			t.Errorf("after the error: %v", e)
		}
		for _, contentType := range []string{jsonType, protobufType} {
			typed := must(typed(t, w.config, contentType).CoreV1().ConfigMaps("default").Watch(t.Context(),
				metav1.ListOptions{ResourceVersion: old}))(t)
			got := <-typed.ResultChan()
			status, ok := got.Object.(*metav1.Status)
			if got.Type != watch.Error || !ok || status.Code != http.StatusGone {
				t.Errorf("%s: %v %+v", contentType, got.Type, got.Object)
			}
			typed.Stop()
		}
		w.get(t, configMaps+"?resourceVersionMatch=Exact&resourceVersion="+old).wantError(t, http.StatusGone,
			metav1.StatusReasonExpired, "too old")
	})
}

// A watch from a future revision fails at once.
func TestWatchFromFutureRevision(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.open(t, configMaps+"?watch=1&resourceVersion=9999999999999999999")
	if e := s.want(t, "ERROR"); e.Object["code"] != float64(http.StatusGatewayTimeout) {
		t.Errorf("the event carries %v", e.Object)
	}
}

// A watch ends cleanly at its timeout.
func TestWatchEndsAtItsTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		began := time.Now()
		s := w.open(t, configMaps+"?watch=1&timeoutSeconds=77")
		if e, more := s.next(t); more {
			t.Errorf("an empty resource sends %v", e)
		}
		if err := s.lines.Err(); err != nil {
			t.Errorf("the stream ended with %v", err)
		}
		if lasted := time.Since(began); lasted != 77*time.Second {
			t.Errorf("the watch lasted %s", lasted)
		}
	})
}

// A watch with a negative timeout ends at once, and one with a timeout that overflows does not.
func TestWatchTimeoutOutOfRange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		for _, seconds := range []string{"-1", "-10000000000", "-9223372036854775808"} {
			began := time.Now()
			s := w.open(t, configMaps+"?watch=1&resourceVersion=0&timeoutSeconds="+seconds)
			if e, more := s.next(t); more || s.lines.Err() != nil || time.Since(began) > 0 {
				t.Errorf("%s: it sent %v, and ended after %s with %v", seconds, e, time.Since(began), s.lines.Err())
			}
		}
		for _, seconds := range []string{"10000000000", "9223372036854775807"} {
			s := w.open(t, configMaps+"?watch=1&fieldSelector=metadata.name%3Da-"+seconds+"&timeoutSeconds="+seconds)
			time.Sleep(24 * time.Hour)
			w.createConfigMaps(t, "default", "a-"+seconds)
			s.want(t, "ADDED a-"+seconds)
		}
	})
}

// A watch without a timeout ends within an hour, so that clients are redistributed.
func TestWatchWithoutTimeoutEndsWithinHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		began := time.Now()
		w.open(t, configMaps+"?watch=1").next(t)
		if lasted := time.Since(began); lasted < 30*time.Minute || lasted > time.Hour {
			t.Errorf("the watch lasted %s", lasted)
		}
	})
}

// Watches end when the plane closes, and do not delay it.
func TestCloseEndsWatches(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(testing.TB, ...func(*bowline.Options)) *testPlane{"in process": start, "TLS": startTLS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			s := w.open(t, configMaps+"?watch=1&resourceVersion=0")
			w.createConfigMaps(t, "default", "a")
			s.want(t, "ADDED a")
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if e, more := s.next(t); more {
				t.Errorf("after Close: %v", e)
			}
		})
	}
}
