package certificates

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// maxRSABits is the longest modulus of an RSA key whose signature is checked. The time for the check grows with the
// square of the length. Kubernetes has no limit; a modulus of one megabyte would take it many minutes.
const maxRSABits = 16384

// checkRequest returns the first problem of a certificate request in PEM: its form, or its signature.
func checkRequest(data []byte) error {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != requestBlock {
		return errors.New("PEM block type must be " + requestBlock)
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return err
	}
	if key, ok := request.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > maxRSABits {
		return fmt.Errorf("RSA keys must have at most %d bits", maxRSABits)
	}
	return request.CheckSignature()
}

// checkCertificates returns the first problem of a list of certificates in PEM. An empty list is valid. Text between
// the blocks is ignored.
func checkCertificates(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	for blocks := 0; ; blocks++ {
		block, rest := pem.Decode(data)
		switch {
		case block == nil && blocks == 0:
			return errors.New("must contain at least one CERTIFICATE PEM block")
		case block == nil:
			return nil
		case block.Type != certificateBlock:
			return fmt.Errorf("only CERTIFICATE PEM blocks are allowed, found %q", block.Type)
		case len(block.Headers) != 0:
			return errors.New("no PEM block headers are permitted")
		}
		certificates, err := x509.ParseCertificates(block.Bytes)
		if err != nil {
			return err
		}
		if len(certificates) == 0 {
			return errors.New("found CERTIFICATE PEM block containing 0 certificates")
		}
		data = rest
	}
}
