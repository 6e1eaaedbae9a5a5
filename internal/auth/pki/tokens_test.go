package pki_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/auth/pki"
	"github.com/bowline-dev/bowline/internal/auth/serviceaccount"
)

func TestTokenKeySurvivesRestart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, second := open(t, folder, "localhost").TokenKey(), open(t, folder, "localhost").TokenKey()
	if serviceaccount.CheckKey(first) != nil || !first.Equal(second) {
		t.Errorf("the keys are %v and %v", first, second)
	}
	info, err := os.Stat(filepath.Join(folder, "tokens.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v, want 0600", info.Mode().Perm())
	}
}

func TestTokenKeyInMemoryIsNew(t *testing.T) {
	t.Parallel()
	if a, b := newInMemory(t).TokenKey(), newInMemory(t).TokenKey(); a.Equal(b) {
		t.Error("two planes have the same key")
	}
}

func newInMemory(t *testing.T) *pki.Keeper {
	t.Helper()
	keeper, err := pki.New([]string{"localhost"})
	if err != nil {
		t.Fatal(err)
	}
	return keeper
}

// TestDamagedTokenKeyIsReplaced checks that a file that is not PEM does not prevent a start, and is kept.
func TestDamagedTokenKeyIsReplaced(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "tokens.pem")
	for name, text := range map[string][]byte{
		"empty": {}, "text": []byte("x"), "large": make([]byte, 1<<20),
		"cut": []byte("-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\n"),
	} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		key := open(t, folder, "localhost").TokenKey()
		if err := serviceaccount.CheckKey(key); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again := open(t, folder, "localhost").TokenKey(); !key.Equal(again) {
			t.Errorf("%s: the new key was not stored", name)
		}
		kept, err := os.ReadFile(filepath.Join(folder, "tokens-damaged.pem"))
		if err != nil || !bytes.Equal(kept, text) {
			t.Errorf("%s: kept %.20q (%v)", name, kept, err)
		}
	}
}

// TestForeignTokenKeyIsRefused checks that PEM without a usable key prevents a start and is not replaced.
func TestForeignTokenKeyIsRefused(t *testing.T) {
	t.Parallel()
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, ed25519Key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(key any) []byte {
		t.Helper()
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "tokens.pem")
	authority := open(t, folder, "localhost").AuthorityPEM()
	for name, text := range map[string][]byte{
		"another curve": encode(p384), "Ed25519": encode(ed25519Key), "a certificate": authority,
		"no key": []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
	} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := pki.Open(folder, []string{"localhost"})
		if err == nil || !strings.Contains(err.Error(), file+" is damaged: ") ||
			!strings.Contains(err.Error(), "remove it to create a new key") {
			t.Errorf("%s: got the error %v", name, err)
		}
		if left, err := os.ReadFile(file); err != nil || !bytes.Equal(left, text) {
			t.Errorf("%s: the file was changed to %.20q (%v)", name, left, err)
		}
	}
}
