package sidecar

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// lifetime is the validity of a certificate. The webhook creates a new one at each start.
const lifetime = 365 * 24 * time.Hour

// selfSigned returns a self-signed certificate for an address of this machine, and its PEM encoding for
// clients.
func selfSigned(address net.Addr) (certificate tls.Certificate, authority []byte, err error) {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return certificate, nil, err
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.IsUnspecified() {
		return certificate, nil,
			fmt.Errorf("invalid listen address %s: the server must be able to reach it, such as 127.0.0.1:0", address)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: WebhookName},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime), IPAddresses: []net.IP{ip},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return certificate, nil, err
	}
	certificate = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
