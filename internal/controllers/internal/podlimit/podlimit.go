// Package podlimit bounds the pods that the built-in controllers create for one object, whatever number its spec asks
// for: how many exist at a time, and how many are created within a few seconds. Both bounds follow from the pods that
// exist, so they hold across restarts. The controllers of kinds that create pods use it.
package podlimit

import (
	"fmt"
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

const (
	// MaxPods is how many pods of one owner may exist that have not ended. Kubernetes' thresholds for good performance
	// are 5,000 nodes, and 3,000 pods in a namespace.
	MaxPods = 20_000
	// MaxRecent is how many pods of one owner may have been created within Window.
	MaxRecent = 2_000
	Window    = 4 * time.Second
	// MaxJobs is how many Jobs of one CronJob may exist: those of three days if one is created each minute.
	MaxJobs = 5_000
)

// recheckAfter is the delay before a refused owner is decided about again, if it shares MaxPods with others whose pods
// do not trigger that.
const recheckAfter = 10 * time.Second

// Reason is the reason of the condition and the event that report a limit, as for other pods that are not created.
const Reason = "FailedCreate"

// ConditionType is the type of the condition that reports a limit.
const ConditionType = "ReplicaFailure"

// Usage counts the pods of one owner. The zero value has none.
type Usage struct {
	// Shared is set if the pods belong to several objects, such as the ReplicaSets of one Deployment.
	Shared bool
	// Objects is how many objects are created with each pod, itself included; 0 stands for 1.
	Objects int

	existing, recent int
	// wait is the time until the first of the recent pods leaves the window.
	wait time.Duration
}

// Count returns the usage of the owner of all pods.
func Count(now time.Time, all iter.Seq[*corev1.Pod]) (u Usage) {
	for pod := range all {
		if !pods.IsTerminal(pod) {
			u.existing++
		}
		age := now.Sub(pod.CreationTimestamp.Time)
		if age < 0 || age >= Window { // a time in the future is that of another clock
			continue
		}
		u.recent++
		if wait := Window - age; u.wait == 0 || wait < u.wait {
			u.wait = wait
		}
	}
	return u
}

// Grant is the answer to an owner that lacks pods.
type Grant struct {
	// Pods is how many pods may be created now.
	Pods int
	// Wait is after how long more may be created; 0 if that depends on changes of the pods.
	Wait time.Duration
	// Refusal is the limit that does not permit all missing pods now; nil if they may be created.
	Refusal *Refusal
}

// Grant returns how many of the missing pods may be created now.
func (u Usage) Grant(missing int) Grant {
	each := max(1, u.Objects)
	total, soon := max(0, MaxPods/each-u.existing), max(0, max(1, MaxRecent/each)-u.recent)
	switch g := (Grant{Pods: max(0, min(missing, total, soon))}); {
	case missing > total:
		g.Refusal = &Refusal{u.totalMessage()}
		if g.Wait = u.wait; total == 0 {
			g.Wait = 0
			if u.Shared {
				g.Wait = recheckAfter
			}
		}
		return g
	case missing > soon:
		g.Wait, g.Refusal = u.wait, &Refusal{u.rateMessage()}
		return g
	default:
		return g
	}
}

// Refusal is the error for pods that are not created because of a limit. Its message does not change while pods are
// created.
type Refusal struct{ message string }

func (r *Refusal) Error() string { return r.message }

// GrantJob returns why a CronJob with that many Jobs may not create another one, or nil if it may.
func GrantJob(existing int) *Refusal {
	if existing < MaxJobs {
		return nil
	}
	return &Refusal{fmt.Sprintf("at most %d jobs of one cronjob may exist; others are created when some of them are deleted",
		MaxJobs)}
}

func (u Usage) totalMessage() string {
	return fmt.Sprintf("at most %d %s may exist at a time; others are created when some of them have ended or are deleted",
		MaxPods, u.what())
}

func (u Usage) rateMessage() string {
	return fmt.Sprintf("at most %d %s are created within %s; the others follow", MaxRecent, u.what(), Window)
}

// what describes the objects that are counted.
func (u Usage) what() string {
	what := "pods of one owner"
	if u.Objects > 1 {
		what = "pods and claims of one owner"
	}
	return what
}
