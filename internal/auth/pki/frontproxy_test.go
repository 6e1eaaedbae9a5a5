package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
)

// TestFrontProxy checks that the authority of the front proxy is kept, that it signs the certificate, and that it is
// not the authority of clients.
func TestFrontProxy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *Keeper {
		k, err := Open(dir, []string{"localhost"})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	k := open()
	proxy := k.FrontProxy()
	if bytes.Equal(proxy.AuthorityPEM(), k.AuthorityPEM()) {
		t.Error("the front proxy has the authority of clients")
	}
	certificate, err := proxy.Config().GetClientCertificate(&tls.CertificateRequestInfo{})
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(certificate.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(proxy.AuthorityPEM())
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: client}); err != nil ||
		leaf.Subject.CommonName != FrontProxyName || len(leaf.Subject.Organization) > 0 {
		t.Errorf("certificate of %v: %v", leaf.Subject, err)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: k.Roots(), KeyUsages: client}); err == nil {
		t.Error("the certificate is one of a client of this server")
	}
	if !bytes.Equal(open().FrontProxy().AuthorityPEM(), proxy.AuthorityPEM()) {
		t.Error("the second start has another authority")
	}
	// A damaged file is replaced.
	if err := os.WriteFile(folder(dir).path(frontProxyFile), []byte("nothing"), keyMode); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(open().FrontProxy().AuthorityPEM(), proxy.AuthorityPEM()) {
		t.Error("a damaged file has an authority")
	}
}
