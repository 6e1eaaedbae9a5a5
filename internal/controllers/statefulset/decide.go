package statefulset

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/adopt"
	"github.com/bowline-dev/bowline/internal/controllers/history"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
	"github.com/bowline-dev/bowline/internal/controllers/sets"
)

// Seen is what a decision is made of.
type Seen struct {
	sets.Seen[*appsv1.StatefulSet]
	// Claim is the claim of the namespace with a name, or nil.
	Claim func(name string) *corev1.PersistentVolumeClaim
}

// Plan is what to do about a set.
type Plan = sets.Plan[appsv1.StatefulSetStatus]

// work is a decision that is being made.
type work struct {
	Seen
	line history.Line
	// current is the revision that the set had before it took up the template's.
	current *appsv1.ControllerRevision
	// size is how many pods there should be, with the ordinals from the first on. replicas are those of them that there are, by
	// their ordinals; condemned are those with other ordinals, the highest first; pods are all.
	size      int
	replicas  map[int]*corev1.Pod
	condemned []*corev1.Pod
	pods      []*corev1.Pod
	// deleted are pods of the current revision that a rollout deletes now.
	deleted int32
	actions []action.Action
	// asks says that they follow from all pods: they delete some that work, or make one that has waited for those before it.
	asks bool
	// unread is why the current revision, which is needed, cannot be read.
	unread error
	again  time.Duration
}

// Decide says what is to be done next so that the set has a pod of each of its ordinals, of the revision that it should be of.
func Decide(s Seen) (Plan, error) {
	selector, err := metav1.LabelSelectorAsSelector(s.Set.Spec.Selector)
	if err != nil {
		return Plan{}, err
	}
	owner := adopt.Owner{Object: s.Set, Kind: kind, In: resource, Selector: selector}
	line, err := history.Of(history.Workload{
		Owner: owner, Template: &s.Set.Spec.Template, Collisions: ptr.To(ptr.Deref(s.Set.Status.CollisionCount, 0)),
		Hash: hash, Label: hashLabel,
	}, s.Revisions, s.Revision)
	if err != nil {
		return Plan{}, err
	}
	claims := claim(owner, s)
	w := newWork(s, line, append(claims.Owned, claims.Adopted...))
	if s.Set.DeletionTimestamp != nil { // what it had goes, or stays without it: that is others' work
		return Plan{Status: w.status()}, nil
	}
	w.step()
	if w.unread != nil {
		return Plan{}, w.unread
	}
	w.forget()
	if w.asks {
		same := action.Same[*corev1.Pod]{In: pods.Resource, Owner: s.Set, Selector: selector, Objects: s.Pods}
		w.actions = slices.Concat([]action.Action{same}, w.actions)
	}
	plan := Plan{Claim: append(line.Actions, claims.Actions(owner, pods.Resource)...), Keep: w.actions, Status: w.status()}
	plan.Again = w.again
	return plan, nil
}

// hashLabel is the label of a revision with its hash.
const hashLabel = "controller.kubernetes.io/hash"

// hash is what Kubernetes names a StatefulSet's revision by: the bytes of its data.
func hash(data []byte, collisions *int32) string {
	h := fnv.New32()
	h.Write(data)
	if collisions != nil {
		h.Write([]byte(strconv.Itoa(int(*collisions))))
	}
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

// claim says whose pods are whose: those that have no ordinal of the set by their name are none of its pods, whatever their
// labels.
func claim(owner adopt.Owner, s Seen) adopt.Claims[*corev1.Pod] {
	var members, strangers []*corev1.Pod
	for _, pod := range s.Pods {
		if _, ok := ordinalOf(s.Set, pod); ok {
			members = append(members, pod)
		} else if metav1.IsControlledBy(pod, s.Set) && pod.DeletionTimestamp == nil {
			strangers = append(strangers, pod)
		}
	}
	claims := adopt.Claim(owner, members)
	claims.Released = append(claims.Released, strangers...)
	return claims
}

func newWork(s Seen, line history.Line, mine []*corev1.Pod) *work {
	w := &work{Seen: s, line: line, current: line.Now, size: int(ptr.Deref(s.Set.Spec.Replicas, 1)), replicas: map[int]*corev1.Pod{}, pods: mine}
	for _, r := range line.Old {
		if r.Name == s.Set.Status.CurrentRevision {
			w.current = r
		}
	}
	for _, pod := range mine {
		if ordinal := w.ordinal(pod); w.inRange(ordinal) {
			w.replicas[ordinal] = pod
		} else {
			w.condemned = append(w.condemned, pod)
		}
	}
	slices.SortFunc(w.condemned, func(a, b *corev1.Pod) int { return cmp.Compare(w.ordinal(b), w.ordinal(a)) })
	return w
}

func (w *work) ordinal(pod *corev1.Pod) int {
	ordinal, _ := ordinalOf(w.Set, pod)
	return ordinal
}

// inRange says whether the set should have a pod of an ordinal.
func (w *work) inRange(ordinal int) bool {
	return ordinal >= first(w.Set) && ordinal-first(w.Set) < w.size
}

// lacking is a pod that is to be made: of the current revision where a rollout has not come yet, or is kept from coming. A
// revision that cannot be read is no reason to go on where the rollout may not.
func (w *work) lacking(ordinal int) *corev1.Pod {
	template, revision := &w.Set.Spec.Template, w.line.Now.Name
	if w.current != w.line.Now && ordinal-first(w.Set) < w.untouched() {
		if template, w.unread = history.TemplateOf(w.current); w.unread != nil {
			return nil
		}
		revision = w.current.Name
	}
	return newPod(w.Set, template, revision, ordinal)
}

// untouched is how many pods, from the first on, a rollout leaves as they are.
func (w *work) untouched() int {
	switch strategy := w.Set.Spec.UpdateStrategy; {
	case strategy.Type != appsv1.RollingUpdateStatefulSetStrategyType:
		return 0
	case strategy.RollingUpdate == nil:
		return int(w.Set.Status.CurrentReplicas)
	default:
		return int(ptr.Deref(strategy.RollingUpdate.Partition, 0))
	}
}

// forget deletes the oldest revisions, if those that no pod is of are more than the set wants to keep. A negative number keeps
// all.
func (w *work) forget() {
	limit := int(ptr.Deref(w.Set.Spec.RevisionHistoryLimit, 10))
	used := map[string]bool{w.current.Name: true}
	for _, pod := range w.pods {
		used[revisionOf(pod)] = true
	}
	needed := func(r *appsv1.ControllerRevision) bool { return used[r.Name] }
	idle := 0
	for _, r := range w.line.Old {
		if !needed(r) {
			idle++
		}
	}
	if limit >= 0 {
		w.actions = append(w.actions, history.Forget(w.line.Old, needed, idle-limit)...)
	}
}

// soon notes that something will be otherwise after a while.
func (w *work) soon(after time.Duration) {
	if after > 0 && (w.again == 0 || after < w.again) {
		w.again = after
	}
}

func (w *work) event(warning bool, reason, format string, args ...any) action.Event {
	return action.Event{About: w.Set, Warning: warning, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// inTurn is actions of which each needs those before it.
type inTurn []action.Action

func (t inTurn) String() string {
	if len(t) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%s, and %d more", t[0], len(t)-1)
}

func (t inTurn) Do(ctx context.Context, by *action.Hand) error {
	_, err := by.Do(ctx, t...)
	return err
}
