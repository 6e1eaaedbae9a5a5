package informer_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/inprocess"
)

// When a handler is notified of a change, the cache already has that state or a newer one.
func TestCacheIsNotBehindNotifications(t *testing.T) {
	t.Parallel()
	for _, lazy := range []bool{false, true} {
		options := func() options { o := quiet(); o.Lazy = lazy; return o }
		populated := func() *plane { p := newPlane(); p.put("a", "1"); return p }
		inBubble(t, populated, options, func(p *plane, i *informer.Informer[*corev1.ConfigMap], _ *deliveries) {
			calls := 0
			check := func(obj *corev1.ConfigMap, deleted bool) {
				calls++
				if got, ok := i.Indexer().Get(informer.KeyOf(obj)); ok == deleted || ok &&
					got.ResourceVersion != obj.ResourceVersion {
					t.Errorf("lazy %t: notified of %s at %s, deleted %t; the cache has %v", lazy, obj.Name,
						obj.ResourceVersion, deleted, got)
				}
				if found := i.Indexer().InNamespace("ns"); (len(found) == 0) != deleted {
					t.Errorf("lazy %t: notified of %s, deleted %t; the index has %d", lazy, obj.Name, deleted,
						len(found))
				}
			}
			i.AddHandler(funcs{
				Add:    func(obj *corev1.ConfigMap, _ bool) { check(obj, false) },
				Update: func(_, obj *corev1.ConfigMap) { check(obj, false) },
				Delete: func(obj *corev1.ConfigMap, _ bool) { check(obj, true) },
			})
			synctest.Wait()
			for _, change := range []func(){func() { p.put("a", "2") }, func() { p.remove("a") }, func() { p.put("a", "3") }} {
				change()
				synctest.Wait()
			}
			if calls != 4 {
				t.Errorf("lazy %t: got %d calls", lazy, calls)
			}
		})
	}
}

// Without bookmarks, the revision of an informer whose objects seldom change would be compacted, and it would list
// again.
func TestBookmarksAdvanceResumeRevision(t *testing.T) {
	t.Parallel()
	for _, withBookmark := range []bool{true, false} {
		inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
			p.put("a", "1")
			d.read()
			p.mu.Lock()
			p.revision += 100 // by what other resources' writers did
			if withBookmark {
				p.publish(client.Event{Type: watch.Bookmark, Object: p.object("", "", ""), Revision: p.revision})
			}
			p.mu.Unlock()
			synctest.Wait()
			p.set(func(p *plane) { p.oldest, p.history = p.revision, nil })
			p.put("a", "2")
			pause()
			d.expect(t, "update a=1->2")
			if lists, _ := p.requests(); (lists == 1) != withBookmark {
				t.Errorf("with bookmarks: %t; got %d lists", withBookmark, lists)
			}
		})
	}
}

// numbered is a Go type with a field of another type than the server's.
type numbered struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              struct {
		Value int32 `json:"value"`
	} `json:"data"`
}

func (n *numbered) DeepCopyObject() runtime.Object {
	c := *n
	n.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// A definition that does not match the Go type: the object is skipped, counted and reported with the field and the
// value.
func TestDecodeErrorsSkipOneObject(t *testing.T) {
	t.Parallel()
	for _, lazy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const list = `{"kind":"NumberList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"9"},"items":[
				{"metadata":{"namespace":"ns","name":"bad","resourceVersion":"7"},"data":{"value":"many"}},
				{"metadata":{"namespace":"ns","name":"good","resourceVersion":"8"},"data":{"value":3}}]}`
			transport := inprocess.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.URL.Query().Get("watch") == "" {
					fmt.Fprint(w, list)
					return
				}
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}))
			defer transport.Close()
			c, err := client.New(transport.RESTConfig())
			if err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			i := informer.New(client.NewSource(c), configmaps,
				informer.Options[*numbered]{Lazy: lazy, Log: slog.New(slog.NewTextHandler(&log, nil))})
			stop := run(i)
			<-i.Synced()
			read := i.Indexer().List()
			stop()
			if len(read) != 1 || read[0].Data.Value != 3 || i.Unreadable() != 1 {
				t.Errorf("lazy %t: the cache has %v, %d could not be read", lazy, read, i.Unreadable())
			}
			for _, part := range []string{"ns/bad", "*informer_test.numbered", "data.value is", "many", "int32"} {
				if !strings.Contains(log.String(), part) {
					t.Errorf("lazy %t: the log lacks %s:\n%s", lazy, part, &log)
				}
			}
		})
	}
}

// The waits for an unreachable server increase to ten seconds and differ among clients.
func TestBackoffGrowsWithJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		requests := make([][]time.Duration, 20)
		start := time.Now()
		var stops []func()
		for n := range requests {
			transport := inprocess.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				mu.Lock()
				requests[n] = append(requests[n], time.Since(start))
				mu.Unlock()
				w.WriteHeader(http.StatusInternalServerError)
			}))
			defer transport.Close()
			c, err := client.New(transport.RESTConfig())
			if err != nil {
				t.Fatal(err)
			}
			stops = append(stops, run(informer.New(client.NewSource(c), configmaps, quiet())))
		}
		time.Sleep(10 * time.Minute)
		for _, stop := range stops {
			stop()
		}
		differ := map[time.Duration]bool{}
		for _, at := range requests {
			if len(at) < 60 || len(at) > 130 { // ten minutes of waits between 5 and 10 s, and some shorter ones before
				t.Errorf("got %d requests in ten minutes", len(at))
			}
			if first := at[1] - at[0]; first > 200*time.Millisecond {
				t.Errorf("the first delay was %v", first)
			}
			for k := 10; k+1 < len(at); k++ {
				wait := at[k+1] - at[k]
				if differ[wait.Round(time.Millisecond)] = true; wait < 5*time.Second || wait > 10*time.Second {
					t.Errorf("delay %d was %v", k, wait)
				}
			}
		}
		if len(differ) < 100 {
			t.Errorf("got %d different waits of twenty informers", len(differ))
		}
	})
}
