package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/pki"
)

const day = 24 * time.Hour

func open(t *testing.T, folder string, hosts ...string) *pki.Keeper {
	t.Helper()
	keeper, err := pki.Open(folder, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return keeper
}

// shown returns the certificate that a server with this keeper presents.
func shown(t *testing.T, keeper *pki.Keeper) *x509.Certificate {
	t.Helper()
	certificate, err := keeper.ServerConfig().GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	return certificate.Leaf
}

func TestFirstStartCreatesPrivateFiles(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "pki")
	open(t, folder, "localhost")
	for _, name := range []string{"ca.pem", "server.pem", "admin.pem"} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", name, info.Mode().Perm())
		}
	}
	left, err := filepath.Glob(filepath.Join(folder, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v (%v)", left, err)
	}
}

func TestSecondStartChangesNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, second := open(t, folder, "localhost"), open(t, folder, "localhost")
	if !shown(t, first).Equal(shown(t, second)) || !first.Admin().Certificate.Equal(second.Admin().Certificate) {
		t.Error("the second start issued new certificates")
	}
	if string(first.AuthorityPEM()) != string(second.AuthorityPEM()) {
		t.Error("the second start issued a new authority")
	}
}

func TestServerCertificateCoversEveryHost(t *testing.T) {
	t.Parallel()
	hosts := pki.Hosts("192.0.2.7")
	keeper, err := pki.New(hosts)
	if err != nil {
		t.Fatal(err)
	}
	certificate := shown(t, keeper)
	for _, host := range append(hosts, "127.0.0.1", "::1", "localhost", "kubernetes.default.svc", "10.0.0.1",
		"192.0.2.7") {
		if err := certificate.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
}

func TestUnspecifiedAddressCoversMachineAddresses(t *testing.T) {
	t.Parallel()
	for _, host := range pki.Hosts("0.0.0.0") {
		if host == "0.0.0.0" || host == "" {
			t.Errorf("Hosts includes %q, which no client can verify", host)
		}
	}
}

func TestNewHostRenewsServerCertificate(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := open(t, folder, "localhost")
	second := open(t, folder, "localhost", "api.example.com")
	if err := shown(t, second).VerifyHostname("api.example.com"); err != nil {
		t.Error(err)
	}
	if !first.Admin().Certificate.Equal(second.Admin().Certificate) {
		t.Error("the admin certificate was reissued for a new host of the server")
	}
}

func TestLeavesAreRenewedBeforeExpiry(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first := open(t, folder, "localhost")
		time.Sleep(334 * day)
		if early := open(t, folder, "localhost"); !shown(t, early).Equal(shown(t, first)) {
			t.Error("renewed with 31 days left")
		}
		time.Sleep(day + time.Minute)
		late := open(t, folder, "localhost")
		if shown(t, late).Equal(shown(t, first)) || late.Admin().Certificate.Equal(first.Admin().Certificate) {
			t.Error("not renewed with less than 30 days left")
		}
		if string(late.AuthorityPEM()) != string(first.AuthorityPEM()) {
			t.Error("the authority changed")
		}
	})
}

func TestRunningKeeperRenewsInPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keeper, err := pki.New([]string{"localhost"})
		if err != nil {
			t.Fatal(err)
		}
		before := shown(t, keeper)
		time.Sleep(time.Until(keeper.RenewAt()))
		if err := keeper.Renew(); err != nil {
			t.Fatal(err)
		}
		if shown(t, keeper).Equal(before) {
			t.Error("the server still presents its old certificate")
		}
		if left := time.Until(keeper.RenewAt()); left < 300*day {
			t.Errorf("the next renewal is in %v", left)
		}
	})
}

func TestOldAuthorityTrustsRenewedOne(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		oldRoots := open(t, folder, "localhost").Roots()
		time.Sleep(9 * 365 * day)
		keeper := open(t, folder, "localhost")
		for name, roots := range map[string]*x509.CertPool{"old": oldRoots, "new": keeper.Roots()} {
			options := x509.VerifyOptions{Roots: roots, DNSName: "localhost", CurrentTime: time.Now()}
			if _, err := shown(t, keeper).Verify(options); err != nil {
				t.Errorf("%s authority: %v", name, err)
			}
		}
	})
}

// TestAuthorityIsValidAfterClockWasSetBack checks that certificates issued while the clock was ahead are
// reissued; clients would reject them until the clock catches up.
func TestAuthorityIsValidAfterClockWasSetBack(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour)
		open(t, folder, "localhost")
	})
	synctest.Test(t, func(t *testing.T) { // this bubble's clock is an hour behind the first one's
		keeper := open(t, folder, "localhost")
		for name, pair := range map[string]*x509.Certificate{"server": shown(t, keeper),
			"admin": keeper.Admin().Certificate} {
			options := x509.VerifyOptions{Roots: keeper.Roots(), CurrentTime: time.Now(),
				KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
			if _, err := pair.Verify(options); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestDamagedLeafIsReplaced(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"empty":     "",
		"no PEM":    "not a certificate",
		"truncated": "-----BEGIN CERTIFICATE-----\nMIIB",
		"bad DER":   "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			open(t, folder, "localhost")
			overwrite(t, filepath.Join(folder, "server.pem"), damage)
			if err := shown(t, open(t, folder, "localhost")).VerifyHostname("localhost"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestForeignLeafIsReplaced(t *testing.T) {
	t.Parallel()
	folder, other := t.TempDir(), t.TempDir()
	open(t, folder, "localhost")
	stranger := open(t, other, "localhost")
	text, err := os.ReadFile(filepath.Join(other, "server.pem"))
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, filepath.Join(folder, "server.pem"), string(text))
	if shown(t, open(t, folder, "localhost")).Equal(shown(t, stranger)) {
		t.Error("the server presents a certificate that its authority did not sign")
	}
}

func TestDamagedAuthorityIsAnError(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	open(t, folder, "localhost")
	path := filepath.Join(folder, "ca.pem")
	overwrite(t, path, "-----BEGIN CERTIFICATE-----\n")
	_, err := pki.Open(folder, []string{"localhost"})
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("the error does not name the file and the remedy: %v", err)
	}
}

func TestSwappedKeyIsDamage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	keeper := open(t, folder, "localhost")
	stranger, err := keeper.IssueClient("jane")
	if err != nil {
		t.Fatal(err)
	}
	key, err := stranger.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, filepath.Join(folder, "ca.pem"), string(keeper.AuthorityPEM())+string(key))
	if _, err := pki.Open(folder, nil); err == nil || !strings.Contains(err.Error(), "private key") {
		t.Errorf("got error %v", err)
	}
}

func TestOpenRestrictsFileModes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	open(t, folder, "localhost")
	path := filepath.Join(folder, "admin.pem")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, folder, "localhost")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != fs.FileMode(0o600) {
		t.Errorf("got mode %v, error %v", info.Mode(), err)
	}
}

func TestAdminIsInTheAdminGroup(t *testing.T) {
	t.Parallel()
	keeper, err := pki.New([]string{"localhost"})
	if err != nil {
		t.Fatal(err)
	}
	subject := keeper.Admin().Certificate.Subject
	if subject.CommonName != pki.AdminName || len(subject.Organization) != 1 ||
		subject.Organization[0] != auth.AdminGroup {
		t.Errorf("got the admin subject %v", subject)
	}
}

func overwrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A client that only has a suite with CBC or SHA-1 is rejected. The browsers and Go clients of the last ten years have
// better ones.
func TestWeakCipherSuitesAreRejected(t *testing.T) {
	t.Parallel()
	server := open(t, t.TempDir(), "127.0.0.1").ServerConfig()
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if slices.Contains(suite.SupportedVersions, tls.VersionTLS13) {
			continue
		}
		near, far := net.Pipe()
		go func() {
			tls.Server(far, server).Handshake()
			far.Close()
		}()
		client := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}}
		err := tls.Client(near, client).Handshake()
		strong := strings.HasPrefix(suite.Name, "TLS_ECDHE_ECDSA_") && !strings.Contains(suite.Name, "_CBC_") &&
			!strings.Contains(suite.Name, "_RC4_") // the key of the server is an ECDSA key
		if (err == nil) != strong {
			t.Errorf("%s: got error %v", suite.Name, err)
		}
		near.Close()
	}
}
