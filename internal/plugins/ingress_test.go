package plugins_test

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

func ingressClass(name string, age time.Duration, isDefault string) kind.Object {
	return &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age)),
		Annotations: map[string]string{"ingressclass.kubernetes.io/is-default-class": isDefault},
	}}
}

func TestDefaultIngressClass(t *testing.T) {
	t.Parallel()
	const none = "none"
	own := "own"
	plain, old := ingressClass("plain", 0, "false"), ingressClass("old", time.Hour, "true")
	fresh, twin := ingressClass("fresh", time.Minute, "true"), ingressClass("also-fresh", time.Minute, "true")
	for name, c := range map[string]struct {
		classes []kind.Object
		ingress networkingv1.Ingress
		update  bool
		want    string
	}{
		"no class":                 {want: none},
		"no class that is default": {classes: []kind.Object{plain}, want: none},
		"the default":              {classes: []kind.Object{plain, old}, want: "old"},
		"the newest of two":        {classes: []kind.Object{old, fresh}, want: "fresh"},
		"the first name of two":    {classes: []kind.Object{fresh, twin, old}, want: "also-fresh"},
		"one that names a class": {classes: []kind.Object{old}, want: own,
			ingress: networkingv1.Ingress{Spec: networkingv1.IngressSpec{IngressClassName: &own}}},
		"one that names it as of old": {classes: []kind.Object{old}, want: none,
			ingress: networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kubernetes.io/ingress.class": ""}}}},
		"an update": {classes: []kind.Object{old}, update: true, want: none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			write := create("ingresses", "default", "i", c.ingress.DeepCopy())
			write.Resource.Group = networkingv1.GroupName
			if c.update {
				write.Operation, write.Old = admission.Update, c.ingress.DeepCopy()
			}
			s := state{{Group: networkingv1.GroupName, Resource: "ingressclasses"}: c.classes,
				namespaces: {namespace("default", "Active")}}
			if err := admit(s, write); err != nil {
				t.Fatal(err)
			}
			got := none
			if class := write.Object.(*networkingv1.Ingress).Spec.IngressClassName; class != nil {
				got = *class
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
