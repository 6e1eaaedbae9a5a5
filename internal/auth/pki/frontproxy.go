package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"
)

// FrontProxyName is the user in the certificate with which the server sends requests to aggregated API servers, on
// behalf of users. It is kubeadm's name for it.
const FrontProxyName = "front-proxy-client"

// frontProxyFile is the file name of the front proxy's authority, without its extension.
const frontProxyFile = "front-proxy-ca"

// FrontProxy issues the certificate with which the server proves to aggregated API servers that a request comes from
// it, and that they may believe the headers with the user. Its authority differs from that of clients: whoever has a
// client certificate must not be taken for the server. It is safe for concurrent use.
type FrontProxy struct {
	authority *authority
	mu        sync.Mutex
	pair      *Pair
}

// NewFrontProxy returns a FrontProxy whose authority is held in memory only.
func NewFrontProxy() (*FrontProxy, error) { return openFrontProxy("") }

// openFrontProxy reads the authority, or creates one in place of a missing or damaged one. Aggregated servers read the
// new one from the ConfigMap extension-apiserver-authentication.
func openFrontProxy(f folder) (*FrontProxy, error) {
	now := time.Now()
	pair, err := f.read(frontProxyFile)
	var damaged *damagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, fmt.Errorf("reading the authority of the front proxy: %w", err)
	}
	if err == nil && pair != nil && pair.Certificate.IsCA && now.After(pair.Certificate.NotBefore) &&
		now.Add(leafLifetime+renewBefore).Before(pair.Certificate.NotAfter) {
		return &FrontProxy{authority: &authority{*pair}}, nil
	}
	created, err := newAuthority(now)
	if err != nil {
		return nil, err
	}
	return &FrontProxy{authority: created}, f.write(frontProxyFile, &created.Pair)
}

// AuthorityPEM returns the authority's certificate in PEM.
func (p *FrontProxy) AuthorityPEM() []byte { return p.authority.CertPEM() }

// Config returns the TLS configuration of the connections to aggregated API servers. Its certificate is issued on first
// use, and again before it expires.
func (p *FrontProxy) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			now := time.Now()
			if p.pair == nil || now.After(renewAt(p.pair)) ||
				p.authority.checkSigned(p.pair.Certificate, x509.ExtKeyUsageClientAuth, now) != nil {
				var err error
				if p.pair, err = p.authority.client(FrontProxyName, nil, now); err != nil {
					return nil, err
				}
			}
			certificate := p.pair.TLS()
			return &certificate, nil
		},
	}
}
