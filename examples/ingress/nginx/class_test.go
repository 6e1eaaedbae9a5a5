package nginx

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestIngressesOfTheClassAreServed(t *testing.T) {
	t.Parallel()
	named, other, none := newIngress("named"), newIngress("other"), newIngress("none")
	old, leaving := newIngress("old"), newIngress("leaving")
	other.Spec.IngressClassName = pointer("traefik")
	none.Spec.IngressClassName, old.Spec.IngressClassName = nil, nil
	old.Annotations = map[string]string{legacyClass: DefaultClass}
	leaving.DeletionTimestamp = &metav1.Time{}
	all := objectsOf(named, other, none, old, leaving)
	isDefault := map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}
	for _, test := range []struct {
		name  string
		class *networkingv1.IngressClass
		want  string
	}{
		{"without a class", nil, "named old"},
		{"with it", &networkingv1.IngressClass{}, "named old"},
		{"where it is the default", &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Annotations: isDefault}}, "named none old"},
	} {
		var got []string
		for _, i := range mine(all, test.class, DefaultClass) {
			got = append(got, i.Name)
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: %s, want %s", test.name, text, test.want)
		}
	}
}
