package nginx

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Keys are cached only while an Ingress names their Secret.
func TestUnusedCertificatesAreRemoved(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	secrets := map[string]*corev1.Secret{"one": a.secret("one", 1, nil, "h.com"),
		"two": a.secret("two", 2, nil, "i.com")}
	s, r := newTestApplier("bad.com") // file names are hexadecimal and may contain "bad"
	s.certificates = newCertificates(func(key types.NamespacedName) *corev1.Secret { return secrets[key.Name] })
	s.listening.https, s.objects.certificate = "127.0.0.1:443", s.certificates.file
	one := newIngress("one").prefix("h.com", "/", "s").tls("one", "h.com")
	two := newIngress("two").prefix("i.com", "/", "s").tls("two", "i.com")
	for _, step := range []struct {
		declared []*networkingv1.Ingress
		cached   int
	}{{objectsOf(one, two), 2}, {objectsOf(one, two), 2}, {objectsOf(one), 1}, {nil, 0}} {
		s.mustApply(t, step.declared...)
		c := s.certificates
		if cached := []int{len(c.read), len(c.good), len(c.content)}; slices.Min(cached) != step.cached ||
			slices.Max(cached) != step.cached {
			t.Errorf("for %d Ingresses the cache has %v Secrets, good files, contents", len(step.declared), cached)
		}
	}
	if r.tests == 0 {
		t.Error("nothing was served")
	}
}
