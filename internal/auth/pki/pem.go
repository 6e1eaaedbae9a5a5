package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

// CertPEM returns the certificate in PEM.
func (p *Pair) CertPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: p.Certificate.Raw})
}

// KeyPEM returns the private key in PEM (PKCS #8).
func (p *Pair) KeyPEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		return nil, fmt.Errorf("encoding the key of %q: %w", p.Certificate.Subject.CommonName, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der}), nil
}

// TLS returns the pair for crypto/tls.
func (p *Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.Certificate.Raw}, PrivateKey: p.Key, Leaf: p.Certificate}
}

// encode returns certificate and key as one text, so that a single write replaces both.
func (p *Pair) encode() ([]byte, error) {
	key, err := p.KeyPEM()
	if err != nil {
		return nil, err
	}
	return append(p.CertPEM(), key...), nil
}

// decode is the inverse of encode. It checks that the key belongs to the certificate.
func decode(text []byte) (*Pair, error) {
	var pair Pair
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		var err error
		switch block.Type {
		case certificateBlock:
			pair.Certificate, err = x509.ParseCertificate(block.Bytes)
		case keyBlock:
			pair.Key, err = parseKey(block.Bytes)
		}
		if err != nil {
			return nil, err
		}
	}
	if pair.Certificate == nil || pair.Key == nil {
		return nil, errors.New("it does not contain a certificate and a private key in PEM")
	}
	public, ok := pair.Key.Public().(*ecdsa.PublicKey)
	if !ok || !public.Equal(pair.Certificate.PublicKey) {
		return nil, errors.New("its private key does not belong to its certificate")
	}
	return &pair, nil
}

func parseKey(der []byte) (crypto.Signer, error) {
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("its private key cannot sign")
	}
	return signer, nil
}
