package core

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

// podKind returns the kind of pods with its subresources.
func podKind(cache *object.Cache) kind.Kind {
	info := kind.Info{
		Kind: "Pod", Plural: "pods", Singular: "pod",
		ShortNames: []string{"po"},
		Categories: []string{"all"},
		Namespaced: true,
		Endpoints:  []kind.Endpoint{{Version: "v1", Selectable: podSelectable}},
		Subresources: []kind.Subresource{
			connection("attach", "PodAttachOptions"),
			podBinding,
			podEphemeralContainers,
			podEviction,
			connection("exec", "PodExecOptions"),
			{Name: "log", Verbs: []string{"get"}, Connect: &kind.Connect{Text: true}},
			connection("portforward", "PodPortForwardOptions"),
			proxy("PodProxyOptions"),
			podResize,
			{Name: "status", Verbs: []string{"get", "patch", "update"},
				Preserves: []string{"metadata.deletionTimestamp", "metadata.ownerReferences"}},
		},
		Graceful:       true,
		ReturnsDeleted: true,
		Generation:     true,
		EarlyWarnings:  func(obj kind.Object) []string { return podspec.EarlyWarnings(obj.(*corev1.Pod)) },
	}
	return kind.NewTyped(cache, info, kind.Rules[*corev1.Pod]{
		Default:        podspec.Default,
		Prepare:        podspec.Prepare,
		Validate:       fieldcheck.WithFinalizers(podspec.Validate),
		Warnings:       podspec.Warnings,
		StatusWarnings: podspec.StatusWarnings,
		Fields:         podFields,
		Columns:        podColumns,
		Row:            podRow,
		GracePeriod:    podGracePeriod,
	})
}

// podSelectable are the field selectors of pods; spec.host is the old name of spec.nodeName. As in
// Kubernetes, status.podIPs is accepted but never set.
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

// podFields omits empty values: a selector treats a missing field as the empty string.
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

// podGracePeriod returns the grace period of the request or of the spec. For a pod without a node, and for
// one that has ended, it returns 0.
func podGracePeriod(pod *corev1.Pod, requested *int64) int64 {
	var seconds int64
	switch {
	case requested != nil:
		seconds = *requested
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
