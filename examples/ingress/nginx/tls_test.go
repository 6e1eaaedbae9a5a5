package nginx

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// expectTLS waits until a host is served over HTTPS with the certificate of this serial number.
func (l *lab) expectTLS(a authority, host, want string, serial int64) {
	l.Helper()
	l.until("https://"+host+" answers "+want, func() bool {
		got, number := l.getTLS(a, host, "/")
		return got == want && number == serial
	})
}

func TestCertificatesByServerName(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")),
		a.secret("one", 1, nil, "one.com"), a.secret("wild", 2, nil, "*.two.com"),
		newIngress("one").prefix("one.com", "/", "web").tls("one", "one.com").Ingress,
		newIngress("two").prefix("*.two.com", "/", "web").prefix("a.two.com", "/only", "web").tls("wild",
			"*.two.com").Ingress,
		newIngress("three").prefix("three.com", "/", "web").Ingress,
	)
	for _, test := range []struct {
		host, want string
		serial     int64
	}{{"one.com", "web", 1}, {"x.two.com", "web", 2}, {"a.two.com", "404", 2}} {
		if got, serial := l.getTLS(a, test.host, "/"); got != test.want || serial != test.serial {
			t.Errorf("%s: %q with certificate %d, want %q with %d", test.host, got, serial, test.want, test.serial)
		}
	}
	for _, host := range []string{"three.com", "unknown.com", "x.y.two.com"} {
		if got, _ := l.getTLS(a, host, "/"); !strings.Contains(got, "unrecognized name") {
			t.Errorf("%s, which has no certificate: %q", host, got)
		}
	}
	if got := l.get("one.com", "/"); got != "web" {
		t.Errorf("HTTP without redirect: got %q", got)
	}
	if i := l.status("one", ""); len(i.Status.LoadBalancer.Ingress[0].Ports) != 2 {
		t.Errorf("got the status %+v", i.Status.LoadBalancer.Ingress)
	}
	l.isPrivate()
}

// A certificate without a host is not used for hosts with rules in other Ingresses, and its Ingress receives
// no requests for them.
func TestCertificateWithoutHost(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	l := newLab(t, service("all"), endpoints("all", backendServer(t, "all")), service("web"),
		endpoints("web", backendServer(t, "web")),
		a.secret("all", 1, nil, "h.com", "i.com", "unknown.com"), a.secret("one", 2, nil, "i.com"),
		newIngress("all").prefix("", "/", "all").tls("all").Ingress,
		newIngress("web").prefix("h.com", "/", "web").prefix("i.com", "/", "web").tls("one", "i.com").Ingress)
	for host, want := range map[string]string{"unknown.com": "all 1", "i.com": "web 2"} {
		if got, serial := l.getTLS(a, host, "/"); fmt.Sprint(got, " ", serial) != want {
			t.Errorf("%s: %q with certificate %d, want %s", host, got, serial, want)
		}
	}
	if got, _ := l.getTLS(a, "h.com", "/"); !strings.Contains(got, "unrecognized name") {
		t.Errorf("h.com, which has no certificate, over HTTPS: %q", got)
	}
	if got := l.get("h.com", "/"); got != "web" {
		t.Errorf("over HTTP: %q", got)
	}
}

// isPrivate checks that only their owner can read the certificates.
func (l *lab) isPrivate() {
	l.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(l.folder, certificateDir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		if info, err := d.Info(); err != nil || info.Mode().Perm() != 0o600 {
			l.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
		return nil
	})
	if err != nil || n != 2 {
		l.Errorf("there are %d certificates, %v", n, err)
	}
}

func TestChangedCertificateIsServed(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")), a.secret("web", 1, nil, "h.com"),
		newIngress("web").prefix("h.com", "/", "web").tls("web", "h.com").Ingress)
	l.expectTLS(a, "h.com", "web", 1)
	update(l, "web", func(s *corev1.Secret) { s.Data = a.secret("web", 2, nil, "h.com").Data })
	l.expectTLS(a, "h.com", "web", 2)
	l.until("the old certificate is gone", func() bool { // it is removed after nginx has confirmed the new one
		files, err := os.ReadDir(filepath.Join(l.folder, certificateDir))
		return err == nil && len(files) == 1
	})
	remove[*corev1.Secret](l, "web")
	l.status("web", reasonCertificateNotFound)
	l.until("HTTPS is refused", func() bool {
		got, _ := l.getTLS(a, "h.com", "/")
		return strings.Contains(got, "unrecognized name")
	})
	if got := l.get("h.com", "/"); got != "web" {
		t.Errorf("over HTTP: %q", got)
	}
	l.create(a.secret("web", 3, nil, "h.com"))
	l.expectTLS(a, "h.com", "web", 3)
	l.status("web", "")
}

// An invalid certificate, or one that nginx refuses, is reported. It does not affect other Ingresses and does
// not replace a good one.
func TestInvalidCertificateIsIsolated(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]struct {
		data map[string][]byte
		says string
	}{
		"no PEM": {map[string][]byte{"tls.crt": []byte("certificate"), "tls.key": []byte("key")},
			"failed to find any PEM data"},
		"another's key": {map[string][]byte{
			"tls.crt": a.secret("", 1, nil, "h.com").Data["tls.crt"],
			"tls.key": a.secret("", 1, nil, "h.com").Data["tls.key"],
		}, "private key does not match public key"},
		"too weak for nginx": {a.secret("", 1, weak, "h.com").Data, "key too small"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret := a.secret("bad", 1, nil)
			secret.Data = bad.data
			l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")),
				a.secret("good", 2, nil, "good.com"), secret,
				newIngress("good").prefix("good.com", "/", "web").tls("good", "good.com").Ingress,
				newIngress("bad").prefix("h.com", "/", "web").tls("bad", "h.com").Ingress)
			l.status("bad", reasonCertificateRefused)
			l.event("bad", reasonCertificateRefused, bad.says)
			l.status("good", "")
			l.expectTLS(a, "good.com", "web", 2)
			if got, _ := l.getTLS(a, "h.com", "/"); !strings.Contains(got, "unrecognized name") {
				t.Errorf("HTTPS without a certificate: %q", got)
			}
			if got := l.get("h.com", "/"); got != "web" {
				t.Errorf("over HTTP: %q", got)
			}
			update(l, "bad", func(s *corev1.Secret) { s.Data = a.secret("bad", 3, nil, "h.com").Data })
			l.expectTLS(a, "h.com", "web", 3)
			l.status("bad", "")
			update(l, "bad", func(s *corev1.Secret) { s.Data = bad.data })
			l.status("bad", reasonCertificateRefused)
			l.event("bad", reasonCertificateRefused, "its last good certificate is served")
			l.expectTLS(a, "h.com", "web", 3)
		})
	}
}
