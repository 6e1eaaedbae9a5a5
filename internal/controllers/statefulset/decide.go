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

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/history"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podset"
)

// Observed is the observed state that a decision is based on.
type Observed struct {
	podset.Observed[*appsv1.StatefulSet]
	// Claim returns the claim of the namespace with a name, or nil.
	Claim func(name string) *corev1.PersistentVolumeClaim
}

// Plan lists the actions for a set and its new status.
type Plan = podset.Plan[appsv1.StatefulSetStatus]

// decision is the state of a decision in progress.
type decision struct {
	Observed
	history history.Revisions
	// current is the revision of the pods that the rollout has not reached yet. It equals history.Current if no
	// rollout is in progress.
	current *appsv1.ControllerRevision
	// size is the desired number of pods, with ascending ordinals from first on. replicas maps these ordinals
	// to the existing pods; condemned are the pods with other ordinals, the highest first; pods are all of
	// them.
	size      int
	replicas  map[int]*corev1.Pod
	condemned []*corev1.Pod
	pods      []*corev1.Pod
	// terminating counts the pods of the current revision that this step's rollout deletes.
	terminating int32
	actions     []action.Action
	// limit is how many pods may be created now; the conditions of the status report it.
	limit      podlimit.Grant
	conditions []appsv1.StatefulSetCondition
	// needsCheck is set if the actions delete an available pod, or create one that had to wait for its
	// predecessors. Since these depend on the state of all pods, the server is first asked to confirm that
	// state.
	needsCheck bool
	// decodeErr is the error of decoding the current revision, set only if the decision needs it.
	decodeErr    error
	requeueAfter time.Duration
}

// Decide returns the next actions that bring the set to one pod per ordinal, each of the revision that it
// should have.
func Decide(s Observed) (Plan, error) {
	selector, err := metav1.LabelSelectorAsSelector(s.Set.Spec.Selector)
	if err != nil {
		return Plan{}, err
	}
	owner := ownership.Owner{Object: s.Set, Kind: kind, Resource: resource, Selector: selector}
	revisions, err := history.Resolve(history.Workload{
		Owner: owner, Template: &s.Set.Spec.Template, Collisions: ptr.To(ptr.Deref(s.Set.Status.CollisionCount, 0)),
		Hash: hash, Label: hashLabel,
	}, s.Revisions, s.Revision)
	if err != nil {
		return Plan{}, err
	}
	claims := claim(owner, s)
	w := newDecision(s, revisions, append(claims.Owned, claims.Adopted...))
	if s.Set.DeletionTimestamp != nil { // the garbage collector deletes or orphans its dependents
		return Plan{Status: w.status()}, nil
	}
	w.reportLimit()
	w.step()
	if w.decodeErr != nil {
		return Plan{}, w.decodeErr
	}
	w.pruneHistory()
	if w.needsCheck {
		unchanged := action.DependentsUnchanged[*corev1.Pod]{Resource: pods.Resource, Owner: s.Set, Selector: selector,
			Objects: s.Pods}
		w.actions = slices.Concat([]action.Action{unchanged}, w.actions)
	}
	plan := Plan{Claim: append(revisions.Actions, claims.Actions(owner, pods.Resource)...), Apply: w.actions,
		Status: w.status()}
	plan.RequeueAfter = w.requeueAfter
	return plan, nil
}

// hashLabel is the label of a revision that holds its hash.
const hashLabel = "controller.kubernetes.io/hash"

// hash returns the suffix that Kubernetes gives to the name of a StatefulSet's revision: a hash of the
// revision's data.
func hash(data []byte, collisions *int32) string {
	h := fnv.New32()
	h.Write(data)
	if collisions != nil {
		h.Write([]byte(strconv.Itoa(int(*collisions))))
	}
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

// claim sorts the pods into those that the set owns, adopts and releases. A pod whose name has no ordinal of
// the set is not the set's, regardless of its labels.
func claim(owner ownership.Owner, s Observed) ownership.Claims[*corev1.Pod] {
	var members, nonMembers []*corev1.Pod
	for _, pod := range s.Pods {
		if _, ok := ordinalOf(s.Set, pod); ok {
			members = append(members, pod)
		} else if metav1.IsControlledBy(pod, s.Set) && pod.DeletionTimestamp == nil {
			nonMembers = append(nonMembers, pod)
		}
	}
	claims := ownership.Claim(owner, members)
	claims.Released = append(claims.Released, nonMembers...)
	return claims
}

func newDecision(s Observed, revisions history.Revisions, owned []*corev1.Pod) *decision {
	w := &decision{Observed: s, history: revisions, current: revisions.Current,
		size:     int(ptr.Deref(s.Set.Spec.Replicas, 1)),
		replicas: map[int]*corev1.Pod{}, pods: owned, conditions: s.Set.Status.Conditions}
	for _, r := range revisions.Old {
		if r.Name == s.Set.Status.CurrentRevision {
			w.current = r
		}
	}
	for _, pod := range owned {
		if ordinal := w.ordinal(pod); w.inRange(ordinal) {
			w.replicas[ordinal] = pod
		} else {
			w.condemned = append(w.condemned, pod)
		}
	}
	slices.SortFunc(w.condemned, func(a, b *corev1.Pod) int { return cmp.Compare(w.ordinal(b), w.ordinal(a)) })
	usage := podlimit.Count(s.Now, slices.Values(owned))
	usage.Objects = 1 + len(claimTemplates(s.Set))
	w.limit = usage.Grant(w.size - len(w.replicas))
	w.requeue(w.limit.Wait)
	return w
}

func (w *decision) ordinal(pod *corev1.Pod) int {
	ordinal, _ := ordinalOf(w.Set, pod)
	return ordinal
}

// inRange reports whether the set should have a pod with an ordinal.
func (w *decision) inRange(ordinal int) bool {
	return ordinal >= firstOrdinal(w.Set) && ordinal-firstOrdinal(w.Set) < w.size
}

// podToCreate returns the pod to create for an ordinal. Below the partition of a rollout it is of the current
// revision. If that revision cannot be decoded, podToCreate sets decodeErr and returns nil, because using the new
// template would violate the partition.
func (w *decision) podToCreate(ordinal int) *corev1.Pod {
	template, revision := &w.Set.Spec.Template, w.history.Current.Name
	if w.current != w.history.Current && ordinal-firstOrdinal(w.Set) < w.currentCount() {
		if template, w.decodeErr = history.DecodeTemplate(w.current); w.decodeErr != nil {
			return nil
		}
		revision = w.current.Name
	}
	return newPod(w.Set, template, revision, ordinal)
}

// currentCount returns how many pods, from the first on, are to have the current revision: those below the
// partition or, without a rolling update configuration, those that the rollout has not reached yet.
func (w *decision) currentCount() int {
	switch strategy := w.Set.Spec.UpdateStrategy; {
	case strategy.Type != appsv1.RollingUpdateStatefulSetStrategyType:
		return 0
	case strategy.RollingUpdate == nil:
		return int(w.Set.Status.CurrentReplicas)
	default:
		return int(ptr.Deref(strategy.RollingUpdate.Partition, 0))
	}
}

// pruneHistory deletes the oldest revisions if the revisions that no pod uses exceed the set's history limit. A
// negative limit disables the deletion.
func (w *decision) pruneHistory() {
	limit := int(ptr.Deref(w.Set.Spec.RevisionHistoryLimit, 10))
	used := map[string]bool{w.current.Name: true}
	for _, pod := range w.pods {
		used[revisionOf(pod)] = true
	}
	needed := func(r *appsv1.ControllerRevision) bool { return used[r.Name] }
	idle := 0
	for _, r := range w.history.Old {
		if !needed(r) {
			idle++
		}
	}
	if limit >= 0 {
		w.actions = append(w.actions, history.Prune(w.history.Old, needed, idle-limit)...)
	}
}

// requeue requests another decision after the given time, unless an earlier one has been requested.
func (w *decision) requeue(after time.Duration) {
	if after > 0 && (w.requeueAfter == 0 || after < w.requeueAfter) {
		w.requeueAfter = after
	}
}

func (w *decision) event(warning bool, reason, format string, args ...any) action.Event {
	return action.Event{Object: w.Set, Warning: warning, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// sequence is a list of actions that run in order until one fails.
type sequence []action.Action

func (t sequence) String() string {
	if len(t) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%s, and %d more", t[0], len(t)-1)
}

func (t sequence) Do(ctx context.Context, exec *action.Executor) error {
	_, err := exec.Do(ctx, t...)
	return err
}
