// Package podloss describes why a set loses pods whose labels change as soon as they are created.
//
// A set releases a pod that its selector no longer matches and creates another one. If something else, such
// as a webhook, changes the labels of each new pod, this repeats without end and leaves pods behind; if the
// new labels match another set, that set deletes the surplus pods. This package provides what sets report
// about it; each controller has its own back-off.
package podloss

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// ReasonFightingSelectors is the reason of the conditions and events that report the loss.
const ReasonFightingSelectors = "FightingSelectors"

// MaxAge is the maximum age of a pod whose release counts as such a loss.
const MaxAge = 10 * time.Second

// Message returns the message of conditions and events, with the cause and possible remedies. about is the
// result of Describe.
func Message(about string) string {
	return "pods are relabeled as soon as they are created: " + about +
		"; find what changes the labels (a webhook, another controller), or change the selector and the template's labels"
}

// Describe states why a set released a pod, and which other sets match it.
func Describe(pod *corev1.Pod, selector labels.Selector, others []string) string {
	about := fmt.Sprintf("pod %q has the labels %s, and the selector is %s", pod.Name, labels.Set(pod.Labels), selector)
	if len(others) > 0 {
		about += ", while that of " + strings.Join(others, " and ") + " matches it"
	}
	return about
}
