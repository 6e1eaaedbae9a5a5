package core

import (
	"maps"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

// newPod returns the pod that a create of a minimal pod stores, with YAML merged into its spec.
func newPod(t *testing.T, spec string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", Labels: map[string]string{"app": "a"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	overlay(t, spec, &pod.Spec)
	podspec.Default(pod)
	podspec.Prepare(pod, nil, "")
	return pod
}

func overlay(t *testing.T, text string, on any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), on); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func TestPodFieldsAreSelectable(t *testing.T) {
	t.Parallel()
	k := podKind(object.NewCache(1 << 20))
	selectable := k.Info().Endpoints[0].Selectable
	pod := newPod(t, `{nodeName: n, serviceAccountName: s}`)
	for name := range k.Fields(pod) {
		if _, ok := selectable[name]; !ok {
			t.Errorf("%s has a value but cannot be selected by", name)
		}
	}
	if got := k.Fields(pod)["spec.hostNetwork"]; got != "false" {
		t.Errorf("spec.hostNetwork: %q", got)
	}
}

func TestBindingSetsNode(t *testing.T) {
	t.Parallel()
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", ResourceVersion: "7",
			Annotations: map[string]string{"a": "b", "pod.beta.kubernetes.io/init-containers": "[]"},
			Labels:      map[string]string{corev1.LabelTopologyZone: "z", "app": "y"}},
		Target: corev1.ObjectReference{Kind: "Node", Name: "n1"},
	}
	pod := newPod(t, ``)
	pod.UID, pod.ResourceVersion = "u", "7"
	if err := podBinding.Apply(pod, binding); err != nil {
		t.Fatal(err)
	}
	if pod.Spec.NodeName != "n1" || !conditionTrue(pod, corev1.PodScheduled) ||
		!maps.Equal(pod.Annotations, map[string]string{"a": "b"}) {
		t.Errorf("bound pod: node %q, conditions %v, annotations %v", pod.Spec.NodeName, pod.Status.Conditions,
			pod.Annotations)
	}
	if pod.Labels[corev1.LabelTopologyZone] != "z" || pod.Labels["app"] != "y" {
		t.Errorf("labels of the bound pod: %v", pod.Labels)
	}
	if err := podBinding.Apply(pod, binding); !apierrors.IsConflict(err) {
		t.Errorf("second binding: %v, want a conflict", err)
	}
}

func TestBindingErrors(t *testing.T) {
	t.Parallel()
	node := corev1.ObjectReference{Kind: "Node", Name: "n"}
	internal := func(err error) bool {
		status, ok := err.(apierrors.APIStatus)
		return ok && status.Status().Code == http.StatusInternalServerError && status.Status().Reason == ""
	}
	for _, r := range []struct {
		rule    string
		change  func(*corev1.Pod, *corev1.Binding)
		refused func(error) bool
		want    string
	}{
		{"to what is no node", func(_ *corev1.Pod, b *corev1.Binding) { b.Target.Kind = "Rack" }, internal,
			`target.kind: Unsupported value: "Rack": supported values: "Node", "<empty>"`},
		{"to no name", func(_ *corev1.Pod, b *corev1.Binding) { b.Target.Name = "" }, internal,
			`target.name: Required value`},
		{"to a node with an invalid name", func(_ *corev1.Pod, b *corev1.Binding) { b.Target.Name = "N" }, internal,
			`target.name: Invalid value: "N": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"of a pod with another UID", func(p *corev1.Pod, b *corev1.Binding) { p.UID, b.UID = "u", "v" }, apierrors.IsConflict,
			`Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, Key: /registry/pods/default/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: v, UID in object meta: u`},
		{"of a pod in another state", func(p *corev1.Pod, b *corev1.Binding) {
			p.ResourceVersion, b.ResourceVersion = "7", "6"
		}, apierrors.IsConflict,
			`Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, Key: /registry/pods/default/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ResourceVersion in precondition: 6, ResourceVersion in object meta: 7`},
		{"of another pod", func(_ *corev1.Pod, b *corev1.Binding) { b.Name = "q" }, apierrors.IsBadRequest,
			`name in URL does not match name in Binding object`},
		{"of a pod that waits", func(p *corev1.Pod, _ *corev1.Binding) {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "a"}}
		}, apierrors.IsConflict,
			`Operation cannot be fulfilled on pods/binding "p": pod p has non-empty .spec.schedulingGates`},
		{"of a pod that goes", func(p *corev1.Pod, _ *corev1.Binding) {
			p.DeletionTimestamp = new(metav1.Now())
		}, apierrors.IsConflict,
			`Operation cannot be fulfilled on pods/binding "p": pod p is being deleted, cannot be assigned to a host`},
	} {
		pod, binding := newPod(t, ``), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: node}
		r.change(pod, binding)
		err := podBinding.Check("p", binding)
		if err == nil {
			err = podBinding.Apply(pod, binding)
		}
		if !r.refused(err) || err.Error() != r.want {
			t.Errorf("binding %s: %v, want %s", r.rule, err, r.want)
		}
	}
}

func TestGracePeriodOfPods(t *testing.T) {
	t.Parallel()
	running := func(p *corev1.Pod) { p.Spec.NodeName = "n" }
	for _, r := range []struct {
		rule      string
		change    func(*corev1.Pod)
		requested *int64
		want      int64
	}{
		{"without a node", func(*corev1.Pod) {}, nil, 0},
		{"its own", running, nil, 30},
		{"what is asked for", running, new(int64(5)), 5},
		{"none", running, new(int64(0)), 0},
		{"negative", func(p *corev1.Pod) { running(p); p.Spec.TerminationGracePeriodSeconds = new(int64(-1)) }, nil, 1},
		{"ended", func(p *corev1.Pod) { running(p); p.Status.Phase = corev1.PodSucceeded }, nil, 0},
	} {
		pod := newPod(t, ``)
		r.change(pod)
		if got := podGracePeriod(pod, r.requested); got != r.want {
			t.Errorf("%s: %d seconds, want %d", r.rule, got, r.want)
		}
	}
}

func TestGatedPodStatus(t *testing.T) {
	t.Parallel()
	pod := newPod(t, `schedulingGates: [{name: a}]`)
	if got := podRow(pod, time.Now())[2]; got != "SchedulingGated" {
		t.Errorf("status of a gated pod: %v", got)
	}
}
