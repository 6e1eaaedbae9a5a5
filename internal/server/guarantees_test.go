package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/seed"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/robustness"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// Writers and watchers run for twenty minutes of a bubble's time, with selectors, bookmarks and disconnects,
// on a store whose log delays and fails appends. Package robustness, which shares no code with server and
// store, then checks all answers.
func TestWatchGuaranteesUnderFaults(t *testing.T) {
	t.Parallel()
	seed := seed.Of(t)
	synctest.Test(t, func(t *testing.T) {
		faults := &storetest.Faults{Log: memory.New()}
		w := start(t, func(o *bowline.Options) { o.Storage = faults })
		must(w.clients.CoreV1().Namespaces().Create(t.Context(), namespace("other"), metav1.CreateOptions{}))(t)
		h := &historyRecorder{w: w, faults: faults, seed: seed, done: make(chan struct{})}
		h.work(t)
		h.check(t)
	})
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// historyRecorder records the requests and answers of a plane's clients. The key of a config map is
// /namespace/name.
type historyRecorder struct {
	w      *testPlane
	faults *storetest.Faults
	seed   uint64
	done   chan struct{}

	mu      sync.Mutex
	clock   int64
	history robustness.History
	// expired counts the watches that could not resume, and lists from which they went on.
	expired int
}

// now returns a time that all clients share; each is later than the previous one.
func (h *historyRecorder) now() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	return h.clock
}

// interests are the paths, labels and fields that are watched.
var interests = []struct {
	where            robustness.Where
	namespace        string
	labels, selector string
}{
	{where: robustness.Where{Prefix: "/"}},
	{where: robustness.Where{Prefix: "/"}},
	{where: robustness.Where{Prefix: "/default/"}, namespace: "default"},
	{where: robustness.Where{Prefix: "/", Value: "red"}, labels: "colour=red"},
	{where: robustness.Where{Prefix: "/default/", Value: "blue"}, namespace: "default", labels: "colour in (blue)"},
	{where: robustness.Where{Prefix: "/default/a"}, namespace: "default", selector: "metadata.name=a"},
	{where: robustness.Where{Prefix: "/other/b", Value: "red"}, namespace: "other", labels: "colour!=blue",
		selector: "metadata.name=b"},
}

func (h *historyRecorder) work(t *testing.T) {
	var writing, watching sync.WaitGroup
	h.history.Others = true
	for i := range interests {
		random := rand.New(rand.NewPCG(h.seed, uint64(100+i)))
		client := typed(t, h.w.config, []string{jsonType, protobufType}[i%2])
		watching.Go(func() { h.watch(t, client, random, i) })
	}
	synctest.Wait()
	for i := range 4 {
		random := rand.New(rand.NewPCG(h.seed, uint64(i)))
		writing.Go(func() {
			for range 100 {
				time.Sleep(time.Duration(random.IntN(24)) * time.Second)
				h.write(t, random)
			}
		})
	}
	writing.Wait()
	time.Sleep(2 * time.Minute) // for the last bookmarks
	close(h.done)
	watching.Wait()
	for i := range interests {
		h.list(t, h.w.clients, i)
	}
}

// write makes a random write. Some make the log fail its next append or delay further ones first.
func (h *historyRecorder) write(t *testing.T, random *rand.Rand) {
	switch random.IntN(20) {
	case 0:
		h.faults.Fail(errors.New("the append fails, by chance"))
	case 1:
		time.AfterFunc(time.Duration(random.IntN(5))*time.Second, h.faults.Hold())
	}
	space, name := []string{"default", "other"}[random.IntN(2)], []string{"a", "b", "c"}[random.IntN(3)]
	maps := h.w.clients.CoreV1().ConfigMaps(space)
	found, err := maps.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("get: %v", err)
		return
	}
	exists := err == nil
	colour, call := []string{"red", "blue"}[random.IntN(2)], h.now()
	value, revision := fmt.Sprintf("%s-%d", colour, call), cellOf(found).revision
	change := robustness.Change{Key: "/" + space + "/" + name, Value: value, Expect: &revision}
	next := configMap(name, "value", value)
	next.Labels = map[string]string{"colour": colour}
	next.ResourceVersion = found.ResourceVersion
	switch {
	case !exists:
		next, err = maps.Create(t.Context(), next, metav1.CreateOptions{})
	case random.IntN(4) == 0:
		change.Deleted, change.Value = true, cellOf(found).value
		o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &found.ResourceVersion}}
		next, err = nil, maps.Delete(t.Context(), name, o)
	default:
		next, err = maps.Update(t.Context(), next, metav1.UpdateOptions{})
	}
	h.wrote(robustness.Write{Call: call, Changes: []robustness.Change{change}}, next, err)
}

// wrote records the result of a write: the object, or nil for a deletion, whose answer has no revision.
func (h *historyRecorder) wrote(w robustness.Write, made *corev1.ConfigMap, err error) {
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		w.Outcome = robustness.Refused
	case err != nil, made == nil:
		w.Outcome = robustness.Unknown
	default:
		w.Outcome, w.Revision = robustness.Acknowledged, cellOf(made).revision
	}
	w.Return = h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.history.Writes = append(h.history.Writes, w)
}

// watch lists, then watches from there, and resumes interrupted watches until the end.
func (h *historyRecorder) watch(t *testing.T, client kubernetes.Interface, random *rand.Rand, i int) {
	interest := interests[i]
	after := h.list(t, client, i)
	for {
		select {
		case <-h.done:
			return
		default:
		}
		timeout := int64(30 + random.IntN(400))
		w, err := client.CoreV1().ConfigMaps(interest.namespace).Watch(t.Context(), metav1.ListOptions{
			LabelSelector: interest.labels, FieldSelector: interest.selector, ResourceVersion: after,
			AllowWatchBookmarks: true, TimeoutSeconds: &timeout,
		})
		if err != nil {
			t.Errorf("watch of %v: %v", interest.where, err)
			return
		}
		resumable := false
		if after, resumable = h.follow(t, w, random, interest.where, after); !resumable {
			h.mu.Lock()
			h.expired++
			h.mu.Unlock()
			after = h.list(t, client, i)
		}
		switch {
		case i == 0: // watches everything without a pause, to detect events that no watch received
		case i == 1:
			time.Sleep(6 * time.Minute) // longer than the retained history
		case random.IntN(4) == 0:
			time.Sleep(time.Duration(random.IntN(400)) * time.Second)
		}
	}
}

// follow records one watch until it ends, and returns the revision to resume from; false if that is
// compacted.
func (h *historyRecorder) follow(
	t *testing.T, w watch.Interface, random *rand.Rand, where robustness.Where, after string,
) (string, bool) {
	revision, err := strconv.ParseUint(after, 10, 64)
	if err != nil {
		t.Error(err)
	}
	recorded := robustness.Watch{Where: where, After: revision}
	defer func() {
		w.Stop()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.history.Watches = append(h.history.Watches, recorded)
	}()
	for random.IntN(40) > 0 {
		var e watch.Event
		select {
		case e = <-w.ResultChan():
		case <-h.done:
			return after, true
		}
		if e.Type == watch.Error && apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
			return after, false
		}
		cm, ok := e.Object.(*corev1.ConfigMap)
		if !ok { // it has ended
			return after, true
		}
		after = cm.ResourceVersion
		at := cellOf(cm)
		if e.Type == watch.Bookmark {
			recorded.Responses = append(recorded.Responses, robustness.Response{Bookmark: at.revision})
			continue
		}
		recorded.Responses = append(recorded.Responses, robustness.Response{Events: []robustness.Event{{
			Type: string(e.Type), Key: "/" + cm.Namespace + "/" + cm.Name, Value: at.value, Revision: at.revision,
		}}})
	}
	return after, true
}

// list records a list, and returns its revision.
func (h *historyRecorder) list(t *testing.T, client kubernetes.Interface, i int) string {
	interest, call := interests[i], h.now()
	list, err := client.CoreV1().ConfigMaps(interest.namespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: interest.labels, FieldSelector: interest.selector,
	})
	if err != nil {
		t.Errorf("list of %v: %v", interest.where, err)
		return ""
	}
	l := robustness.List{Where: interest.where, Call: call, Latest: true, Items: map[string]robustness.State{}}
	l.Revision, _ = strconv.ParseUint(list.ResourceVersion, 10, 64) // 0 is found to be wrong
	for _, cm := range list.Items {
		at := cellOf(&cm)
		l.Items["/"+cm.Namespace+"/"+cm.Name] = robustness.State{Value: at.value, Revision: at.revision}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.history.Lists = append(h.history.Lists, l)
	return list.ResourceVersion
}

// check fails the test if a guarantee is broken, and saves the history then.
func (h *historyRecorder) check(t *testing.T) {
	t.Helper()
	events, bookmarks := 0, 0
	for _, w := range h.history.Watches {
		for _, r := range w.Responses {
			events += len(r.Events)
			bookmarks += min(1, int(r.Bookmark))
		}
	}
	outcomes := map[robustness.Outcome]int{}
	for _, w := range h.history.Writes {
		outcomes[w.Outcome]++
	}
	t.Logf("writes: %v; %d watches with %d events and %d bookmarks, %d of them expired; %d lists",
		outcomes, len(h.history.Watches), events, bookmarks, h.expired, len(h.history.Lists))
	broken := robustness.Check(h.history)
	if broken == nil && events > 0 && bookmarks > 0 && h.expired > 0 {
		return
	}
	path := filepath.Join(t.ArtifactDir(), "history.json")
	if data, err := json.MarshalIndent(h.history, "", " "); err != nil || os.WriteFile(path, data, 0o600) != nil {
		t.Errorf("the history could not be written to %s", path)
	}
	for _, violation := range broken[:min(10, len(broken))] {
		t.Error(violation)
	}
	t.Errorf("seed %d: %d guarantees broken, see %s, kept with go test -artifacts", h.seed, len(broken), path)
}

// cell is the value in a config map, and the revision of the config map.
type cell struct {
	value    string
	revision uint64
}

func cellOf(cm *corev1.ConfigMap) cell {
	revision, _ := strconv.ParseUint(cm.ResourceVersion, 10, 64) // the checker finds that none is 0
	return cell{value: cm.Data["value"], revision: revision}
}
