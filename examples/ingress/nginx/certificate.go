package nginx

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// certificates converts Secrets into files. It caches the last valid certificate of each Secret, which is
// served while the current content is invalid.
type certificates struct {
	secret func(types.NamespacedName) *corev1.Secret

	used    map[types.NamespacedName]bool // since nginx was last reconfigured
	read    map[types.NamespacedName]readSecret
	good    map[types.NamespacedName]string // files that nginx has served
	content map[string][]byte               // by file
	refused map[string]string               // files that nginx rejects, with its message
}

// readSecret is the result of parsing one version of a Secret.
type readSecret struct {
	version string
	file    string
	err     error
}

func newCertificates(secret func(types.NamespacedName) *corev1.Secret) *certificates {
	return &certificates{
		secret: secret, used: map[types.NamespacedName]bool{}, read: map[types.NamespacedName]readSecret{},
		good: map[types.NamespacedName]string{}, content: map[string][]byte{}, refused: map[string]string{},
	}
}

// file implements objects.certificate: it returns the file of a Secret's certificate.
func (c *certificates) file(key types.NamespacedName) (string, *problem) {
	c.used[key] = true
	secret := c.secret(key)
	if secret == nil {
		delete(c.read, key)
		delete(c.good, key)
		return "", problemf(reasonCertificateNotFound, "there is no Secret %s of type %s", key, corev1.SecretTypeTLS)
	}
	now := c.parse(key, secret)
	message := c.refused[now.file]
	switch good := c.good[key]; {
	case now.err != nil:
		message = now.err.Error()
		fallthrough
	case message != "":
		if good != "" {
			return good, problemf(reasonCertificateRefused, "the Secret %s: %s; its last good certificate is served",
				key, message)
		}
		return "", problemf(reasonCertificateRefused, "the Secret %s: %s", key, message)
	}
	return now.file, nil
}

// parse parses each version of a Secret once.
func (c *certificates) parse(key types.NamespacedName, secret *corev1.Secret) readSecret {
	version := string(secret.UID) + "/" + secret.ResourceVersion
	if before, ok := c.read[key]; ok && before.version == version {
		return before
	}
	content, err := pair(secret)
	now := readSecret{version: version, err: err}
	if err == nil {
		sum := sha256.Sum256(content)
		now.file = certificateDir + "/" + hex.EncodeToString(sum[:16]) + ".pem"
		c.content[now.file] = content
	}
	c.read[key] = now
	return now
}

// pair returns the certificate of a Secret, its chain and its key in PEM with an unencrypted key. For an
// encrypted key nginx would prompt for the password.
func pair(secret *corev1.Secret) ([]byte, error) {
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s are not a certificate and its key: %w", corev1.TLSCertKey,
			corev1.TLSPrivateKeyKey, err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", corev1.TLSPrivateKeyKey, err)
	}
	var b bytes.Buffer // writes to it do not fail
	for _, certificate := range pair.Certificate {
		pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	}
	pem.Encode(&b, &pem.Block{Type: "PRIVATE KEY", Bytes: key})
	return b.Bytes(), nil
}

// refuse records that nginx rejects a file.
func (c *certificates) refuse(file, message string) { c.refused[file] = message }

// wasServed reports whether nginx has served a file.
func (c *certificates) wasServed(file string) bool {
	for _, good := range c.good {
		if good == file {
			return true
		}
	}
	return false
}

// served records that nginx serves files. It removes from the cache the Secrets that no Ingress names and the
// files of no Secret.
func (c *certificates) served(files map[string][]byte) {
	maps.DeleteFunc(c.read, func(key types.NamespacedName, _ readSecret) bool { return !c.used[key] })
	maps.DeleteFunc(c.good, func(key types.NamespacedName, _ string) bool { return !c.used[key] })
	clear(c.used)
	needed := map[string]bool{}
	for key, now := range c.read {
		if _, ok := files[now.file]; ok {
			c.good[key] = now.file
		}
		needed[now.file], needed[c.good[key]] = true, true
	}
	for file := range c.content {
		if !needed[file] {
			delete(c.content, file)
			delete(c.refused, file)
		}
	}
}
