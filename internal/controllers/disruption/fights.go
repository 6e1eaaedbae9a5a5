package disruption

import (
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// Fights are the pods of which it was told that several budgets select them, so that it is told once: there may be many, and a
// budget's count changes with each of them. They may be used by many goroutines, and are forgotten when the process ends.
type Fights struct {
	mu   sync.Mutex
	told map[types.UID]bool
}

// mostFights is how many pods are remembered. Then it is told anew, which costs less than to find out who has gone.
const mostFights = 1 << 16

func (f *Fights) known(pod *corev1.Pod) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.told[pod.UID]
}

func (f *Fights) note(pod *corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told == nil || len(f.told) >= mostFights {
		f.told = map[types.UID]bool{}
	}
	f.told[pod.UID] = true
}

// fought tells of the pods that other budgets select too, and that nobody has told of yet.
func (s Seen) fought() (tell []action.Action) {
	for _, pod := range s.Pods {
		of := labels.Set(pod.Labels)
		if s.Fights.known(pod) || !slices.ContainsFunc(s.Others, func(other labels.Selector) bool { return other.Matches(of) }) {
			continue
		}
		tell = append(tell, action.Then{Done: func() { s.Fights.note(pod) }, Action: action.Event{
			About: pod, Warning: true, Reason: "MultiplePodDisruptionBudgets", Message: fmt.Sprintf(
				"Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.", pod.Namespace, pod.Name, s.Budget.Name),
		}})
	}
	return tell
}
