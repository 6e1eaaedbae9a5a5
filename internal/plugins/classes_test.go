package plugins_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/plugins"
)

var (
	storageClasses = schema.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}
	runtimeClasses = schema.GroupResource{Group: "node.k8s.io", Resource: "runtimeclasses"}
	nodes          = schema.GroupResource{Resource: "nodes"}
)

func storageClass(name string, age time.Duration, isDefault bool) *storagev1.StorageClass {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name,
		CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(-age))}}
	if isDefault {
		class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	}
	return class
}

func TestDefaultStorageClass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		classes []kind.Object
		claim   corev1.PersistentVolumeClaim
		want    string // of the claim; "none" if it names no class
	}{
		"no default": {[]kind.Object{storageClass("a", 0, false)}, corev1.PersistentVolumeClaim{}, "none"},
		"the newest default": {[]kind.Object{storageClass("a", time.Hour, true), storageClass("b", 0, true),
			storageClass("c", 0, true)}, corev1.PersistentVolumeClaim{}, "b"},
		"no class wanted": {[]kind.Object{storageClass("a", 0, true)}, corev1.PersistentVolumeClaim{
			Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: new("")}}, ""},
		"an annotation": {[]kind.Object{storageClass("a", 0, true)}, corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
				"volume.beta.kubernetes.io/storage-class": "b"}}}, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := create("persistentvolumeclaims", "default", "c", &c.claim)
			if err := (plugins.DefaultStorageClass{}).Admit(context.Background(), a,
				state{storageClasses: c.classes}); err != nil {
				t.Fatal(err)
			}
			got := "none"
			if n := c.claim.Spec.StorageClassName; n != nil {
				got = *n
			}
			if got != c.want {
				t.Errorf("class %q, want %q", got, c.want)
			}
		})
	}
}

func TestClaimsGrowOnlyWhereTheirClassAllowsIt(t *testing.T) {
	t.Parallel()
	growing := storageClass("growing", 0, false)
	growing.AllowVolumeExpansion = new(true)
	s := state{storageClasses: {growing, storageClass("fixed", 0, false)}}
	claim := func(class, size string, phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class,
				Resources: corev1.VolumeResourceRequirements{Requests: amounts("storage=" + size)}},
			Status: corev1.PersistentVolumeClaimStatus{Phase: phase},
		}
	}
	const refused = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc " +
		"must support resize"
	for _, c := range []struct {
		name, class, size string
		phase             corev1.PersistentVolumeClaimPhase
		want              string
	}{
		{"the same size", "fixed", "1Gi", corev1.ClaimPending, ""},
		{"a class that allows it", "growing", "2Gi", corev1.ClaimBound, ""},
		{"a claim that is not bound", "growing", "2Gi", corev1.ClaimPending,
			"Only bound persistent volume claims can be expanded"},
		{"a class that does not", "fixed", "2Gi", corev1.ClaimBound, refused},
		{"a class that does not exist", "none", "2Gi", corev1.ClaimBound, refused},
		{"no class", "", "2Gi", corev1.ClaimBound, refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := create("persistentvolumeclaims", "default", "c", claim(c.class, c.size, c.phase))
			a.Operation, a.Old = admission.Update, claim(c.class, "1Gi", c.phase)
			wantForbidden(t, (plugins.ResizeClaims{}).Validate(context.Background(), a, s),
				`persistentvolumeclaims "c" is forbidden: `, c.want)
		})
	}
}

// TestRuntimeClass checks what a class sets in its pods, and the rejections of Kubernetes
// (plugin/pkg/admission/runtimeclass).
func TestRuntimeClass(t *testing.T) {
	t.Parallel()
	five, ten := int64(5), int64(10)
	noExecute := func(seconds *int64) corev1.Toleration {
		return corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: seconds}
	}
	s := state{runtimeClasses: {&nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}, Handler: "runsc",
		Overhead: &nodev1.Overhead{PodFixed: amounts("cpu=100m")},
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"sandbox": "yes"},
			Tolerations: []corev1.Toleration{noExecute(&ten)}},
	}, &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "plain"}, Handler: "runc"}}}
	for _, c := range []struct {
		name string
		spec corev1.PodSpec
		want string
	}{
		{"a class", corev1.PodSpec{RuntimeClassName: new("gvisor")}, ""},
		{"no class", corev1.PodSpec{}, ""},
		{"an unknown class", corev1.PodSpec{RuntimeClassName: new("none")},
			`pod rejected: RuntimeClass "none" not found`},
		{"another overhead", corev1.PodSpec{RuntimeClassName: new("gvisor"), Overhead: amounts("cpu=1")},
			"pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"},
		{"an overhead without a class", corev1.PodSpec{Overhead: amounts("cpu=1")},
			"pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"},
		{"an overhead of a class without one", corev1.PodSpec{RuntimeClassName: new("plain"),
			Overhead: amounts("cpu=1")},
			"pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"},
		{"a conflicting selector", corev1.PodSpec{RuntimeClassName: new("gvisor"),
			NodeSelector: map[string]string{"sandbox": "no"}},
			"conflict: runtimeClass.scheduling.nodeSelector[sandbox] = yes; pod.spec.nodeSelector[sandbox] = no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := create("pods", "default", "p", &corev1.Pod{Spec: c.spec})
			chain := plugins.NewChain(s, plugins.RuntimeClass{})
			err := chain.Admit(context.Background(), a)
			if err == nil {
				err = chain.Validate(context.Background(), a)
			}
			wantForbidden(t, err, `pods "p" is forbidden: `, c.want)
		})
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{RuntimeClassName: new("gvisor"),
		Tolerations: []corev1.Toleration{noExecute(&five)}}}
	if err := (plugins.RuntimeClass{}).Admit(context.Background(), create("pods", "default", "p", pod), s); err != nil {
		t.Fatal(err)
	}
	want := corev1.PodSpec{RuntimeClassName: new("gvisor"), Overhead: amounts("cpu=100m"),
		NodeSelector: map[string]string{"sandbox": "yes"}, Tolerations: []corev1.Toleration{noExecute(&ten)}}
	if diff := cmp.Diff(want, pod.Spec); diff != "" {
		t.Errorf("the pod with its class (-want +got):\n%s", diff)
	}
}

func TestPodsGetTopologyLabelsOfTheirNode(t *testing.T) {
	t.Parallel()
	s := state{nodes: {&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{
		"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "other": "o"}}}}}
	want := map[string]string{"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "app": "web"}
	own := func() map[string]string {
		return map[string]string{"app": "web", "topology.kubernetes.io/zone": "mine"}
	}
	for name, obj := range map[string]kind.Object{
		"a pod on the node": &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: own()},
			Spec: corev1.PodSpec{NodeName: "n"}},
		"a binding": &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Labels: own()},
			Target: corev1.ObjectReference{Kind: "Node", Name: "n"}},
	} {
		if err := (plugins.PodTopologyLabels{}).Admit(context.Background(), create("pods", "default", "p", obj),
			s); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, obj.GetLabels()); diff != "" {
			t.Errorf("labels of %s (-want +got):\n%s", name, diff)
		}
	}
	for name, obj := range map[string]kind.Object{
		"a pod without a node":       &corev1.Pod{},
		"a pod on an unknown node":   &corev1.Pod{Spec: corev1.PodSpec{NodeName: "m"}},
		"a binding to another thing": &corev1.Binding{Target: corev1.ObjectReference{Kind: "Pod", Name: "n"}},
	} {
		if err := (plugins.PodTopologyLabels{}).Admit(context.Background(), create("pods", "default", "p", obj),
			s); err != nil || len(obj.GetLabels()) > 0 {
			t.Errorf("%s: labels %v, error %v", name, obj.GetLabels(), err)
		}
	}
}
