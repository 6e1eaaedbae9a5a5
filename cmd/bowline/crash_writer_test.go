package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// slot is a ConfigMap that only one writer changes. Each state that the writer creates has a unique number.
type slot struct {
	name string
	// history lists the numbers of the confirmed states in order, 0 for a deletion.
	history []int
	// revision is the revision of the last state for which the server returned one.
	revision uint64
	// pending is the number of an unanswered write, or nil.
	pending *int
}

// now returns the number of the current state, or 0 if the object does not exist.
func (s *slot) now() int {
	if len(s.history) == 0 {
		return 0
	}
	return s.history[len(s.history)-1]
}

// contentOf returns the content of a state. Every line of it identifies the object and the state.
func contentOf(name string, number int) map[string]string {
	h := fnv.New32a()
	fmt.Fprint(h, name, number)
	line := fmt.Sprintf("%s %d\n", name, number)
	return map[string]string{"number": strconv.Itoa(number), "text": strings.Repeat(line, int(h.Sum32()%400))}
}

// objectOf returns a state as an object.
func objectOf(name string, number int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"number": strconv.Itoa(number)}},
		Data:       contentOf(name, number),
	}
}

// numberOf returns the number of an object's state. It returns an error if any part of the object differs
// from that state.
func numberOf(o *corev1.ConfigMap) (int, error) {
	number, err := strconv.Atoi(o.Data["number"])
	if err != nil {
		return 0, fmt.Errorf("%s: got no number in data %v", o.Name, o.Data)
	}
	want := objectOf(o.Name, number)
	if diff := cmp.Diff(want.Data, o.Data); diff != "" || o.Labels["number"] != want.Labels["number"] {
		return 0, fmt.Errorf("%s differs from state %d: labels %v; data (-want +got)\n%s", o.Name, number, o.Labels,
			diff)
	}
	return number, nil
}

// writer changes its own objects sequentially.
type writer struct {
	id      int
	random  *rand.Rand
	slots   []*slot
	numbers int
}

func newWriter(id int, seed uint64) *writer {
	w := &writer{id: id, random: rand.New(rand.NewPCG(seed, uint64(id)))}
	for i := range 6 {
		w.slots = append(w.slots, &slot{name: fmt.Sprintf("w%d-%d", id, i)})
	}
	return w
}

// write sends requests until one is not answered, and calls answered for each response. It returns an error
// for an unexpected response.
func (w *writer) write(ctx context.Context, maps typedcorev1.ConfigMapInterface, answered func()) error {
	for {
		s := w.slots[w.random.IntN(len(w.slots))]
		w.numbers++
		number := w.numbers
		if s.now() != 0 && w.random.IntN(4) == 0 {
			number = 0
		}
		s.pending = &number
		made, err := w.send(ctx, maps, s, number)
		var status apierrors.APIStatus
		switch {
		case errors.As(err, &status):
			return fmt.Errorf("changing %s from state %d to %d: %w", s.name, s.now(), number, err)
		case err != nil:
			return nil
		}
		s.pending = nil
		s.history = append(s.history, number)
		if made != nil {
			revision, err := strconv.ParseUint(made.ResourceVersion, 10, 64)
			if err != nil || revision <= s.revision {
				return fmt.Errorf("%s: got revision %q, want one after %d", s.name, made.ResourceVersion, s.revision)
			}
			s.revision = revision
		}
		answered()
	}
}

// send writes the state of a number with a random suitable verb.
func (w *writer) send(ctx context.Context, maps typedcorev1.ConfigMapInterface, s *slot,
	number int) (*corev1.ConfigMap, error) {
	want := objectOf(s.name, number)
	switch {
	case number == 0:
		return nil, maps.Delete(ctx, s.name, metav1.DeleteOptions{})
	case s.now() == 0:
		return maps.Create(ctx, want, metav1.CreateOptions{})
	}
	switch w.random.IntN(3) {
	case 0:
		want.ResourceVersion = strconv.FormatUint(s.revision, 10)
		return maps.Update(ctx, want, metav1.UpdateOptions{})
	case 1:
		patch := fmt.Sprintf(`{"metadata":{"labels":{"number":"%d"}},"data":{"number":"%d","text":%q}}`, number, number,
			want.Data["text"])
		return maps.Patch(ctx, s.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	}
	applied := corev1apply.ConfigMap(s.name, metav1.NamespaceDefault).WithLabels(want.Labels).WithData(want.Data)
	return maps.Apply(ctx, applied, metav1.ApplyOptions{FieldManager: "crash", Force: true})
}

// reconcile compares the slot with the object found after a crash, or nil. It reports whether a write was
// unanswered, and whether that write was done.
func (s *slot) reconcile(found *corev1.ConfigMap) (unanswered, done bool, err error) {
	number, revision := 0, s.revision
	if found != nil {
		if number, err = numberOf(found); err != nil {
			return false, false, err
		}
		if revision, err = strconv.ParseUint(found.ResourceVersion, 10, 64); err != nil {
			return false, false, err
		}
	}
	pending := s.pending
	s.pending = nil
	switch {
	case number == s.now() && revision == s.revision:
		return pending != nil, false, nil
	case pending != nil && number == *pending && (found == nil || revision > s.revision):
		s.history, s.revision = append(s.history, number), revision
		return true, true, nil
	case pending != nil:
		return true, false,
			fmt.Errorf("%s: got state %d at revision %d, want the acknowledged %d at %d, or the pending %d",
				s.name, number, revision, s.now(), s.revision, *pending)
	}
	return false, false, fmt.Errorf("%s: got state %d at revision %d, want the acknowledged %d at %d", s.name, number,
		revision, s.now(), s.revision)
}
