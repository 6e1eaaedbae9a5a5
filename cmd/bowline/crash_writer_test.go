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

// slot is one ConfigMap, which one writer alone writes, and so knows: each state that it writes has a number of its own.
type slot struct {
	name string
	// history is what is known to have happened, in order: the numbers of states, 0 for a deletion.
	history []int
	// revision is that of the last state, where the server said it.
	revision uint64
	// asked is what a write wants whose answer never came; nil when there is none.
	asked *int
}

// now is the number of the present state, 0 for none.
func (s *slot) now() int {
	if len(s.history) == 0 {
		return 0
	}
	return s.history[len(s.history)-1]
}

// contentOf is what a state of an object holds: every part of it tells whose it is and which.
func contentOf(name string, number int) map[string]string {
	h := fnv.New32a()
	fmt.Fprint(h, name, number)
	line := fmt.Sprintf("%s %d\n", name, number)
	return map[string]string{"number": strconv.Itoa(number), "text": strings.Repeat(line, int(h.Sum32()%400))}
}

// objectOf is a state as an object.
func objectOf(name string, number int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"number": strconv.Itoa(number)}},
		Data:       contentOf(name, number),
	}
}

// numberOf is the number of an object's state. An object that nobody wrote so, as a whole, is an error.
func numberOf(o *corev1.ConfigMap) (int, error) {
	number, err := strconv.Atoi(o.Data["number"])
	if err != nil {
		return 0, fmt.Errorf("%s has no number: %v", o.Name, o.Data)
	}
	want := objectOf(o.Name, number)
	if diff := cmp.Diff(want.Data, o.Data); diff != "" || o.Labels["number"] != want.Labels["number"] {
		return 0, fmt.Errorf("%s is not whole: its labels are %v, and (-written +found)\n%s", o.Name, o.Labels, diff)
	}
	return number, nil
}

// writer changes its own objects, one request after the other.
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

// write makes requests until one has no answer, and tells of each answer. The error is an answer that is not as it should be.
func (w *writer) write(ctx context.Context, maps typedcorev1.ConfigMapInterface, answered func()) error {
	for {
		s := w.slots[w.random.IntN(len(w.slots))]
		w.numbers++
		number := w.numbers
		if s.now() != 0 && w.random.IntN(4) == 0 {
			number = 0
		}
		s.asked = &number
		made, err := w.send(ctx, maps, s, number)
		var status apierrors.APIStatus
		switch {
		case errors.As(err, &status):
			return fmt.Errorf("write %s as %d, which is %d: %w", s.name, number, s.now(), err)
		case err != nil:
			return nil
		}
		s.asked = nil
		s.history = append(s.history, number)
		if made != nil {
			revision, err := strconv.ParseUint(made.ResourceVersion, 10, 64)
			if err != nil || revision <= s.revision {
				return fmt.Errorf("%s has revision %q after %d", s.name, made.ResourceVersion, s.revision)
			}
			s.revision = revision
		}
		answered()
	}
}

// send makes a state so, with a verb that can.
func (w *writer) send(ctx context.Context, maps typedcorev1.ConfigMapInterface, s *slot, number int) (*corev1.ConfigMap, error) {
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
		patch := fmt.Sprintf(`{"metadata":{"labels":{"number":"%d"}},"data":{"number":"%d","text":%q}}`, number, number, want.Data["text"])
		return maps.Patch(ctx, s.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	}
	applied := corev1apply.ConfigMap(s.name, metav1.NamespaceDefault).WithLabels(want.Labels).WithData(want.Data)
	return maps.Apply(ctx, applied, metav1.ApplyOptions{FieldManager: "crash", Force: true})
}

// settle compares an object with what is there after a crash, nil for nothing, and takes a write without an answer for done
// or not. It says which, when there was one.
func (s *slot) settle(there *corev1.ConfigMap) (unanswered, done bool, err error) {
	number, revision := 0, s.revision
	if there != nil {
		if number, err = numberOf(there); err != nil {
			return false, false, err
		}
		if revision, err = strconv.ParseUint(there.ResourceVersion, 10, 64); err != nil {
			return false, false, err
		}
	}
	asked := s.asked
	s.asked = nil
	switch {
	case number == s.now() && revision == s.revision:
		return asked != nil, false, nil
	case asked != nil && number == *asked && (there == nil || revision > s.revision):
		s.history, s.revision = append(s.history, number), revision
		return true, true, nil
	case asked != nil:
		return true, false, fmt.Errorf("%s is %d at revision %d; %d at %d was acknowledged, and %d asked for", s.name, number, revision, s.now(), s.revision, *asked)
	}
	return false, false, fmt.Errorf("%s is %d at revision %d; %d at %d was acknowledged", s.name, number, revision, s.now(), s.revision)
}
