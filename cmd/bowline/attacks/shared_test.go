package attacks

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// protocolAreas are attacks on connections and by clients' identities, each on a server of its own.
func protocolAreas() []area {
	return []area{
		{"HTTP 2 floods", http2Floods},
		{"slow clients", slowClients},
		{"connections", connections},
		{"watches", watches},
		{"growth", growth},
	}
}

// lightAreas have a server each, because the requests of their rows are cheap and leave no state behind.
func lightAreas() []area {
	return []area{
		{"authentication", authentication},
		{"anonymous", anonymous},
		{"authorization", authorization},
		{"paths", paths},
		{"tokens", tokens},
		{"selectors", selectors},
		{"smuggling", smuggling},
		{"HTTP 2 errors", http2Errors},
		{"TLS", transportSecurity},
		{"pprof", pprofPaths},
	}
}

// shared runs the row on the server that its area has.
func (r row) shared(t *testing.T) outcome {
	s := r.on
	defer func(t *testing.T) { s.t = t }(s.t)
	s.t = t
	var got outcome
	r.measureOn(s, &got)
	return got
}

// as returns a function that sends requests as a client of its own. The last answer counts.
func as(client func(*server) *tls.Config, requests ...request) func(*server) answer {
	return func(s *server) (got answer) {
		c := s.client(client(s))
		defer c.CloseIdleConnections()
		for _, q := range requests {
			got = s.sendBy(s.t.Context(), c, q)
		}
		return got
	}
}

// authority is a certificate with the key that signs those of clients.
type authority struct {
	certificate *x509.Certificate
	key         any
}

// authority returns the server's own authority, from its folder.
func (s *server) authority() authority {
	pair := s.pair("ca.pem")
	return authority{pair.Leaf, pair.PrivateKey}
}

// pair returns a certificate with its key from the server's folder.
func (s *server) pair(name string) tls.Certificate {
	s.t.Helper()
	i := slices.Index(s.cmd.Args, "--data")
	if i < 0 {
		s.t.Fatal("a server without a folder keeps no certificates")
	}
	file := filepath.Join(s.cmd.Args[i+1], "pki", name)
	pair, err := tls.LoadX509KeyPair(file, file)
	if err != nil {
		s.t.Fatal(err)
	}
	return pair
}

// newAuthority returns an authority that the server does not know, of a name.
func newAuthority(t *testing.T, name string) authority {
	return issue(t, nil, func(c *x509.Certificate) {
		c.Subject, c.IsCA, c.BasicConstraintsValid = pkix.Name{CommonName: name}, true, true
		c.KeyUsage = x509.KeyUsageCertSign
	})
}

// issue returns a certificate of a client named jane, after change. Without an issuer it signs itself.
func issue(t *testing.T, by *authority, change func(*x509.Certificate)) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "jane", Organization: []string{"developers"}},
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	if by == nil {
		by = &authority{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.certificate, key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{certificate, key}
}

// with returns a client's TLS configuration with a certificate, and those of its issuers.
func (s *server) with(a authority, chain ...authority) *tls.Config {
	config := s.stranger()
	pair := tls.Certificate{Certificate: [][]byte{a.certificate.Raw}, PrivateKey: a.key}
	for _, issuer := range chain {
		pair.Certificate = append(pair.Certificate, issuer.certificate.Raw)
	}
	// Without this, a client sends only certificates of the authorities that the server names.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	return config
}

// jane is a client with a certificate of the server, whom no rule grants anything.
func jane(s *server) *tls.Config {
	by := s.authority()
	return s.with(issue(s.t, &by, nil))
}

// nobody is a client without a certificate.
func nobody(s *server) *tls.Config { return s.stranger() }

// writePair writes a certificate and its key to a file, as a server's folder has them.
func writePair(t *testing.T, file string, a authority) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
