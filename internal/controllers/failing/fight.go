package failing

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// A set lets a pod go that its selector matches no more, and makes another one. Where somebody gives each pod other labels as
// soon as it is made, such as a webhook, that has no end: pods without number, or, where the other labels are another set's,
// which deletes what it has too many, writes without number. What sets say of it is here; how they leave off is theirs.

// ReasonFight is the reason of the conditions and events that tell of it.
const ReasonFight = "FightingSelectors"

// Young is how old a pod is at most that was lost as soon as it was made.
const Young = 10 * time.Second

// Fight says what goes on, and what to do about it. about says what has become of a pod: Lost.
func Fight(about string) string {
	return "the pods are given other labels as soon as they are made: " + about +
		"; find out who changes them (a webhook, another controller), or change the selector and the template's labels"
}

// Lost says why a set let a pod go, and which other sets take such a pod.
func Lost(pod *corev1.Pod, selector labels.Selector, others []string) string {
	about := fmt.Sprintf("pod %q has the labels %s, and the selector is %s", pod.Name, labels.Set(pod.Labels), selector)
	if len(others) > 0 {
		about += ", while that of " + strings.Join(others, " and ") + " matches it"
	}
	return about
}
