package serviceaccount

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// IssuerURL identifies the issuer of the tokens of service accounts. It is also the audience of tokens that are meant
// for the server itself. It is the default of kubeadm.
const IssuerURL = "https://kubernetes.default.svc.cluster.local"

// algorithm is the only algorithm of signatures: ECDSA with the curve P-256.
const algorithm = jose.ES256

// Issuer signs tokens with the private key of one plane. Its methods may be called concurrently.
type Issuer struct {
	// keys verify tokens. The first one belongs to signer, the others to the planes from which the plane was forked.
	keys   jose.JSONWebKeySet
	signer jose.Signer
}

// NewKey returns a new key for an Issuer.
func NewKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// CheckKey returns an error unless an Issuer can sign with the key.
func CheckKey(key *ecdsa.PrivateKey) error {
	if key == nil || key.Curve != elliptic.P256() {
		return errors.New("the key that signs the tokens of service accounts must be an ECDSA key with the curve P-256")
	}
	return nil
}

// NewIssuer returns an Issuer that signs with a key that CheckKey accepts. Tokens that the owners of the parents' keys
// have signed are valid too.
func NewIssuer(key *ecdsa.PrivateKey, parents ...*ecdsa.PublicKey) (*Issuer, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	i := &Issuer{}
	for _, public := range append([]*ecdsa.PublicKey{&key.PublicKey}, parents...) {
		der, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			return nil, fmt.Errorf("encoding a public key of tokens: %w", err)
		}
		digest := sha256.Sum256(der)
		i.keys.Keys = append(i.keys.Keys, jose.JSONWebKey{Key: public, Algorithm: string(algorithm), Use: "sig",
			KeyID: base64.RawURLEncoding.EncodeToString(digest[:])})
	}
	private := i.keys.Keys[0]
	private.Key = key
	var err error
	if i.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: private}, nil); err != nil {
		return nil, fmt.Errorf("preparing the signing of tokens: %w", err)
	}
	return i, nil
}

// key returns the public key with an ID, or nil if there is none. An empty ID selects the issuer's own key.
func (i *Issuer) key(id string) any {
	if id == "" {
		return i.keys.Keys[0].Key
	}
	if keys := i.keys.Key(id); len(keys) > 0 {
		return keys[0].Key
	}
	return nil
}

// Issue returns a signed token. The caller rejects one that is longer than MaxToken.
func (i *Issuer) Issue(s Subject, v Validity) (string, error) {
	registered, private := claims(s, v)
	return jwt.Signed(i.signer).Claims(private).Claims(registered).Serialize()
}

// IssueLegacy returns the token that a Secret holds for a service account. The token has no end: it is valid while the
// account exists and the Secret holds it.
func (i *Issuer) IssueLegacy(namespace string, account Reference, secret string) (string, error) {
	private := legacyClaims{Namespace: namespace, Account: account.Name, UID: account.UID, Secret: secret}
	registered := jwt.Claims{Issuer: LegacyIssuer, Subject: UserName(namespace, account.Name)}
	return jwt.Signed(i.signer).Claims(private).Claims(registered).Serialize()
}
