package manager

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPortSelection(t *testing.T) {
	t.Parallel()
	h2c, http := "kubernetes.io/h2c", "http"
	for name, c := range map[string]struct {
		port  string
		ports []corev1.ServicePort
		want  int32
	}{
		"the only one":        {"", []corev1.ServicePort{{Port: 9000}}, 9000},
		"the first":           {"", []corev1.ServicePort{{Name: "a", Port: 1}, {Name: "b", Port: 2}}, 1},
		"the one called http": {"", []corev1.ServicePort{{Name: "metrics", Port: 1}, {Name: "http", Port: 2}}, 2},
		"the one that speaks http": {"", []corev1.ServicePort{
			{Name: "a", Port: 1, AppProtocol: &h2c}, {Name: "b", Port: 2, AppProtocol: &http},
		}, 2},
		"none of UDP": {"", []corev1.ServicePort{
			{Name: "http", Port: 1, Protocol: corev1.ProtocolUDP}, {Name: "tcp", Port: 2, Protocol: corev1.ProtocolTCP},
		}, 2},
		"asked for by name":    {"b", []corev1.ServicePort{{Name: "http", Port: 1}, {Name: "b", Port: 2}}, 2},
		"asked for by number":  {"2", []corev1.ServicePort{{Name: "http", Port: 1}, {Name: "b", Port: 2}}, 2},
		"asked for, not there": {"3", []corev1.ServicePort{{Name: "http", Port: 1}}, 0},
		"asked for, but of UDP": {"dns", []corev1.ServicePort{{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}},
			0},
		"there is none": {"", nil, 0},
	} {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationPort: c.port}}}
		s.Spec.Ports = c.ports
		got, problem := portOf(s)
		if got != c.want || (problem != nil) != (c.want == 0) {
			t.Errorf("%s: got port %d (%v), want %d", name, got, problem, c.want)
		}
	}
}
