package pki

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/auth"
)

// AdminName is the user of the admin certificate. Its privileges come from its group.
const AdminName = "bowline-admin"

// Names of the pairs in the directory.
const (
	authorityName = "ca"
	serverName    = "server"
	adminName     = "admin"
	tokensName    = "tokens" // a key without a certificate
)

// Keeper holds and renews the certificates of one plane. It is safe for concurrent use.
type Keeper struct {
	folder folder
	hosts  []string

	mu        sync.RWMutex
	authority *authority
	server    *Pair
	admin     *Pair

	tokenKey   *ecdsa.PrivateKey
	frontProxy *FrontProxy
}

// FrontProxy returns the front proxy.
func (k *Keeper) FrontProxy() *FrontProxy { return k.frontProxy }

// Open reads the certificates in a directory and issues new ones in place of missing, expiring or damaged
// certificates and of certificates that are not valid for hosts. It issues an authority only if the directory
// has none, because a new authority would lock out every client that trusts the old one. For a damaged
// authority Open returns an error with instructions. No other process may open the directory at the same
// time.
func Open(folderPath string, hosts []string) (*Keeper, error) {
	return start(folder(folderPath), hosts)
}

// New issues certificates that are held in memory only.
func New(hosts []string) (*Keeper, error) { return start("", hosts) }

func start(folder folder, hosts []string) (*Keeper, error) {
	k := &Keeper{folder: folder, hosts: hosts}
	if err := k.loadAuthority(); err != nil {
		return nil, err
	}
	var err error
	if k.server, err = k.load(serverName); err != nil {
		return nil, err
	}
	if k.admin, err = k.load(adminName); err != nil {
		return nil, err
	}
	if k.frontProxy, err = openFrontProxy(folder); err != nil {
		return nil, err
	}
	if k.tokenKey, err = k.folder.tokenKey(); err != nil {
		return nil, err
	}
	return k, k.Renew()
}

// loadAuthority reads the authority; if it is missing, the next Renew issues one.
func (k *Keeper) loadAuthority() error {
	pair, err := k.folder.read(authorityName)
	if pair != nil && !pair.Certificate.IsCA { // clients would trust no certificate that it signs
		err = &damagedError{path: k.folder.path(authorityName), err: errors.New("its certificate is not an authority's")}
	}
	var damaged *damagedError
	switch {
	case errors.As(err, &damaged):
		return fmt.Errorf("%w; restore it, or remove it to create a new authority, "+
			"which no existing kubeconfig will trust", err)
	case err != nil:
		return fmt.Errorf("reading the authority: %w", err)
	case pair != nil:
		k.authority = &authority{Pair: *pair}
	}
	return nil
}

// load reads a pair that can be reissued: a damaged one is treated as missing.
func (k *Keeper) load(name string) (*Pair, error) {
	pair, err := k.folder.read(name)
	var damaged *damagedError
	if errors.As(err, &damaged) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	return pair, nil
}

// Renew replaces certificates that are missing or about to expire. The server uses a renewed certificate from
// the next connection on; copies of the admin certificate must be replaced by their owners.
func (k *Keeper) Renew() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if err := k.renewAuthority(now); err != nil {
		return err
	}
	if !k.validServer(k.server, now) {
		pair, err := k.authority.server(k.hosts, now)
		if err != nil {
			return err
		}
		if err := k.store(serverName, pair, &k.server); err != nil {
			return err
		}
	}
	if !k.fresh(k.admin, x509.ExtKeyUsageClientAuth, now) {
		pair, err := k.authority.client(AdminName, []string{auth.AdminGroup}, now)
		if err != nil {
			return err
		}
		return k.store(adminName, pair, &k.admin)
	}
	return nil
}

// renewAuthority ensures that the authority is valid for as long as the certificates it is about to sign: it
// must not expire before them, and must be valid already, which it is not if the clock was set back.
func (k *Keeper) renewAuthority(now time.Time) error {
	var next *authority
	var err error
	switch {
	case k.authority == nil:
		next, err = newAuthority(now)
	case now.Before(k.authority.Certificate.NotBefore),
		now.Add(leafLifetime + renewBefore).After(k.authority.Certificate.NotAfter):
		next, err = k.authority.renewed(now)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	if err := k.folder.write(authorityName, &next.Pair); err != nil {
		return err
	}
	k.authority = next
	return nil
}

// store writes a newly issued pair to its file, then sets *target to it.
func (k *Keeper) store(name string, pair *Pair, target **Pair) error {
	if err := k.folder.write(name, pair); err != nil {
		return err
	}
	*target = pair
	return nil
}

// validServer reports whether the server's pair is fresh and covers every host of the plane.
func (k *Keeper) validServer(pair *Pair, now time.Time) bool {
	return k.fresh(pair, x509.ExtKeyUsageServerAuth, now) &&
		!slices.ContainsFunc(k.hosts, func(host string) bool { return pair.Certificate.VerifyHostname(host) != nil })
}

// fresh reports whether the authority signed the pair for this usage and it is not yet time to renew it.
func (k *Keeper) fresh(pair *Pair, usage x509.ExtKeyUsage, now time.Time) bool {
	return pair != nil && now.Before(renewAt(pair)) && k.authority.checkSigned(pair.Certificate, usage, now) == nil
}

func renewAt(pair *Pair) time.Time { return pair.Certificate.NotAfter.Add(-renewBefore) }

// RenewAt returns the time at which the next call of Renew has something to renew.
func (k *Keeper) RenewAt() time.Time {
	k.mu.RLock()
	defer k.mu.RUnlock()
	at := renewAt(k.server)
	if admin := renewAt(k.admin); admin.Before(at) {
		at = admin
	}
	return at
}

// AuthorityPEM returns the authority's certificate in PEM, for clients to trust.
func (k *Keeper) AuthorityPEM() []byte {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.authority.CertPEM()
}

// Roots returns a pool with the authority's certificate, to verify client certificates.
func (k *Keeper) Roots() *x509.CertPool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	roots := x509.NewCertPool()
	roots.AddCert(k.authority.Certificate)
	return roots
}

// Admin returns the current certificate of the administrator.
func (k *Keeper) Admin() *Pair {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.admin
}

// IssueClient issues a client certificate for a user and its groups. It is not stored.
func (k *Keeper) IssueClient(name string, groups ...string) (*Pair, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.authority.client(name, groups, time.Now())
}

// CipherSuites returns the suites that a server accepts with TLS 1.2: with forward secrecy and authenticated encryption
// (RFC 9325, section 4.2). Go's defaults include suites with CBC and SHA-1. TLS 1.3 has only such suites.
func CipherSuites() (ids []uint16) {
	for _, suite := range tls.CipherSuites() {
		if strings.HasPrefix(suite.Name, "TLS_ECDHE_") && !strings.Contains(suite.Name, "_CBC_") {
			ids = append(ids, suite.ID)
		}
	}
	return ids
}

// ServerConfig returns the TLS configuration of a listener. Client certificates are requested, and package
// auth verifies them.
func (k *Keeper) ServerConfig() *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		CipherSuites: CipherSuites(),
		NextProtos:   []string{"h2", "http/1.1"},
		ClientAuth:   tls.RequestClientCert,
		ClientCAs:    k.Roots(),
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			k.mu.RLock()
			defer k.mu.RUnlock()
			certificate := k.server.TLS()
			return &certificate, nil
		},
	}
}
