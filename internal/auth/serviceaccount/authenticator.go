package serviceaccount

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/bowline-dev/bowline/internal/auth"
)

const (
	// MaxToken bounds the tokens that are authenticated, in bytes. A token has about a thousand, and more only if its
	// request lists many audiences.
	MaxToken = 32 << 10
	// maxCached bounds the cache of verified tokens, and maxCachedToken the tokens in it.
	maxCached, maxCachedToken = 1024, 4 << 10
)

var errInvalid = errors.New("invalid bearer token")

// Authenticator identifies service accounts by their tokens.
//
// The signature of a token is verified once, and its claims are cached; its times and the existence of the objects are
// checked for every request. A token that does not claim to be of this plane's issuer, or that is longer than MaxToken,
// is rejected before its signature is verified. Only one text of a token is valid: base64 could encode its bytes in
// other ways, and each would occupy the cache.
type Authenticator struct {
	issuer *Issuer
	lookup Lookup
	uses   uses

	mu sync.RWMutex
	// cache is keyed by the digest of the whole token, signature included.
	cache map[[sha256.Size]byte]*verified
}

// verified is the content of a token whose signature is valid.
type verified struct {
	claims jwt.Claims
	kubernetesClaims
	// heldIn names the Secret of a legacy token; it is empty for other tokens.
	heldIn string
	user   *auth.User
}

// NewAuthenticator returns an Authenticator of the tokens that an Issuer issues.
func NewAuthenticator(issuer *Issuer, lookup Lookup) *Authenticator {
	return &Authenticator{issuer: issuer, lookup: lookup, cache: map[[sha256.Size]byte]*verified{}}
}

// Authenticate implements auth.Authenticator for requests with a bearer token. Their tokens must be for the audience
// IssuerURL.
func (a *Authenticator) Authenticate(r *http.Request) (*auth.User, bool, error) {
	token, ok := BearerToken(r.Header.Get("Authorization"))
	if !ok {
		return nil, false, nil
	}
	user, _, err := a.Review(r.Context(), token, nil)
	if err != nil {
		return nil, false, err
	}
	return user, true, nil
}

// Review authenticates a token for one of some audiences; none means IssuerURL. It returns those that the token is for.
// The caller must not modify the user.
func (a *Authenticator) Review(ctx context.Context, token string, audiences []string) (*auth.User, []string, error) {
	v, err := a.verify(token)
	if err != nil {
		return nil, nil, err
	}
	if len(audiences) == 0 {
		audiences = []string{IssuerURL}
	}
	common := intersect(v.claims.Audience, audiences)
	if len(common) == 0 {
		return nil, nil, fmt.Errorf("token audiences %q is invalid for the target audiences %q",
			few(v.claims.Audience), few(audiences))
	}
	now := time.Now()
	if err := checkTimes(&v.claims, now); err != nil {
		return nil, nil, err
	}
	user := v.user
	if v.heldIn != "" {
		user, err = a.checkLegacy(ctx, v, token, now)
	} else {
		err = a.checkObjects(ctx, v, now)
	}
	if err != nil {
		return nil, nil, err
	}
	return user, common, nil
}

// BearerToken returns the token of an Authorization header, as Kubernetes parses it: a second word after the token is
// ignored.
func BearerToken(header string) (string, bool) {
	scheme, rest, found := strings.Cut(strings.TrimSpace(header), " ")
	if !found || !strings.EqualFold(scheme, "bearer") {
		return "", false
	}
	token, _, _ := strings.Cut(rest, " ")
	return token, token != ""
}

// verify returns the content of a token whose signature is valid.
func (a *Authenticator) verify(token string) (*verified, error) {
	if len(token) > MaxToken || !inAlphabet(token) {
		return nil, errInvalid
	}
	digest := sha256.Sum256([]byte(token))
	a.mu.RLock()
	v := a.cache[digest]
	a.mu.RUnlock()
	if v != nil {
		return v, nil
	}
	if !claimsIssuer(token) {
		return nil, errInvalid
	}
	v, err := a.verifySignature(token)
	if err != nil {
		return nil, err
	}
	if len(token) <= maxCachedToken {
		a.store(digest, v)
	}
	return v, nil
}

// inAlphabet reports whether a token consists of the characters of a JWT. Decoders of base64 ignore line breaks.
func inAlphabet(token string) bool {
	for i := range len(token) {
		switch c := token[i]; {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '-', c == '.':
		default:
			return false
		}
	}
	return true
}

// claimsIssuer reports whether a token has the form of a JWT and names one of the issuers. Neither proves anything: the
// signature is not verified yet. Bits that base64 does not use must be 0.
func claimsIssuer(token string) bool {
	if strings.Count(token, ".") != 2 {
		return false
	}
	var parts [3][]byte
	for i, encoded := range strings.Split(token, ".") {
		var err error
		if parts[i], err = base64.RawURLEncoding.Strict().DecodeString(encoded); err != nil {
			return false
		}
	}
	var claimed struct {
		Issuer string `json:"iss"`
	}
	return json.Unmarshal(parts[1], &claimed) == nil && (claimed.Issuer == IssuerURL || claimed.Issuer == LegacyIssuer)
}

// verifySignature decodes a token and verifies its signature with the key it names. It accepts no algorithm but the
// issuer's: neither none, nor HMAC with the public key as the secret.
func (a *Authenticator) verifySignature(token string) (*verified, error) {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{algorithm})
	if err != nil {
		return nil, errInvalid
	}
	key := a.issuer.key(parsed.Headers[0].KeyID)
	if key == nil {
		return nil, errors.New("invalid signature, no keys found")
	}
	var registered jwt.Claims
	var private privateClaims
	var legacy legacyClaims
	if err := parsed.Claims(key, &registered, &private, &legacy); err != nil {
		return nil, err
	}
	v := &verified{claims: registered}
	switch registered.Issuer {
	case IssuerURL:
		v.kubernetesClaims = private.Kubernetes
	case LegacyIssuer:
		if err := legacy.check(registered.Subject); err != nil {
			return nil, err
		}
		v.heldIn, v.Namespace = legacy.Secret, legacy.Namespace
		v.Account = Reference{Name: legacy.Account, UID: legacy.UID}
		if len(registered.Audience) == 0 {
			v.claims.Audience = []string{IssuerURL}
		}
	default:
		return nil, fmt.Errorf("token issuer %q is invalid", registered.Issuer)
	}
	v.user = userOf(v)
	return v, nil
}

func (a *Authenticator) store(digest [sha256.Size]byte, v *verified) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.cache) >= maxCached {
		clear(a.cache)
	}
	a.cache[digest] = v
}

// checkTimes returns an error if a token is not valid at a time. Clocks may differ by a minute.
func checkTimes(c *jwt.Claims, now time.Time) error {
	switch err := c.Validate(jwt.Expected{Time: now}); {
	case errors.Is(err, jwt.ErrExpired):
		return errors.New("service account token has expired")
	case errors.Is(err, jwt.ErrNotValidYet):
		return errors.New("service account token is not valid yet")
	case errors.Is(err, jwt.ErrIssuedInTheFuture):
		return errors.New("service account token is issued in the future")
	default:
		return err
	}
}

// intersect returns the elements of a that are in b.
func intersect(a, b []string) []string {
	in := make(map[string]bool, len(b))
	for _, s := range b {
		in[s] = true
	}
	var common []string
	for _, s := range a {
		if in[s] {
			common = append(common, s)
		}
	}
	return common
}

// few returns the first audiences of a list, for an error.
func few(audiences []string) []string {
	const most = 8
	return audiences[:min(len(audiences), most)]
}

// userOf returns the user that a token identifies.
func userOf(v *verified) *auth.User {
	user := auth.NewUser(UserName(v.Namespace, v.Account.Name), Groups(v.Namespace)...)
	user.UID = string(v.Account.UID)
	user.Extra = map[string][]string{}
	set := func(key, value string) {
		if value != "" {
			user.Extra["authentication.kubernetes.io/"+key] = []string{value}
		}
	}
	if v.claims.ID != "" {
		set("credential-id", "JTI="+v.claims.ID)
	}
	if v.Pod != nil && v.Pod.Name != "" && v.Pod.UID != "" {
		set("pod-name", v.Pod.Name)
		set("pod-uid", string(v.Pod.UID))
	}
	if v.Node != nil && v.Node.Name != "" {
		set("node-name", v.Node.Name)
		set("node-uid", string(v.Node.UID))
	}
	return user
}
