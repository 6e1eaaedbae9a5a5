package certificates

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"net/mail"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxChain is the maximum length of a certificate chain in PEM.
const maxChain = 100 << 10

// parseLeaf returns the first certificate of a chain, and the rest of the chain.
func parseLeaf(chain string) (leaf *x509.Certificate, rest []byte, problem *field.Error) {
	if len(chain) > maxChain {
		return nil, nil, field.TooLong(chainPath, "", maxChain)
	}
	block, rest := pem.Decode([]byte(chain))
	switch {
	case block == nil:
		return nil, nil, field.Invalid(chainPath, chain,
			"issued certificate chain must contain at least one certificate")
	case block.Type != certificateBlock:
		return nil, nil, field.Invalid(chainPath, chain,
			"issued certificate chain must consist entirely of CERTIFICATE PEM blocks")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, field.Invalid(chainPath, chain, "leaf certificate does not parse as valid X.509")
	}
	return leaf, rest, nil
}

// validateLeafNames validates the DNS names and mail addresses of a leaf certificate, which Go's parser accepts in any
// form.
func validateLeafNames(leaf *x509.Certificate) (errs field.ErrorList) {
	for _, name := range leaf.DNSNames {
		if name == "" {
			errs = append(errs, field.Invalid(chainPath, name, "leaf certificate should not contain empty DNSName"))
		}
		if strings.Contains(name, "..") {
			errs = append(errs, field.Invalid(chainPath, name,
				"leaf certificate's DNSName should not contain '..'"))
		}
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") {
			errs = append(errs, field.Invalid(chainPath, name,
				"leaf certificate's DNSName should not start or end with '.'"))
		}
	}
	for _, address := range leaf.EmailAddresses {
		if _, err := mail.ParseAddress(address); err != nil {
			errs = append(errs, field.Invalid(chainPath, address,
				"leaf certificate should not contain invalid EmailAddress"))
		}
	}
	return errs
}

// checkLeafKey requires the leaf to have the key of the kubelet's certificate request; stub is that request in DER.
func checkLeafKey(leaf *x509.Certificate, stub []byte, chain string) *field.Error {
	request, err := x509.ParseCertificateRequest(stub)
	if err != nil {
		return field.Invalid(stubPath, field.OmitValueType{}, "must be a valid PKCS#10 CSR")
	}
	key, ok := request.PublicKey.(interface {
		Equal(other crypto.PublicKey) bool
	})
	if ok && !key.Equal(leaf.PublicKey) {
		return field.Invalid(chainPath, chain, "leaf certificate was not issued to the requested public key")
	}
	return nil
}

// checkIntermediates returns the first problem of the certificates that follow the leaf. They are only parsed, not
// verified.
func checkIntermediates(rest []byte, chain string) *field.Error {
	for {
		block, after := pem.Decode(rest)
		if block == nil {
			return nil
		}
		if block.Type != certificateBlock {
			return field.Invalid(chainPath, chain, // the spelling is that of Kubernetes
				"issued certificate chain must consist entirely of CERTFICATE PEM blocks")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return field.Invalid(chainPath, chain, "intermediate certificate does not parse as valid X.509")
		}
		rest = after
	}
}
