package core

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/object"
)

// podKind is the pods of the core group, with status, binding and eviction.
func podKind(cache *object.Cache) kind.Kind {
	info := kind.Info{
		Kind: "Pod", Plural: "pods", Singular: "pod",
		ShortNames: []string{"po"},
		Categories: []string{"all"},
		Namespaced: true,
		Endpoints:  []kind.Endpoint{{Version: "v1", Selectable: podSelectable}},
		Subresources: []kind.Subresource{
			podBinding,
			podEviction,
			podLog,
			{Name: "status", Verbs: []string{"get", "patch", "update"}, Keeps: []string{"metadata.deletionTimestamp", "metadata.ownerReferences"}},
		},
		Graceful:       true,
		AnswersDeleted: true,
		Generation:     true,
	}
	return kind.NewTyped(cache, info, kind.Rules[*corev1.Pod]{
		Default:        defaultPod,
		Prepare:        preparePod,
		Validate:       validatePod,
		Warnings:       podWarnings,
		StatusWarnings: podStatusWarnings,
		Fields:         podFields,
		Columns:        podColumns,
		Row:            podRow,
		GracePeriod:    podGracePeriod,
	})
}

// podSelectable are the field selectors of pods; spec.host is the old name of spec.nodeName. status.podIPs is accepted
// but never set, as in Kubernetes.
var podSelectable = map[string]string{
	"spec.nodeName":            "",
	"spec.host":                "spec.nodeName",
	"spec.restartPolicy":       "",
	"spec.schedulerName":       "",
	"spec.serviceAccountName":  "",
	"spec.hostNetwork":         "",
	"status.phase":             "",
	"status.podIP":             "",
	"status.podIPs":            "",
	"status.nominatedNodeName": "",
}

// podFields leaves empty values out: a selector reads a field that is not there as the empty string.
func podFields(pod *corev1.Pod) map[string]string {
	fields := make(map[string]string, 6)
	set := func(name, value string) {
		if value != "" {
			fields[name] = value
		}
	}
	set("spec.nodeName", pod.Spec.NodeName)
	set("spec.restartPolicy", string(pod.Spec.RestartPolicy))
	set("spec.schedulerName", pod.Spec.SchedulerName)
	set("spec.serviceAccountName", pod.Spec.ServiceAccountName)
	set("spec.hostNetwork", strconv.FormatBool(pod.Spec.HostNetwork))
	set("status.phase", string(pod.Status.Phase))
	set("status.podIP", pod.Status.PodIP)
	set("status.nominatedNodeName", pod.Status.NominatedNodeName)
	return fields
}

// podGracePeriod leaves a pod the time that the client or its spec gives, but none to a pod that runs nowhere: one
// without a node, or one that has ended.
func podGracePeriod(pod *corev1.Pod, asked *int64) int64 {
	var seconds int64
	switch {
	case asked != nil:
		seconds = *asked
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		seconds = *pod.Spec.TerminationGracePeriodSeconds
	}
	if pod.Spec.NodeName == "" || podEnded(pod) {
		return 0
	}
	if seconds < 0 {
		return 1
	}
	return seconds
}

func podEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// preparePod gives a new pod its first status, and keeps what a write of a subresource must not change.
func preparePod(pod, old *corev1.Pod, sub string) {
	switch {
	case old == nil:
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: podQOS(pod)}
		markGated(pod)
		mergeMatchLabelKeys(pod)
	case sub == "status":
		pod.OwnerReferences = old.OwnerReferences
		if pod.Status.QOSClass == "" {
			pod.Status.QOSClass = old.Status.QOSClass
		}
	case sub == "binding":
		// A binding is the scheduler's word, not a change of what the user declared: the generation stays.
		pod.Generation = old.Generation
		pod.Status.NominatedNodeName = "" // what was promised is kept, or no more needed
		markScheduled(pod)
	}
}

// markGated tells the scheduler, and whoever looks, that the pod waits for its scheduling gates.
func markGated(pod *corev1.Pod) {
	if len(pod.Spec.SchedulingGates) == 0 {
		return
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type:    corev1.PodScheduled,
		Status:  corev1.ConditionFalse,
		Reason:  corev1.PodReasonSchedulingGated,
		Message: "Scheduling is blocked due to non-empty scheduling gates",
	})
}

// markScheduled sets the PodScheduled condition; one that is true already keeps its time.
func markScheduled(pod *corev1.Pod) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type != corev1.PodScheduled {
			continue
		}
		if c.Status != corev1.ConditionTrue {
			*c = corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
		}
		return
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
	})
}

// podLog is empty: nothing runs pods here, so nothing has written any. A pod that a node's agent elsewhere runs has its
// log there.
var podLog = kind.Subresource{
	Name:  "log",
	Verbs: []string{"get"},
	Text: func(obj kind.Object) (string, error) {
		pod := obj.(*corev1.Pod)
		if pod.Spec.NodeName == "" {
			return "", nil
		}
		return "", apierrors.NewServiceUnavailable("the log of pod " + pod.Name + " is with the node " + pod.Spec.NodeName + ", which this server does not reach")
	},
}
