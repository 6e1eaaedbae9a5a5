package pki

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/internal/auth/serviceaccount"
	"github.com/bowline-dev/bowline/internal/durable"
)

// TokenKey returns the key that signs the tokens of service accounts.
func (k *Keeper) TokenKey() *ecdsa.PrivateKey { return k.tokenKey }

// damagedTokensName is the file to which a damaged key of tokens is renamed. It replaces an older one.
const damagedTokensName = tokensName + "-damaged"

// tokenKey reads the key that signs the tokens of service accounts. If the file is missing or is not PEM, tokenKey
// creates a key, and keeps the file that is not PEM under another name. Tokens that an earlier key signed are then
// invalid; their owners request others. If the file has something else in PEM, such as a key with another curve, the
// operator may need it: tokenKey returns an error with instructions.
func (f folder) tokenKey() (*ecdsa.PrivateKey, error) {
	text, err := f.readText(tokensName)
	var damaged *damagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, fmt.Errorf("reading the key of tokens: %w", err)
	}
	if block, _ := pem.Decode(text); block != nil {
		key, err := decodeTokenKey(block)
		if err != nil {
			return nil, fmt.Errorf("%w; restore it, or remove it to create a new key, which makes the tokens of service "+
				"accounts invalid", &damagedError{path: f.path(tokensName), err: err})
		}
		return key, nil
	}
	if text != nil || damaged != nil {
		if err := durable.Rename(f.path(tokensName), f.path(damagedTokensName)); err != nil {
			return nil, fmt.Errorf("renaming the damaged key of tokens: %w", err)
		}
	}
	key, err := serviceaccount.NewKey()
	if err != nil {
		return nil, fmt.Errorf("creating the key of tokens: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding the key of tokens: %w", err)
	}
	return key, f.writeText(tokensName, pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der}))
}

// decodeTokenKey returns the key in a block of PEM, or an error if it is not a key that signs tokens.
func decodeTokenKey(block *pem.Block) (*ecdsa.PrivateKey, error) {
	if block.Type != keyBlock {
		return nil, fmt.Errorf("it does not begin with a %s in PEM", keyBlock)
	}
	signer, err := parseKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, _ := signer.(*ecdsa.PrivateKey) // CheckKey rejects nil
	return key, serviceaccount.CheckKey(key)
}
