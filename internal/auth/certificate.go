package auth

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// credentialIDKey is Kubernetes' key in User.Extra for the certificate that authenticated a user.
const credentialIDKey = "authentication.kubernetes.io/credential-id"

// maxCached bounds the cache of verified certificates.
const maxCached = 1024

// ClientCertificates authenticates by the client certificate of the TLS connection: the common name is the
// user, each organization a group. The certificate must be signed by one of roots and be valid for client
// authentication.
//
// The listener must request certificates without verifying them (tls.RequestClientCert), so that the server
// can answer an invalid one with a Status instead of a failed handshake.
//
// Verifying a signature costs more than serving most requests, so verified certificates are cached while
// their chain is valid.
func ClientCertificates(roots *x509.CertPool) Authenticator {
	return &clientCertificates{roots: roots, cache: map[string]verified{}}
}

type clientCertificates struct {
	roots *x509.CertPool

	mu sync.RWMutex
	// cache is keyed by the raw certificate, because each connection parses its own copy.
	cache map[string]verified
}

// verified is the user of a verified certificate and the time at which its chain expires.
type verified struct {
	user    *User
	expires time.Time
}

func (c *clientCertificates) Authenticate(r *http.Request) (*User, bool, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, false, nil
	}
	leaf, now := r.TLS.PeerCertificates[0], time.Now()
	if v, ok := c.lookup(leaf); ok && now.Before(v.expires) {
		return v.user, true, nil
	}
	expires, err := c.verify(r.TLS.PeerCertificates, now)
	if err != nil {
		return nil, false, fmt.Errorf("client certificate of %q: %w", leaf.Subject.CommonName, err)
	}
	user, err := userOf(leaf)
	if err != nil {
		return nil, false, err
	}
	c.store(leaf, verified{user: user, expires: expires})
	return user, true, nil
}

// verify checks the chain that the client sent, and returns when it expires.
func (c *clientCertificates) verify(sent []*x509.Certificate, now time.Time) (time.Time, error) {
	options := x509.VerifyOptions{
		Roots:         c.roots,
		Intermediates: x509.NewCertPool(),
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, intermediate := range sent[1:] {
		options.Intermediates.AddCert(intermediate)
	}
	chains, err := sent[0].Verify(options)
	if err != nil {
		return time.Time{}, err
	}
	expires := sent[0].NotAfter
	for _, certificate := range chains[0] {
		if certificate.NotAfter.Before(expires) {
			expires = certificate.NotAfter
		}
	}
	return expires, nil
}

func userOf(leaf *x509.Certificate) (*User, error) {
	if leaf.Subject.CommonName == "" {
		return nil, errors.New("client certificate has no common name, so it names no user")
	}
	user := NewUser(leaf.Subject.CommonName, slices.Clone(leaf.Subject.Organization)...)
	digest := sha256.Sum256(leaf.Raw)
	user.Extra = map[string][]string{credentialIDKey: {"X509SHA256=" + hex.EncodeToString(digest[:])}}
	return user, nil
}

func (c *clientCertificates) lookup(leaf *x509.Certificate) (verified, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	v, ok := c.cache[string(leaf.Raw)]
	return v, ok
}

func (c *clientCertificates) store(leaf *x509.Certificate, v verified) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.cache) >= maxCached {
		clear(c.cache)
	}
	c.cache[string(leaf.Raw)] = v
}
