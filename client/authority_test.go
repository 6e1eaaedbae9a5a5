package client_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/bowline-dev/bowline"
)

// authority is a CA that signs certificates of servers at 127.0.0.1 and of users.
type authority struct {
	t           *testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "test-ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	a.certificate, a.key = a.sign(template, time.Hour)
	return a
}

// sign signs a certificate that expires after a duration. An authority without a certificate signs its own.
func (a *authority) sign(template *x509.Certificate, ends time.Duration) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-24*time.Hour), time.Now().Add(ends)
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificate, key
}

// pem returns the authority's certificate.
func (a *authority) pem() []byte { return certificatePEM(a.certificate) }

// user returns the certificate and key of a user.
func (a *authority) user(name, group string, ends time.Duration) (certificate, key []byte) {
	a.t.Helper()
	c, k := a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{group}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, ends)
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificatePEM(c), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// server returns the TLS configuration of a server at 127.0.0.1 that trusts the authority's users.
func (a *authority) server(ends time.Duration) *tls.Config {
	a.t.Helper()
	c, k := a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "server"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, ends)
	users := x509.NewCertPool()
	users.AddCert(a.certificate)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{c.Raw}, PrivateKey: k}}, ClientCAs: users,
		ClientAuth: tls.RequestClientCert}
}

func certificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// startTLSPlane starts a plane with a socket and returns its URL too.
func startTLSPlane(t *testing.T, config *tls.Config) string {
	t.Helper()
	plane, err := bowline.Start(t.Context(), bowline.Options{Listen: "127.0.0.1:0", TLS: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plane.Close() })
	return "https://" + plane.Addr()
}
