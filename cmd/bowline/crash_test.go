package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/internal/seed"
)

// TestServerKilledUnderLoadLosesNothing kills a server at random points while clients write. After each start,
// every acknowledged write must be complete, and there must be no state that no client requested. Revisions
// never decrease, and a watch that resumes after each crash has no gap. BOWLINE_CRASHES sets the number of
// crashes. BOWLINE_SEED repeats the random choices of a run, but not its timing.
func TestServerKilledUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	c := newCrashes(t)
	defer c.report(t)
	for round := range crashCount(t, 20) {
		if err := c.round(t); err != nil {
			t.Fatalf("seed %d, round %d: %v", c.seed, round, err)
		}
	}
	if err := c.finish(t); err != nil {
		t.Fatalf("seed %d: %v", c.seed, err)
	}
}

// crashCount returns the number of crashes of a test.
func crashCount(t *testing.T, usual int) int {
	t.Helper()
	text := os.Getenv("BOWLINE_CRASHES")
	if text == "" {
		return usual
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 {
		t.Fatalf("invalid BOWLINE_CRASHES %q: must be a number", text)
	}
	return count
}

// crashes holds the state folder, the records of the clients, and statistics.
type crashes struct {
	seed    uint64
	random  *rand.Rand
	folder  string
	writers []*writer
	watcher *watcher // nil until the first list
	newest  uint64   // the revision of the last list

	kills, early, acknowledged, unanswered, done int
}

func newCrashes(t *testing.T) *crashes {
	c := &crashes{seed: seed.Of(t), folder: t.TempDir()}
	c.random = rand.New(rand.NewPCG(c.seed, 1<<32))
	for id := range 8 {
		c.writers = append(c.writers, newWriter(id, c.seed))
	}
	return c
}

func (c *crashes) report(t *testing.T) {
	resumed, events := 0, 0
	if c.watcher != nil {
		resumed, events = c.watcher.resumed, c.watcher.events
	}
	t.Logf("seed %d: %d kills, %d of them before the server was ready; %d writes acknowledged, %d not answered, of "+
		"which %d were done; "+
		"%d consecutive watches received %d events", c.seed, c.kills, c.early, c.acknowledged, c.unanswered, c.done,
		resumed, events)
}

// start starts a server. One server in eight is killed during startup, and start then returns no client.
func (c *crashes) start(t *testing.T) (*crashServer, typedcorev1.ConfigMapInterface, error) {
	server := startCrashServer(t, c.folder, ownObjects)
	if c.watcher != nil && c.random.IntN(8) == 0 {
		defer time.AfterFunc(time.Duration(c.random.IntN(120))*time.Millisecond, server.kill).Stop()
	}
	config, err := server.ready()
	if config == nil || err != nil {
		return server, nil, err
	}
	maps, err := configMaps(config)
	return server, maps, err
}

func configMaps(config *rest.Config) (typedcorev1.ConfigMapInterface, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return clients.CoreV1().ConfigMaps(metav1.NamespaceDefault), nil
}

// round starts a server, compares its state with the clients' records, and kills it while they write.
func (c *crashes) round(t *testing.T) error {
	server, maps, err := c.start(t)
	defer server.kill()
	c.kills++
	if err != nil {
		return err
	}
	if maps == nil {
		c.early++
		return nil
	}
	ctx := withoutClientLogs(t)
	list, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil && server.killed.Load() {
		c.early++
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.check(list); err != nil {
		return err
	}
	return c.load(ctx, server, maps)
}

// withoutClientLogs returns a context in which client-go does not log broken connections.
func withoutClientLogs(t *testing.T) context.Context {
	return klog.NewContext(t.Context(), klog.Logger{})
}

// load runs all writers until the server is killed, a moment after a random number of responses.
func (c *crashes) load(ctx context.Context, server *crashServer, maps typedcorev1.ConfigMapInterface) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	last, moment := int64(1+c.random.IntN(250)), time.Duration(c.random.IntN(5000))*time.Microsecond
	var answers atomic.Int64
	var group errgroup.Group
	for _, w := range c.writers {
		group.Go(func() error {
			return w.write(ctx, maps, func() {
				if answers.Add(1) == last {
					time.AfterFunc(moment, server.kill)
				}
			})
		})
	}
	group.Go(func() error { return c.watcher.follow(ctx, maps, server.killed.Load) })
	err := group.Wait()
	c.acknowledged += int(answers.Load())
	if ctx.Err() != nil {
		return fmt.Errorf("%d writes were acknowledged in %s, want %d", answers.Load(), patience, last)
	}
	return err
}

// check compares the state of a new server with the clients' records.
func (c *crashes) check(list *corev1.ConfigMapList) error {
	revision, err := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if err != nil || revision < c.newest {
		return fmt.Errorf("got revision %q after the restart, want at least %d", list.ResourceVersion, c.newest)
	}
	c.newest = revision
	if c.watcher == nil {
		c.watcher = &watcher{revision: revision, seen: map[string][]int{}}
	}
	found := map[string]*corev1.ConfigMap{}
	for i := range list.Items {
		found[list.Items[i].Name] = &list.Items[i]
	}
	for _, s := range c.slots() {
		unanswered, done, err := s.reconcile(found[s.name])
		if err != nil {
			return err
		}
		if s.revision > revision {
			return fmt.Errorf("got revision %d after the restart, but %s was acknowledged at %d", revision, s.name,
				s.revision)
		}
		delete(found, s.name)
		if unanswered {
			c.unanswered++
		}
		if done {
			c.done++
		}
	}
	for name := range found {
		return fmt.Errorf("%s exists, but no writer created it", name)
	}
	return nil
}

func (c *crashes) slots() []*slot {
	var all []*slot
	for _, w := range c.writers {
		all = append(all, w.slots...)
	}
	return all
}

// finish starts the last server, and compares all events of the watcher with the history.
func (c *crashes) finish(t *testing.T) error {
	server := startCrashServer(t, c.folder, ownObjects)
	config, err := server.ready()
	if err != nil {
		return err
	}
	maps, err := configMaps(config)
	if err != nil {
		return err
	}
	list, err := maps.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	if err := c.check(list); err != nil {
		return err
	}
	if _, err := maps.Create(t.Context(), objectOf("last", 1), metav1.CreateOptions{}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.watcher.follow(ctx, maps, func() bool { return c.watcher.seen["last"] != nil }); err != nil {
		return err
	}
	return c.watcher.compare(c.slots())
}
