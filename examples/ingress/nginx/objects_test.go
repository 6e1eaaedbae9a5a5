package nginx

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func pointer[T any](v T) *T { return &v }

// meta returns the metadata of an object in the namespace default.
func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}
}

// ingress is an Ingress of the class nginx to which tests add rules.
type ingress struct{ *networkingv1.Ingress }

func newIngress(name string) ingress {
	return ingress{&networkingv1.Ingress{
		ObjectMeta: meta(name), Spec: networkingv1.IngressSpec{IngressClassName: pointer(DefaultClass)},
	}}
}

func (i ingress) path(host string, kind networkingv1.PathType, path, service string) ingress {
	i.Spec.Rules = append(i.Spec.Rules,
		networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{
				{Path: path, PathType: &kind, Backend: toService(service)},
			}},
		}})
	return i
}

func (i ingress) prefix(host, path, service string) ingress {
	return i.path(host, networkingv1.PathTypePrefix, path, service)
}

func (i ingress) exact(host, path, service string) ingress {
	return i.path(host, networkingv1.PathTypeExact, path, service)
}

func (i ingress) otherwise(service string) ingress {
	i.Spec.DefaultBackend = pointer(toService(service))
	return i
}

func (i ingress) tls(secret string, hosts ...string) ingress {
	i.Spec.TLS = append(i.Spec.TLS, networkingv1.IngressTLS{Hosts: hosts, SecretName: secret})
	return i
}

// since sets the creation time to the given number of seconds after that of older Ingresses.
func (i ingress) since(seconds int64) ingress {
	i.CreationTimestamp = metav1.Unix(1_000_000_000+seconds, 0)
	return i
}

func toService(name string) networkingv1.IngressBackend {
	return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: name, Port: networkingv1.ServiceBackendPort{Number: 80},
	}}
}

// service returns a Service with a port 80 named http.
func service(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: meta(name), Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
	}}
}

// endpoints returns a slice of a Service with ready endpoints on one port. It replaces loopback addresses
// with documentation addresses.
func endpoints(service string, addresses ...netip.AddrPort) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: meta(service + "-slice"), AddressType: discoveryv1.AddressTypeIPv4}
	s.Labels = map[string]string{discoveryv1.LabelServiceName: service}
	for _, a := range addresses {
		if a.Addr().Is6() {
			s.AddressType = discoveryv1.AddressTypeIPv6
		}
		s.Ports = []discoveryv1.EndpointPort{{Name: pointer("http"), Port: pointer(int32(a.Port()))}}
		shown, ok := public[a.Addr()]
		if !ok {
			shown = a.Addr()
		}
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{shown.String()}})
	}
	return s
}

// authority is a certificate authority.
type authority struct {
	testing.TB
	certificate *x509.Certificate
	key         crypto.Signer
}

func newAuthority(t testing.TB) authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := authority{TB: t, key: key, certificate: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, a.certificate, a.certificate, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// secret returns a Secret with a new certificate for hosts. It generates a key if key is nil.
func (a authority) secret(name string, serial int64, key crypto.Signer, hosts ...string) *corev1.Secret {
	a.Helper()
	if key == nil {
		var err error
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			a.Fatal(err)
		}
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: hosts, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.certificate, key.Public(), a.key)
	if err != nil {
		a.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: meta(name), Type: corev1.SecretTypeTLS, Data: map[string][]byte{
		corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}}
}
