package disruption

import (
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// ReportedPods is the set of pods that were reported because several budgets select them, so that each is reported
// once: there may be many, and each of them triggers recounts. It is safe for concurrent use, and lost on
// restart.
type ReportedPods struct {
	mu   sync.Mutex
	uids map[types.UID]bool
}

// maxReported limits the set. When it is full, it is cleared and pods are reported anew, which is cheaper than
// tracking deletions.
const maxReported = 1 << 16

func (f *ReportedPods) contains(pod *corev1.Pod) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.uids[pod.UID]
}

func (f *ReportedPods) add(pod *corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.uids == nil || len(f.uids) >= maxReported {
		f.uids = map[types.UID]bool{}
	}
	f.uids[pod.UID] = true
}

// overlapEvents returns an event for each pod that another budget selects too, unless one was recorded before.
func (s Input) overlapEvents() (events []action.Action) {
	for _, pod := range s.Pods {
		of := labels.Set(pod.Labels)
		if s.Reported.contains(pod) || !slices.ContainsFunc(s.Others, func(other labels.Selector) bool {
			return other.Matches(of)
		}) {
			continue
		}
		events = append(events, action.OnSuccess{Done: func() { s.Reported.add(pod) }, Action: action.Event{
			Object: pod, Warning: true, Reason: "MultiplePodDisruptionBudgets", Message: fmt.Sprintf(
				"Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.", pod.Namespace, pod.Name,
				s.Budget.Name),
		}})
	}
	return events
}
