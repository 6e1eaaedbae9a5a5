package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

const (
	day = 24 * time.Hour

	authorityLifetime = 10 * 365 * day
	leafLifetime      = 365 * day
	// renewBefore is the remaining validity at which a certificate is renewed.
	renewBefore = 30 * day
	// clockSkew is the tolerated lag of a client's clock.
	clockSkew = 5 * time.Minute
)

// Pair is a certificate and its private key.
type Pair struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// authority signs the certificates of one plane.
type authority struct{ Pair }

// newAuthority returns an authority with a new key.
func newAuthority(now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("creating the key of the authority: %w", err)
	}
	return selfSign(key, now)
}

// renewed returns an authority with the same key and name and a new validity: each verifies what the other
// signs.
func (a *authority) renewed(now time.Time) (*authority, error) { return selfSign(a.Key, now) }

func selfSign(key crypto.Signer, now time.Time) (*authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "bowline-ca"},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(authorityLifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	pair, err := sign(template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of the authority: %w", err)
	}
	pair.Key = key
	return &authority{Pair: *pair}, nil
}

// server issues a certificate for a server with these names and addresses.
func (a *authority) server(hosts []string, now time.Time) (*Pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "bowline"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.issue(template, now)
}

// client issues a certificate that names a user and its groups.
func (a *authority) client(name string, groups []string, now time.Time) (*Pair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: slices.Clone(groups)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, now)
}

func (a *authority) issue(template *x509.Certificate, now time.Time) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("creating a key for %q: %w", template.Subject.CommonName, err)
	}
	template.NotBefore = now.Add(-clockSkew)
	template.NotAfter = now.Add(leafLifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	pair, err := sign(template, a.Certificate, key.Public(), a.Key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %q: %w", template.Subject.CommonName, err)
	}
	pair.Key = key
	return pair, nil
}

// sign returns the signed certificate; the caller adds the key for public.
func sign(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) (*Pair, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial.Add(serial, big.NewInt(1))
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Pair{Certificate: certificate}, nil
}

// checkSigned returns an error unless the authority signed leaf, and leaf is valid for this usage at this time.
func (a *authority) checkSigned(leaf *x509.Certificate, usage x509.ExtKeyUsage, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AddCert(a.Certificate)
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage},
	})
	return err
}
