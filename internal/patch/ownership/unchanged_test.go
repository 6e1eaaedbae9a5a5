package ownership

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestDropUnchangedKeepsDifferences checks that types with their own JSON encoding are kept whole if they
// differ: an int and a percentage have fields in common.
func TestDropUnchangedKeepsDifferences(t *testing.T) {
	t.Parallel()
	surge := func(size intstr.IntOrString) *appsv1.RollingUpdateDaemonSet {
		return &appsv1.RollingUpdateDaemonSet{MaxSurge: &size}
	}
	type both struct {
		Meta   metav1.ObjectMeta
		Spec   corev1.PodSpec
		Port   intstr.IntOrString
		Rolled *appsv1.RollingUpdateDaemonSet
	}
	was := both{
		Meta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"a": "b"}, ResourceVersion: "1"},
		Spec: corev1.PodSpec{NodeName: "n"}, Port: intstr.FromString("http"), Rolled: surge(intstr.FromString("10%")),
	}
	is := both{
		Meta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"a": "c"}, ResourceVersion: "1"},
		Spec: corev1.PodSpec{NodeName: "n"}, Port: intstr.FromString("https"), Rolled: surge(intstr.FromString("20%")),
	}
	if dropUnchanged(reflect.ValueOf(&was).Elem(), reflect.ValueOf(&is).Elem()) {
		t.Error("got no difference")
	}
	left := func(label, port, size string) both {
		return both{
			Meta: metav1.ObjectMeta{Labels: map[string]string{"a": label}}, Port: intstr.FromString(port),
			Rolled: surge(intstr.FromString(size)),
		}
	}
	if diff := cmp.Diff(left("b", "http", "10%"), was) + cmp.Diff(left("c", "https", "20%"), is); diff != "" {
		t.Errorf("remaining fields (-want +got):\n%s", diff)
	}
	if same := is; !dropUnchanged(reflect.ValueOf(&is).Elem(), reflect.ValueOf(&same).Elem()) ||
		!reflect.ValueOf(is).IsZero() {
		t.Errorf("equal objects: got %+v", is)
	}
}
