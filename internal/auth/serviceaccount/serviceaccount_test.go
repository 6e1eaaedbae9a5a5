package serviceaccount_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/serviceaccount"
)

// objects are the stored objects, by resource, namespace and name. The error of broken is returned for every lookup.
type objects struct {
	stored map[string]*metav1.ObjectMeta
	broken error
	asked  int
}

func (o *objects) lookup(_ context.Context, gr schema.GroupResource, namespace, name string) (metav1.Object, error) {
	o.asked++
	if obj := o.stored[gr.Resource+"/"+namespace+"/"+name]; obj != nil && o.broken == nil {
		return obj, nil
	}
	return nil, o.broken
}

// some returns the objects that the tokens of these tests name.
func some() *objects {
	return &objects{stored: map[string]*metav1.ObjectMeta{
		"serviceaccounts/default/robot": {UID: "u1"},
		"pods/default/p":                {UID: "u2"},
		"secrets/default/s":             {UID: "u3"},
		"nodes//n":                      {UID: "u4"},
	}}
}

var (
	robot    = serviceaccount.Subject{Namespace: "default", Account: serviceaccount.Reference{Name: "robot", UID: "u1"}}
	ofPod    = bound(func(s *serviceaccount.Subject) { s.Pod, s.Node = ref("p", "u2"), ref("n", "u4") })
	ofSecret = bound(func(s *serviceaccount.Subject) { s.Secret = ref("s", "u3") })
	ofNode   = bound(func(s *serviceaccount.Subject) { s.Node = ref("n", "u4") })
)

func ref(name, uid string) *serviceaccount.Reference {
	return &serviceaccount.Reference{Name: name, UID: types.UID(uid)}
}

func bound(to func(*serviceaccount.Subject)) serviceaccount.Subject {
	s := robot
	to(&s)
	return s
}

func newIssuer(t testing.TB) (*serviceaccount.Issuer, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := serviceaccount.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	issuer, err := serviceaccount.NewIssuer(key)
	if err != nil {
		t.Fatal(err)
	}
	return issuer, key
}

// hour returns the validity of a token for the server that is issued now.
func hour(audiences ...string) serviceaccount.Validity {
	if len(audiences) == 0 {
		audiences = []string{serviceaccount.IssuerURL}
	}
	return serviceaccount.Validity{Audiences: audiences, From: time.Now(), Lifetime: time.Hour}
}

func issue(t testing.TB, issuer *serviceaccount.Issuer, s serviceaccount.Subject, v serviceaccount.Validity) string {
	t.Helper()
	token, err := issuer.Issue(s, v)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func with(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func TestTokenIdentifiesServiceAccount(t *testing.T) {
	t.Parallel()
	issuer, _ := newIssuer(t)
	const prefix = "authentication.kubernetes.io/"
	for name, test := range map[string]struct {
		subject serviceaccount.Subject
		extra   map[string][]string
	}{
		"unbound": {robot, map[string][]string{}},
		"of a pod": {ofPod, map[string][]string{prefix + "pod-name": {"p"}, prefix + "pod-uid": {"u2"},
			prefix + "node-name": {"n"}, prefix + "node-uid": {"u4"}}},
		"of a secret": {ofSecret, map[string][]string{}},
		"of a node":   {ofNode, map[string][]string{prefix + "node-name": {"n"}, prefix + "node-uid": {"u4"}}},
	} {
		token := issue(t, issuer, test.subject, hour())
		var public jwt.Claims
		parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
		if err == nil {
			err = parsed.UnsafeClaimsWithoutVerification(&public)
		}
		if err != nil {
			t.Fatal(err)
		}
		test.extra[prefix+"credential-id"] = []string{"JTI=" + public.ID}
		want := &auth.User{Name: "system:serviceaccount:default:robot", UID: "u1", Extra: test.extra, Groups: []string{
			"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"}}
		authenticator := serviceaccount.NewAuthenticator(issuer, some().lookup)
		for range 2 { // verified, then cached
			user, ok, err := authenticator.Authenticate(with(token))
			if !ok || err != nil {
				t.Fatalf("token %s: got ok %v, error %v", name, ok, err)
			}
			if diff := cmp.Diff(want, user); diff != "" {
				t.Errorf("token %s: %s", name, diff)
			}
		}
	}
}

func TestClaimsMatchKubernetes(t *testing.T) {
	t.Parallel()
	issuer, _ := newIssuer(t)
	v := hour("a", "b")
	v.From = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	v.WarnAfter = time.Minute
	token := issue(t, issuer, ofPod, v)
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(payload, &got); err != nil {
		t.Fatal(err)
	}
	if id, _ := got["jti"].(string); len(id) != 36 {
		t.Errorf("the jti is %q, want a UUID", id)
	}
	delete(got, "jti")
	const from = 1767323045.0
	want := map[string]any{
		"iss": serviceaccount.IssuerURL, "sub": "system:serviceaccount:default:robot", "aud": []any{"a", "b"},
		"iat": from, "nbf": from, "exp": from + 3600,
		"kubernetes.io": map[string]any{
			"namespace":      "default",
			"serviceaccount": map[string]any{"name": "robot", "uid": "u1"},
			"pod":            map[string]any{"name": "p", "uid": "u2"},
			"node":           map[string]any{"name": "n", "uid": "u4"},
			"warnafter":      from + 60,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHeadersWithoutToken(t *testing.T) {
	t.Parallel()
	issuer, _ := newIssuer(t)
	authenticator := serviceaccount.NewAuthenticator(issuer, some().lookup)
	token := issue(t, issuer, robot, hour())
	for header, found := range map[string]bool{
		"": false, "Bearer": false, "Bearer ": false, "Bearer  " + token: false, "Basic " + token: false,
		token: false, "Bearer" + token: false, "bearer " + token: true, "  BEARER " + token + " x": true,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", header)
		if _, ok, err := authenticator.Authenticate(r); ok != found || err != nil {
			t.Errorf("header %.20q: got ok %v, error %v", header, ok, err)
		}
	}
}

// forge returns a token with any header, payload and signature.
func forge(header, payload string, signature []byte) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(header)) + "." + encode([]byte(payload)) + "." + encode(signature)
}

func TestForgedTokensAreRejected(t *testing.T) {
	t.Parallel()
	issuer, key := newIssuer(t)
	other, _ := newIssuer(t)
	valid := issue(t, issuer, robot, hour())
	parts := strings.Split(valid, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(with jose.SigningKey, payload string) string {
		t.Helper()
		signer, err := jose.NewSigner(with, nil)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := signer.Sign([]byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		token, err := signed.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	foreign := strings.ReplaceAll(string(payload), serviceaccount.IssuerURL, "https://example.com")
	const invalid = "invalid bearer token"
	for name, test := range map[string]struct{ token, want string }{
		"text":                       {"made-up", invalid},
		"two dots alone":             {"..", invalid},
		"JSON":                       {`{"payload":"` + parts[1] + `","signatures":[]}`, invalid},
		"too long":                   {valid + strings.Repeat("A", 64<<10), invalid},
		"many dots":                  {strings.Repeat(".", 30<<10), invalid},
		"a part too many":            {valid + ".x", invalid},
		"a line break":               {valid[:20] + "\n" + valid[20:], invalid},
		"a NUL at the end":           {valid + "\x00", invalid},
		"padding":                    {valid + "==", invalid},
		"unused bits":                {valid[:len(valid)-1] + string(valid[len(valid)-1]+1), invalid},
		"without a signature":        {parts[0] + "." + parts[1] + ".", "go-jose/go-jose: error in cryptographic primitive"},
		"no JSON in it":              {forge("{}", "x", nil), invalid},
		"deep JSON":                  {forge("{}", strings.Repeat("[", 20<<10), nil), invalid},
		"algorithm none":             {forge(`{"alg":"none"}`, string(payload), nil), invalid},
		"no algorithm":               {forge(`{}`, string(payload), []byte("x")), invalid},
		"HMAC with the public key":   {sign(jose.SigningKey{Algorithm: jose.HS256, Key: der}, string(payload)), invalid},
		"another curve":              {sign(jose.SigningKey{Algorithm: jose.ES384, Key: p384}, string(payload)), invalid},
		"another issuer's signature": {issue(t, other, robot, hour()), "invalid signature, no keys found"},
		"another payload": {parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.ReplaceAll(
			string(payload), "robot", "admin"))) + "." + parts[2], "go-jose/go-jose: error in cryptographic primitive"},
		"another issuer in it": {sign(jose.SigningKey{Algorithm: jose.ES256, Key: key}, foreign), invalid},
		"critical header": {forge(`{"alg":"ES256","crit":["x"],"x":1}`, string(payload), []byte("x")),
			"go-jose/go-jose: unsupported critical header"},
	} {
		stored := some()
		authenticator := serviceaccount.NewAuthenticator(issuer, stored.lookup)
		for range 2 {
			user, ok, err := authenticator.Authenticate(with(test.token))
			if ok || err == nil || err.Error() != test.want {
				t.Errorf("%s: got user %+v, error %v, want %s", name, user, err, test.want)
			}
		}
		if stored.asked > 0 {
			t.Errorf("%s: a forged token was looked up", name)
		}
	}
}

func TestAudiences(t *testing.T) {
	t.Parallel()
	issuer, _ := newIssuer(t)
	authenticator := serviceaccount.NewAuthenticator(issuer, some().lookup)
	for _, test := range []struct{ token, asked, want []string }{
		{[]string{serviceaccount.IssuerURL}, nil, []string{serviceaccount.IssuerURL}},
		{[]string{"a", serviceaccount.IssuerURL}, nil, []string{serviceaccount.IssuerURL}},
		{[]string{"a", "b", "c"}, []string{"c", "x", "a"}, []string{"a", "c"}},
		{[]string{"a"}, nil, nil},
		{[]string{serviceaccount.IssuerURL}, []string{"a"}, nil},
	} {
		token := issue(t, issuer, robot, hour(test.token...))
		user, audiences, err := authenticator.Review(t.Context(), token, test.asked)
		accepted := test.want != nil
		if !slices.Equal(audiences, test.want) || (user != nil) != accepted || (err == nil) != accepted {
			t.Errorf("a token for %q, asked for %q: got %q, error %v", test.token, test.asked, audiences, err)
		}
		if err != nil && !strings.Contains(err.Error(), "is invalid for the target audiences") {
			t.Error(err)
		}
	}
}

func TestTokensOfGoneObjectsAreRejected(t *testing.T) {
	t.Parallel()
	deletedAgo := func(d time.Duration) func(*metav1.ObjectMeta) {
		return func(m *metav1.ObjectMeta) { m.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(-d)} }
	}
	recreated := func(m *metav1.ObjectMeta) { m.UID = "new" }
	const invalidated = "service account token has been invalidated"
	const account, pod, secret, node = "serviceaccounts/default/robot", "pods/default/p", "secrets/default/s", "nodes//n"
	issuer, _ := newIssuer(t)
	for name, test := range map[string]struct {
		subject serviceaccount.Subject
		object  string
		change  func(*metav1.ObjectMeta) // nil removes the object
		want    string
	}{
		"no account":      {robot, account, nil, `serviceaccounts "robot" not found`},
		"another account": {robot, account, recreated, "service account UID (new) does not match claim (u1)"},
		"account deleted long ago": {robot, account, deletedAgo(2 * time.Minute),
			"service account default/robot has been deleted"},
		"account deleted just now": {robot, account, deletedAgo(50 * time.Second), ""},
		"no pod":                   {ofPod, pod, nil, invalidated},
		"another pod": {ofPod, pod, recreated,
			"pod UID (new) does not match service account pod ref claim (u2)"},
		"pod deleted long ago":  {ofPod, pod, deletedAgo(2 * time.Minute), invalidated},
		"pod deleted just now":  {ofPod, pod, deletedAgo(50 * time.Second), ""},
		"no node of a pod":      {ofPod, node, nil, ""},
		"another node of a pod": {ofPod, node, recreated, ""},
		"no secret":             {ofSecret, secret, nil, invalidated},
		"another secret": {ofSecret, secret, recreated,
			"secret UID (new) does not match service account secret ref claim (u3)"},
		"secret deleted long ago": {ofSecret, secret, deletedAgo(2 * time.Minute), invalidated},
		"no node":                 {ofNode, node, nil, invalidated},
		"another node": {ofNode, node, recreated,
			"node UID (new) does not match service account node ref claim (u4)"},
		"node deleted long ago":       {ofNode, node, deletedAgo(2 * time.Minute), invalidated},
		"a pod that it does not name": {robot, pod, nil, ""},
	} {
		stored := some()
		authenticator := serviceaccount.NewAuthenticator(issuer, stored.lookup)
		token := issue(t, issuer, test.subject, hour())
		if _, ok, err := authenticator.Authenticate(with(token)); !ok {
			t.Fatalf("%s: before the change: %v", name, err)
		}
		if test.change == nil {
			delete(stored.stored, test.object)
		} else {
			test.change(stored.stored[test.object])
		}
		_, ok, err := authenticator.Authenticate(with(token))
		if got := fmt.Sprint(err); ok != (test.want == "") || err != nil && got != test.want {
			t.Errorf("%s: got ok %v, error %v, want %q", name, ok, err, test.want)
		}
	}
}

func TestUnreadableObjectsRejectTokens(t *testing.T) {
	t.Parallel()
	issuer, _ := newIssuer(t)
	stored := some()
	stored.broken = errors.New("damaged")
	authenticator := serviceaccount.NewAuthenticator(issuer, stored.lookup)
	_, ok, err := authenticator.Authenticate(with(issue(t, issuer, robot, hour())))
	if ok || !errors.Is(err, stored.broken) {
		t.Errorf("got ok %v, error %v", ok, err)
	}
}

func TestCachedTokenExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		issuer, _ := newIssuer(t)
		authenticator := serviceaccount.NewAuthenticator(issuer, some().lookup)
		future := hour()
		future.From = future.From.Add(2 * time.Minute)
		if _, _, err := authenticator.Authenticate(with(issue(t, issuer, robot, future))); err == nil ||
			err.Error() != "service account token is not valid yet" {
			t.Errorf("a token of the future: %v", err)
		}
		r := with(issue(t, issuer, robot, hour()))
		time.Sleep(time.Hour + 59*time.Second) // clocks may differ by a minute
		if _, ok, err := authenticator.Authenticate(r); !ok {
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		if _, ok, err := authenticator.Authenticate(r); ok || err == nil ||
			err.Error() != "service account token has expired" {
			t.Errorf("got ok %v, error %v", ok, err)
		}
	})
}

// TestTokensOfManyAccounts checks that a full cache does not mix up tokens.
func TestTokensOfManyAccounts(t *testing.T) {
	t.Parallel()
	issuer, _ := newIssuer(t)
	stored := &objects{stored: map[string]*metav1.ObjectMeta{}}
	authenticator := serviceaccount.NewAuthenticator(issuer, stored.lookup)
	const many = 1500
	tokens := make([]string, many)
	for i := range tokens {
		name := fmt.Sprint("a", i)
		stored.stored["serviceaccounts/default/"+name] = &metav1.ObjectMeta{UID: "u"}
		tokens[i] = issue(t, issuer, serviceaccount.Subject{Namespace: "default", Account: *ref(name, "u")}, hour())
	}
	for range 2 {
		for i, token := range tokens {
			user, ok, err := authenticator.Authenticate(with(token))
			if want := fmt.Sprint("system:serviceaccount:default:a", i); !ok || user.Name != want {
				t.Fatalf("got %+v, error %v, want %s", user, err, want)
			}
		}
	}
}

func TestKeysMustHaveTheCurve(t *testing.T) {
	t.Parallel()
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []*ecdsa.PrivateKey{nil, {}, p384} {
		if _, err := serviceaccount.NewIssuer(key); err == nil {
			t.Errorf("the key %v was accepted", key)
		}
	}
}

// TestPublishedKeyVerifiesTokens verifies a token as a program that only knows the address of the server does.
func TestPublishedKeyVerifiesTokens(t *testing.T) {
	t.Parallel()
	issuer, _ := newIssuer(t)
	handler, err := issuer.OpenID("192.0.2.1:6443")
	if err != nil {
		t.Fatal(err)
	}
	get := func(path, mediaType string) []byte {
		t.Helper()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != mediaType ||
			w.Header().Get("Cache-Control") != "public, max-age=3600" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		return w.Body.Bytes()
	}
	const want = `{"issuer":"https://kubernetes.default.svc.cluster.local",` +
		`"jwks_uri":"https://192.0.2.1:6443/openid/v1/jwks","response_types_supported":["id_token"],` +
		`"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]}`
	if got := string(get(serviceaccount.ConfigurationPath, "application/json")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(get(serviceaccount.KeysPath, "application/jwk-set+json"), &keys); err != nil {
		t.Fatal(err)
	}
	token, err := jwt.ParseSigned(issue(t, issuer, robot, hour()), []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	if len(keys.Keys) != 1 || !keys.Keys[0].IsPublic() || keys.Keys[0].KeyID != token.Headers[0].KeyID {
		t.Fatalf("the published keys are %+v, and the token names %s", keys, token.Headers[0].KeyID)
	}
	var claims jwt.Claims
	if err := token.Claims(keys, &claims); err != nil || claims.Subject != "system:serviceaccount:default:robot" {
		t.Errorf("%+v, %v", claims, err)
	}
}

// TestForkVerifiesTokensOfItsParents checks that the tokens of a plane are valid in its forks, and not the reverse.
func TestForkVerifiesTokensOfItsParents(t *testing.T) {
	t.Parallel()
	plane, key := newIssuer(t)
	forkKey, err := serviceaccount.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	fork, err := serviceaccount.NewIssuer(forkKey, &key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		by, to *serviceaccount.Issuer
		want   bool
	}{
		"the plane's in the plane": {plane, plane, true},
		"the plane's in the fork":  {plane, fork, true},
		"the fork's in the fork":   {fork, fork, true},
		"the fork's in the plane":  {fork, plane, false},
	} {
		authenticator := serviceaccount.NewAuthenticator(test.to, some().lookup)
		if _, ok, err := authenticator.Authenticate(with(issue(t, test.by, robot, hour()))); ok != test.want {
			t.Errorf("%s: got %v, error %v", name, ok, err)
		}
	}
	handler, err := fork.OpenID("192.0.2.1:6443")
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, serviceaccount.KeysPath, nil))
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(w.Body.Bytes(), &keys); err != nil {
		t.Fatal(err)
	}
	if len(keys.Keys) != 2 || !forkKey.PublicKey.Equal(keys.Keys[0].Key) || !key.PublicKey.Equal(keys.Keys[1].Key) {
		t.Errorf("the fork publishes %+v", keys)
	}
}

func TestServiceAccountsReadTheKeys(t *testing.T) {
	t.Parallel()
	account := auth.NewUser("system:serviceaccount:default:robot", "system:serviceaccounts")
	for _, test := range []struct {
		who   *auth.User
		verb  string
		path  string
		allow bool
	}{
		{account, "get", serviceaccount.KeysPath, true},
		{account, "get", serviceaccount.ConfigurationPath + "/", true},
		{account, "post", serviceaccount.KeysPath, false},
		{account, "get", "/metrics", false},
		{auth.NewUser("jane"), "get", serviceaccount.KeysPath, false},
		{nil, "get", serviceaccount.KeysPath, false},
	} {
		decision, _, err := serviceaccount.IssuerDiscovery().Authorize(t.Context(),
			auth.Attributes{User: test.who, Verb: test.verb, Path: test.path})
		if err != nil || (decision == auth.Allow) != test.allow {
			t.Errorf("%+v: got decision %v, error %v", test, decision, err)
		}
	}
}

func FuzzTokens(f *testing.F) {
	issuer, _ := newIssuer(f)
	valid := issue(f, issuer, robot, hour())
	f.Add(valid)
	f.Add("")
	f.Add("a.b.c")
	f.Add(forge(`{"alg":"none"}`, `{"iss":"`+serviceaccount.IssuerURL+`"}`, nil))
	f.Add(forge(`{"alg":"none"}`, `{"iss":"`+serviceaccount.LegacyIssuer+`"}`, nil))
	authenticator := serviceaccount.NewAuthenticator(issuer, some().lookup)
	f.Fuzz(func(t *testing.T, token string) {
		user, _, err := authenticator.Review(t.Context(), token, nil)
		if err == nil && token != valid {
			t.Errorf("the token %q is accepted as %s", token, user.Name)
		}
	})
}

// BenchmarkAuthenticate measures a token that was verified before.
func BenchmarkAuthenticate(b *testing.B) {
	issuer, _ := newIssuer(b)
	authenticator := serviceaccount.NewAuthenticator(issuer, some().lookup)
	r := with(issue(b, issuer, ofPod, hour()))
	for b.Loop() {
		if _, ok, err := authenticator.Authenticate(r); !ok {
			b.Fatal(err)
		}
	}
}
