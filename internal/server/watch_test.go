package server_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/auth"
)

// A watch from a revision receives the later events from the history.
func TestWatchFromRevision(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	from := must(w.clients.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{}))(t).ResourceVersion
	w.createConfigMaps(t, "default", "b")
	w.send(t, http.MethodPatch, configMaps+"/a", `{"data":{"k":"1"}}`, "Content-Type", mergeType).want(t, http.StatusOK)
	w.send(t, http.MethodDelete, configMaps+"/b", "").want(t, http.StatusOK)
	for _, path := range []string{
		configMaps + "?watch=true&resourceVersion=" + from, "/api/v1/watch/configmaps?resourceVersion=" + from,
		"/api/v1/watch/namespaces/default/configmaps?resourceVersion=" + from,
		"/api/v1/configmaps?watch=yes&resourceVersion=" + from,
	} {
		s := w.open(t, path)
		if got := s.header.Get("Content-Type"); got != jsonType {
			t.Errorf("%s: content type %q", path, got)
		}
		deleted := s.want(t, "ADDED b", "MODIFIED a", "DELETED b")
		if deleted.Object["kind"] != "ConfigMap" || deleted.Object["apiVersion"] != "v1" {
			t.Errorf("%s: the object is %v", path, deleted.Object)
		}
	}
	one := w.open(t, "/api/v1/watch/namespaces/default/configmaps/b?resourceVersion="+from)
	one.want(t, "ADDED b", "DELETED b")
}

// A watch has begun when its head is sent: it receives every change that is made after the client received
// the head.
func TestWatchStartsBeforeHeaderIsSent(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"?watch=true": "ADDED a MODIFIED a", "?watch=true&resourceVersion=0": "ADDED a MODIFIED a",
		"?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan":                         "MODIFIED a",
		"?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true": "ADDED a BOOKMARK MODIFIED a",
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.createConfigMaps(t, "default", "a")
				ctx, cancel := context.WithTimeout(auth.WithUser(t.Context(), auth.NewUser("watcher", auth.AdminGroup)),
					10*time.Second)
				defer cancel()
				answer := &headed{recorded: recorded{header: http.Header{}, end: func() {}}, sent: func() {
					w.send(t, http.MethodPatch, configMaps+"/a", `{"data":{"k":"1"}}`, "Content-Type",
						mergeType).want(t, http.StatusOK)
				}}
				w.Handler().ServeHTTP(answer,
					must(http.NewRequestWithContext(ctx, http.MethodGet, "http://watched"+configMaps+query, nil))(t))
				var got []string
				lines := &streaming{lines: bufio.NewScanner(&answer.body)}
				for e, ok := lines.next(t); ok; e, ok = lines.next(t) {
					got = append(got, e.String())
				}
				if strings.Join(got, " ") != want {
					t.Errorf("sent %q, want %s", got, want)
				}
			})
		})
	}
}

// headed is a ResponseWriter that reports when the head is sent.
type headed struct {
	recorded
	sent func()
}

func (h *headed) WriteHeader(code int) {
	if h.code == 0 {
		h.sent()
	}
	h.recorded.WriteHeader(code)
}

func (h *headed) Write(p []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.recorded.Write(p)
}

// The object of a DELETED event carries the revision of the deletion, so that a watch can resume after it.
func TestDeletedEventHasRevisionOfDelete(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	s := w.open(t, configMaps+"?watch=1")
	added := s.want(t, "ADDED a")
	w.send(t, http.MethodDelete, configMaps+"/a", "").want(t, http.StatusOK)
	deleted := s.want(t, "DELETED a")
	before, after := valueAt(added.Object, "metadata", "resourceVersion").(string),
		valueAt(deleted.Object, "metadata", "resourceVersion").(string)
	if after <= before {
		t.Errorf("deleted at %s, added at %s", after, before)
	}
	resumed := w.open(t, configMaps+"?watch=1&resourceVersion="+after)
	w.createConfigMaps(t, "default", "b")
	resumed.want(t, "ADDED b")
}

// A change that enters or leaves the selection is an ADDED or DELETED event.
func TestWatchBySelector(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.open(t, configMaps+"?watch=1&labelSelector=on%3Dyes&resourceVersion=0")
	byField := w.open(t, "/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn1&resourceVersion=0")
	w.createConfigMaps(t, "default", "a", "b")
	label := func(value string) {
		t.Helper()
		w.send(t, http.MethodPatch, configMaps+"/a", `{"metadata":{"labels":{"on":`+value+`}}}`, "Content-Type",
			mergeType).want(t, http.StatusOK)
	}
	label(`"yes"`)
	w.send(t, http.MethodPatch, configMaps+"/a", `{"data":{"k":"1"}}`, "Content-Type", mergeType).want(t, http.StatusOK)
	label(`null`)
	label(`"yes"`)
	w.send(t, http.MethodDelete, configMaps+"/a", "").want(t, http.StatusOK)
	s.want(t, "ADDED a", "MODIFIED a", "DELETED a", "ADDED a", "DELETED a")

	w.create(t, "/api/v1/namespaces/default/pods",
		`{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	w.create(t, "/api/v1/namespaces/default/pods/p/binding",
		`{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node","name":"n1"}}`)
	byField.want(t, "ADDED p")
}

// Bookmarks are sent only if requested, contain nothing but kind and revision, and a watch can resume at
// them.
func TestBookmarks(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{jsonType, protobufType} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				maps := typed(t, w.config, contentType).CoreV1().ConfigMaps("kube-system")
				quiet := must(maps.Watch(t.Context(), metav1.ListOptions{}))(t)
				defer quiet.Stop()
				marked := must(maps.Watch(t.Context(), metav1.ListOptions{AllowWatchBookmarks: true}))(t)
				defer marked.Stop()
				if first := <-marked.ResultChan(); first.Object.(*corev1.ConfigMap).Annotations[metav1.InitialEventsAnnotationKey] != "true" {
					t.Errorf("%s %+v, want the end of the state: a watch from anywhere begins with it", first.Type,
						first.Object)
				}
				w.createConfigMaps(t, "default", "elsewhere")
				now := must(maps.List(t.Context(), metav1.ListOptions{}))(t).ResourceVersion
				e := <-marked.ResultChan()
				cm, ok := e.Object.(*corev1.ConfigMap)
				if e.Type != watch.Bookmark || !ok || cm.ResourceVersion != now || cm.Name != "" ||
					len(cm.Annotations) > 0 {
					t.Fatalf("%s %+v, want a bookmark at %s", e.Type, e.Object, now)
				}
				heard := time.Now()
				for range 10 { // sent without changes as well, so that a client can detect a dead connection
					if e := <-marked.ResultChan(); e.Type != watch.Bookmark ||
						e.Object.(*corev1.ConfigMap).ResourceVersion != now {
						t.Fatalf("%s %+v, want another bookmark at %s", e.Type, e.Object, now)
					}
				}
				if took := time.Since(heard); took != 10*time.Minute {
					t.Errorf("ten bookmarks took %s, want 10 minutes", took)
				}
				synctest.Wait()
				select {
				case e := <-quiet.ResultChan():
					t.Errorf("a watch without bookmarks got %v", e)
				default:
				}
				w.createConfigMaps(t, "kube-system", "here")
				wantEvents(t, marked, "ADDED here")
			})
		})
	}
}

// Watches of one resource receive the same order, with many writers, and whenever they start.
func TestWatchersReceiveSameOrder(t *testing.T) {
	t.Parallel()
	w := start(t)
	watchers := make([]*streaming, 5)
	for i := range watchers {
		watchers[i] = w.open(t, configMaps+"?watch=1&resourceVersion=0")
	}
	const writers, each = 8, 20
	concurrently(t, writers, func(ctx context.Context, i int) error {
		name := string(rune('a' + i))
		if _, err := w.clients.CoreV1().ConfigMaps("default").Create(ctx, configMap(name),
			metav1.CreateOptions{}); err != nil {
			return err
		}
		for n := 1; n < each; n++ {
			cm := configMap(name, "n", strings.Repeat("x", n))
			if _, err := w.clients.CoreV1().ConfigMaps("default").Update(ctx, cm, metav1.UpdateOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	var first []string
	for i, s := range watchers {
		last := ""
		for n := range writers * each {
			e, ok := s.next(t)
			if !ok {
				t.Fatalf("watcher %d ended after %d events", i, n)
			}
			revision := valueAt(e.Object, "metadata", "resourceVersion").(string)
			if revision <= last {
				t.Fatalf("watcher %d: %s after %s", i, revision, last)
			}
			last = revision
			if i == 0 {
				first = append(first, e.String()+revision)
			} else if first[n] != e.String()+revision {
				t.Fatalf("watcher %d: event %d is %s, the first watcher's %s", i, n, e.String()+revision, first[n])
			}
		}
	}
}

// A watch delivers events that are larger than its buffer.
func TestWatchOfLargeObjects(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.open(t, configMaps+"?watch=1")
	for i, size := range []int{10, 100 << 10, 20, 700 << 10, 30 << 10, 40 << 10, 50 << 10} {
		cm := configMap(string(rune('a'+i)), "k", strings.Repeat("x", size))
		must(w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}))(t)
		if e := s.want(t, "ADDED "+cm.Name); len(valueAt(e.Object, "data", "k").(string)) != size {
			t.Errorf("%s came with %d bytes, want %d", cm.Name, len(valueAt(e.Object, "data", "k").(string)), size)
		}
	}
	second := w.open(t, configMaps+"?watch=1")
	second.want(t, "ADDED a", "ADDED b", "ADDED c", "ADDED d", "ADDED e", "ADDED f", "ADDED g")
}
