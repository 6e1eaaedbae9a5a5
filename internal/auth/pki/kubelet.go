package pki

import (
	"crypto/tls"
	"crypto/x509"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/auth"
)

// KubeletClientName is the user as whom the server connects to kubelets. It is kubeadm's name for it.
const KubeletClientName = "kube-apiserver-kubelet-client"

// KubeletConfig returns the TLS configuration of the server's connections to kubelets that trust the authority. Its
// certificate is issued on first use, and again before it expires. Kubelets issue their own certificates by default,
// and RootCAs is nil.
func (k *Keeper) KubeletConfig() *tls.Config {
	var mu sync.Mutex
	var pair *Pair
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			mu.Lock()
			defer mu.Unlock()
			k.mu.RLock()
			fresh := k.fresh(pair, x509.ExtKeyUsageClientAuth, time.Now())
			k.mu.RUnlock()
			if !fresh {
				var err error
				if pair, err = k.IssueClient(KubeletClientName, auth.AdminGroup); err != nil {
					return nil, err
				}
			}
			certificate := pair.TLS()
			return &certificate, nil
		},
	}
}
