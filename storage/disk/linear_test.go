package disk_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/cockroachdb/pebble/v2/vfs"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/seed"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// The concurrent requests of eight clients have a sequential order that explains every answer, even if
// clients give up and never learn the result of a write.
func TestRequestsAreLinearizable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		storage func(t *testing.T) log.Log
		start   func(testing.TB, ...func(*bowline.Options)) *world
	}{
		"memory, in process": {func(*testing.T) log.Log { return memory.New() }, start},
		"memory, over TLS":   {func(*testing.T) log.Log { return memory.New() }, startTLS},
		"a folder, over TLS": {func(t *testing.T) log.Log {
			return must(disk.Open(t.TempDir(), disk.Options{}))(t)
		}, startTLS},
		"a folder, in process": {func(t *testing.T) log.Log {
			return must(disk.Open(t.TempDir(), disk.Options{}))(t)
		}, start},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegisters(t)
			w := test.start(t, func(o *bowline.Options) { o.Storage = test.storage(t) })
			r.work(t, w, 8, 25, nil)
			r.judge(t)
		})
	}
}

// The same holds if the machine loses power while clients write, with any part of the unsynced data. Answers
// from before the crash hold after it.
func TestRequestsAreLinearizableOverCrashes(t *testing.T) {
	t.Parallel()
	r := newRegisters(t)
	fs := vfs.NewCrashableMem()
	for range 4 {
		w := startPlane(t, bowline.Options{
			Controllers: []string{bowline.NoControllers}, Storage: must(disk.Open("store", disk.Options{FS: fs}))(t),
		}, nil)
		w.connect(t, w.RESTConfig())
		r.work(t, w, 8, 20, func() {
			began := r.clock.Add(1)
			fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.random.IntN(101), RNG: r.random})
			r.crashes = append(r.crashes, crash{began, r.clock.Add(1)})
		})
		if err := w.Close(); err != nil { // later writes do not reach the clone of the disk
			t.Error(err)
		}
	}
	r.judge(t)
}

// registers is config maps that clients use as variables, with the requests and answers.
type registers struct {
	seed   uint64
	random *rand.Rand
	clock  atomic.Int64

	mu      sync.Mutex
	history []operation
	// crashes end one life each.
	crashes []crash
	life    int
}

// operation is a client's operation in one of the server's lives, and crash the time in which the durable
// state at the end of a life was determined.
type operation struct {
	porcupine.Operation
	life int
}

type crash struct{ began, ended int64 }

func newRegisters(t *testing.T) *registers {
	t.Helper()
	seed := seed.Of(t)
	return &registers{seed: seed, random: rand.New(rand.NewPCG(seed, 0))}
}

// question is a request for one key or, for a list, for all keys. revision is the resourceVersion in the
// request, or 0.
type question struct {
	verb     string
	key      int
	value    string
	revision uint64
}

// response is the answer. Of a list, cells are all keys and revision is that of the list.
type response struct {
	outcome  string // ok, absent, exists, conflict, unknown
	cell     cell
	cells    [3]cell
	revision uint64
}

// cell is the state of a key. Its revision is 0 if it is unknown: its writer did not wait for the answer.
type cell struct {
	there    bool
	value    string
	revision uint64
}

// work runs clients concurrently, and calls crash, if it is not nil, after half of the requests.
func (r *registers) work(t *testing.T, w *world, clients, each int, crash func()) {
	var asked atomic.Int64
	// Results of requests during the crash are unknown, which makes porcupine's search more expensive.
	var crashing atomic.Bool
	half := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var group sync.WaitGroup
	for id := range clients {
		random := rand.New(rand.NewPCG(r.seed, r.random.Uint64()))
		client := typed(t, w.config, []string{jsonType, protobufType}[id%2]).CoreV1().ConfigMaps("default")
		group.Go(func() {
			known := map[int]uint64{}
			for range each {
				if asked.Add(1) == int64(clients*each/2) {
					close(half)
				}
				if crashing.Load() {
					return
				}
				r.ask(ctx, t, client, id, random, known)
			}
		})
	}
	if crash != nil {
		<-half
		crashing.Store(true)
		crash()
		stop()
	}
	group.Wait()
	r.life++
}

// verbs are the clients' verbs, each as often as it is listed.
var verbs = []string{"create", "create", "update", "update", "update", "delete", "get", "get", "list"}

// ask sends a request and records the answer. known are the revisions that the client knows.
func (r *registers) ask(
	ctx context.Context, t *testing.T, maps corev1client.ConfigMapInterface, id int, random *rand.Rand,
	known map[int]uint64,
) {
	in := question{verb: verbs[random.IntN(len(verbs))], key: random.IntN(3)}
	if random.IntN(3) > 0 {
		in.revision = known[in.key]
	}
	if random.IntN(20) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(2000))*time.Microsecond)
		defer cancel()
	}
	call := r.clock.Add(1)
	in.value = strconv.FormatInt(call, 10)
	out, err := in.of(ctx, maps)
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%+v: %v", in, err)
	}
	if out.cell.revision != 0 {
		known[in.key] = out.cell.revision
	}
	op := porcupine.Operation{ClientId: id, Input: in, Call: call, Output: out, Return: r.clock.Add(1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = append(r.history, operation{op, r.life})
}

// of sends a request to a server. An error is not an answer.
func (in question) of(ctx context.Context, maps corev1client.ConfigMapInterface) (response, error) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name(in.key)},
		Data: map[string]string{"value": in.value}}
	var answer *corev1.ConfigMap
	var err error
	switch in.verb {
	case "create":
		answer, err = maps.Create(ctx, cm, metav1.CreateOptions{})
	case "update":
		if in.revision != 0 {
			cm.ResourceVersion = strconv.FormatUint(in.revision, 10)
		}
		answer, err = maps.Update(ctx, cm, metav1.UpdateOptions{})
	case "get":
		answer, err = maps.Get(ctx, name(in.key), metav1.GetOptions{})
	case "delete":
		var o metav1.DeleteOptions
		if in.revision != 0 {
			version := strconv.FormatUint(in.revision, 10)
			o.Preconditions = &metav1.Preconditions{ResourceVersion: &version}
		}
		err = maps.Delete(ctx, name(in.key), o)
	case "list":
		return asList(maps.List(ctx, metav1.ListOptions{}))
	}
	switch {
	case apierrors.IsNotFound(err):
		return response{outcome: "absent"}, nil
	case apierrors.IsAlreadyExists(err):
		return response{outcome: "exists"}, nil
	case apierrors.IsConflict(err):
		return response{outcome: "conflict"}, nil
	case err != nil:
		return response{outcome: "unknown"}, err
	case answer == nil:
		return response{outcome: "ok"}, nil
	}
	return response{outcome: "ok", cell: cellOf(answer)}, nil
}

func name(key int) string { return "register-" + strconv.Itoa(key) }

func cellOf(cm *corev1.ConfigMap) cell {
	revision, _ := strconv.ParseUint(cm.ResourceVersion, 10, 64) // the model finds that none is 0
	return cell{there: true, value: cm.Data["value"], revision: revision}
}

func asList(list *corev1.ConfigMapList, err error) (response, error) {
	if err != nil {
		return response{outcome: "unknown"}, err
	}
	out := response{outcome: "ok"}
	out.revision, _ = strconv.ParseUint(list.ResourceVersion, 10, 64)
	for key := range out.cells {
		i := slices.IndexFunc(list.Items, func(cm corev1.ConfigMap) bool { return cm.Name == name(key) })
		if i >= 0 {
			out.cells[key] = cellOf(&list.Items[i])
		}
	}
	return out, nil
}

// settled returns the history after its crashes. The result of a write that was answered after a crash began
// is unknown, and a request after the crash, to a server whose disk is not read again, never happened. Reads
// without an answer are left out.
func (r *registers) settled() (history []porcupine.Operation) {
	for _, op := range r.history {
		if op.life < len(r.crashes) {
			crash := r.crashes[op.life]
			if op.Call > crash.ended {
				continue
			}
			if op.Return > crash.began {
				op.Output = response{outcome: "unknown"}
			}
		}
		if op.Output.(response).outcome == "unknown" {
			if verb := op.Input.(question).verb; verb == "get" || verb == "list" {
				continue
			}
			op.Return = math.MaxInt64
		}
		history = append(history, op.Operation)
	}
	return history
}

// judge lets porcupine look for an order, and draws the history if there is none.
func (r *registers) judge(t *testing.T) {
	t.Helper()
	history := r.settled()
	counts := map[string]int{}
	for _, op := range history {
		counts[op.Output.(response).outcome]++
	}
	t.Logf("%d requests: %v, over %d crashes", len(history), counts, len(r.crashes))
	result, info := porcupine.CheckOperationsVerbose(registerModel, history, time.Minute)
	if result == porcupine.Ok {
		return
	}
	picture := filepath.Join(t.ArtifactDir(), "history.html")
	if err := porcupine.VisualizePath(registerModel, info, picture); err != nil {
		t.Error(err)
	}
	t.Errorf("seed %d: no order of the requests explains their answers (%v): see %s, kept with go test -artifacts",
		r.seed, result, picture)
}
