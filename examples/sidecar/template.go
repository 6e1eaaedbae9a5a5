package sidecar

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

// Template contains the containers and volumes to be added to pods. A container or volume whose name the pod
// has already is not added, so adding a template is idempotent.
type Template struct {
	Containers []corev1.Container `json:"containers"`
	Volumes    []corev1.Volume    `json:"volumes"`
}

// ReadTemplate parses the template in a ConfigMap. It rejects unknown fields, because a typo would otherwise
// affect every pod.
func ReadTemplate(cm *corev1.ConfigMap) (*Template, error) {
	invalid := func(err error) error { return fmt.Errorf("config map %s/%s, %s: %w", cm.Namespace, cm.Name, Key, err) }
	text, ok := cm.Data[Key]
	if !ok {
		return nil, invalid(errors.New("is missing: it must have containers and volumes, in YAML"))
	}
	t := &Template{}
	if err := yaml.UnmarshalStrict([]byte(text), t); err != nil {
		return nil, invalid(err)
	}
	if len(t.Containers) == 0 {
		return nil, invalid(errors.New("has no containers"))
	}
	for i, c := range t.Containers {
		if c.Name == "" {
			return nil, invalid(fmt.Errorf("containers[%d] has no name, which is required to find it in pods", i))
		}
	}
	for i, v := range t.Volumes {
		if v.Name == "" {
			return nil, invalid(fmt.Errorf("volumes[%d] has no name, which is required to find it in pods", i))
		}
	}
	return t, nil
}

// missing returns the parts of the template that a pod lacks; they are shared with the template. A pod
// without containers lacks nothing: it is invalid, and the server reports that.
func (t *Template) missing(pod *corev1.Pod) (containers []corev1.Container, volumes []corev1.Volume) {
	if len(pod.Spec.Containers) == 0 {
		return nil, nil
	}
	for _, c := range t.Containers {
		if !slices.ContainsFunc(pod.Spec.Containers, func(has corev1.Container) bool { return has.Name == c.Name }) {
			containers = append(containers, c)
		}
	}
	for _, v := range t.Volumes {
		if !slices.ContainsFunc(pod.Spec.Volumes, func(has corev1.Volume) bool { return has.Name == v.Name }) {
			volumes = append(volumes, v)
		}
	}
	return containers, volumes
}

// Inject returns a copy of the pod with the complete template, or the pod itself if it has that already. It
// does not modify pod.
func (t *Template) Inject(pod *corev1.Pod) *corev1.Pod {
	containers, volumes := t.missing(pod)
	if len(containers)+len(volumes) == 0 {
		return pod
	}
	injected, own := pod.DeepCopy(), (&corev1.PodSpec{Containers: containers, Volumes: volumes}).DeepCopy()
	injected.Spec.Containers = append(injected.Spec.Containers, own.Containers...)
	injected.Spec.Volumes = append(injected.Spec.Volumes, own.Volumes...)
	return injected
}

// MergePatch returns a strategic merge patch that is equivalent to Inject, and {} if nothing is missing. The
// patch contains only additions, so it may be applied to a pod with concurrent changes and with fields
// unknown to this program. (A diff between the pod and one that consists only of the template, as some
// tutorials suggest, would remove the pod's own containers.)
func (t *Template) MergePatch(pod *corev1.Pod) ([]byte, error) {
	before, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(t.Inject(pod))
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(before, after, &corev1.Pod{})
}

// operation is an operation of a JSON Patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// JSONPatch returns the equivalent JSON Patch, for the response of a webhook; nil if nothing is missing.
func (t *Template) JSONPatch(pod *corev1.Pod) ([]byte, error) {
	var steps []operation
	containers, volumes := t.missing(pod)
	for _, c := range containers {
		steps = append(steps, operation{"add", "/spec/containers/-", c})
	}
	switch {
	case len(volumes) > 0 && len(pod.Spec.Volumes) == 0:
		steps = append(steps, operation{"add", "/spec/volumes", volumes})
	default:
		for _, v := range volumes {
			steps = append(steps, operation{"add", "/spec/volumes/-", v})
		}
	}
	if steps == nil {
		return nil, nil
	}
	return json.Marshal(steps)
}
