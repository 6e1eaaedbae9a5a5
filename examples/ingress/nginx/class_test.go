package nginx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/bowlinetest"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestClassSelection(t *testing.T) {
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
		{"where it is the default", &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Annotations: isDefault}},
			"named none old"},
	} {
		var got []string
		for _, i := range ofClass(all, test.class, DefaultClass) {
			got = append(got, i.Name)
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: %s, want %s", test.name, text, test.want)
		}
	}
}

// An Ingress without a class belongs to the default class.
func TestDefaultClass(t *testing.T) {
	t.Parallel()
	l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")))
	i := newIngress("web").prefix("h.com", "/", "web")
	i.Spec.IngressClassName = nil
	l.create(i)
	isDefault := map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}
	class := &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: DefaultClass, Annotations: isDefault},
		Spec:       networkingv1.IngressClassSpec{Controller: ControllerName},
	}
	if err := create(l, class); err != nil {
		t.Fatal(err)
	}
	l.serves("h.com", "/", "web")
}

// classOfAnother returns an IngressClass of the default name that belongs to another controller.
func classOfAnother() *networkingv1.IngressClass {
	return &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: DefaultClass},
		Spec:       networkingv1.IngressClassSpec{Controller: "example.com/other"},
	}
}

// If the IngressClass changes to another controller, one Event and one log line report it, however many
// Ingresses change. No change is served until the class is returned.
func TestForeignClass(t *testing.T) {
	t.Parallel()
	l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")),
		newIngress("web").prefix("h.com", "/", "web").Ingress)
	if err := create(l, classOfAnother()); err != nil {
		t.Fatal(err)
	}
	l.event(DefaultClass, reasonForeignClass, "its controller is now example.com/other")
	for n := range 5 {
		l.create(newIngress(fmt.Sprint("later-", n)).prefix("i.com", fmt.Sprint("/", n), "web"))
	}
	if got := l.get("h.com", "/") + l.get("i.com", "/0"); got != "web404" {
		t.Errorf("while the class is foreign, nginx answers %s", got)
	}
	classes := bowlinetest.Client[*networkingv1.IngressClass](t, l.plane)
	if err := classes.Delete(t.Context(), "", DefaultClass, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.serves("i.com", "/4", "web")
	if n := l.count("the IngressClass belongs to another controller"); n != 1 {
		t.Errorf("the log reports the foreign class %d times, want once", n)
	}
}

// If the class belongs to another controller from the start, nginx answers 404 to all requests.
func TestForeignClassFromTheStart(t *testing.T) {
	t.Parallel()
	l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")), classOfAnother(),
		newIngress("web").prefix("h.com", "/", "web").Ingress)
	if got := l.get("h.com", "/"); got != "404" {
		t.Errorf("nginx answers %s, want 404", got)
	}
	classes := bowlinetest.Client[*networkingv1.IngressClass](t, l.plane)
	if err := classes.Delete(t.Context(), "", DefaultClass, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.serves("h.com", "/", "web")
}
