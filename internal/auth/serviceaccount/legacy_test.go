package serviceaccount_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/serviceaccount"
)

// held is a service account and the Secret that holds its token; nil for one that does not exist.
type held struct {
	account *corev1.ServiceAccount
	secret  *corev1.Secret
}

func (h *held) lookup(_ context.Context, gr schema.GroupResource, namespace, name string) (metav1.Object, error) {
	switch {
	case gr.Resource == "serviceaccounts" && h.account != nil && namespace+"/"+name == "default/robot":
		return h.account, nil
	case gr.Resource == "secrets" && h.secret != nil && namespace+"/"+name == "default/s":
		return h.secret, nil
	}
	return nil, nil
}

// newHeld returns an account with a Secret that holds a token, and the token.
func newHeld(t *testing.T, issuer *serviceaccount.Issuer) (*held, string) {
	t.Helper()
	token, err := issuer.IssueLegacy("default", *ref("robot", "u1"), "s")
	if err != nil {
		t.Fatal(err)
	}
	return &held{
		account: &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{UID: "u1"}},
		secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{UID: "u3"}, Data: map[string][]byte{"token": []byte(token)},
		},
	}, token
}

func TestLegacyClaimsMatchKubernetes(t *testing.T) {
	t.Parallel()
	issuer, _ := newIssuer(t)
	_, token := newHeld(t, issuer)
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(payload, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"iss": "kubernetes/serviceaccount", "sub": "system:serviceaccount:default:robot",
		"kubernetes.io/serviceaccount/namespace":            "default",
		"kubernetes.io/serviceaccount/secret.name":          "s",
		"kubernetes.io/serviceaccount/service-account.name": "robot",
		"kubernetes.io/serviceaccount/service-account.uid":  "u1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLegacyTokenIdentifiesServiceAccount(t *testing.T) {
	t.Parallel()
	issuer, _ := newIssuer(t)
	objects, token := newHeld(t, issuer)
	authenticator := serviceaccount.NewAuthenticator(issuer, objects.lookup)
	user := &auth.User{Name: "system:serviceaccount:default:robot", UID: "u1", Extra: map[string][]string{},
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"}}
	warned := *user
	warned.Warnings = []string{"Use tokens from the TokenRequest API or manually created secret-based tokens instead of " +
		"auto-generated secret-based tokens."}
	for _, c := range []struct {
		listed string // in the account
		want   *auth.User
	}{{"", user}, {"s", &warned}, {"other", user}} {
		objects.account.Secrets = []corev1.ObjectReference{{Name: c.listed}}
		got, audiences, err := authenticator.Review(t.Context(), token, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || len(audiences) != 1 || audiences[0] != serviceaccount.IssuerURL {
			t.Errorf("with the Secret %q in the account's list: for %q, %s", c.listed, audiences, diff)
		}
	}
	if _, _, err := authenticator.Review(t.Context(), token, []string{"vault"}); err == nil {
		t.Error("the token is valid for another audience")
	}
}

// TestLegacyTokensAreInvalidated checks that a legacy token is valid only as long as its Secret and its account are as
// they were. The errors are Kubernetes'.
func TestLegacyTokensAreInvalidated(t *testing.T) {
	t.Parallel()
	issuer, _ := newIssuer(t)
	now := ptr.To(metav1.Now())
	const gone, other = "Token has been invalidated", "Token does not match server's copy"
	invalid := map[string]string{"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}
	for name, c := range map[string]struct {
		change func(*held)
		want   string
	}{
		"the Secret does not exist":      {func(h *held) { h.secret = nil }, gone},
		"the Secret is being deleted":    {func(h *held) { h.secret.DeletionTimestamp = now }, gone},
		"the Secret holds no token":      {func(h *held) { h.secret.Data = nil }, other},
		"the Secret holds another token": {func(h *held) { h.secret.Data["token"][9]++ }, other},
		"the account does not exist":     {func(h *held) { h.account = nil }, `serviceaccounts "robot" not found`},
		"the account is being deleted": {func(h *held) { h.account.DeletionTimestamp = now },
			"ServiceAccount default/robot has been deleted"},
		"another account has the name": {func(h *held) { h.account.UID = "u2" },
			"ServiceAccount UID (u2) does not match claim (u1)"},
		"the Secret has been invalidated": {func(h *held) { h.secret.Labels = invalid },
			"the token in secret default/s for service account default/robot has been marked invalid. Use tokens from the " +
				"TokenRequest API or manually created secret-based tokens, or remove the " +
				"'kubernetes.io/legacy-token-invalid-since' label from the secret to temporarily allow use of this token"},
	} {
		objects, token := newHeld(t, issuer)
		authenticator := serviceaccount.NewAuthenticator(issuer, objects.lookup)
		if _, _, err := authenticator.Review(t.Context(), token, nil); err != nil {
			t.Errorf("before %s: %v", name, err)
		}
		c.change(objects)
		if _, _, err := authenticator.Review(t.Context(), token, nil); err == nil || err.Error() != c.want {
			t.Errorf("if %s: got error %v, want %s", name, err, c.want)
		}
	}
}

// TestLegacyTokensNeedTheirClaims checks tokens that an issuer signed with claims of accounts without a name.
func TestLegacyTokensNeedTheirClaims(t *testing.T) {
	t.Parallel()
	issuer, _ := newIssuer(t)
	for _, c := range []struct{ namespace, account, uid, secret, want string }{
		{"", "robot", "u1", "s", "namespace claim is missing"},
		{"default", "", "u1", "s", "serviceAccountName claim is missing"},
		{"default", "robot", "", "s", "serviceAccountUID claim is missing"},
		{"default", "robot", "u1", "", "secretName claim is missing"},
		{"default", "a:b", "u1", "s", "sub claim is invalid"},
	} {
		token, err := issuer.IssueLegacy(c.namespace, *ref(c.account, c.uid), c.secret)
		if err != nil {
			t.Fatal(err)
		}
		objects, _ := newHeld(t, issuer)
		objects.secret.Data["token"] = []byte(token)
		_, _, err = serviceaccount.NewAuthenticator(issuer, objects.lookup).Review(t.Context(), token, nil)
		if err == nil || err.Error() != c.want {
			t.Errorf("got error %v, want %s", err, c.want)
		}
	}
}

// TestUsesOfLegacyTokensAreRecorded checks that a Secret is labeled once a day, and that a request which is sent during
// that is authenticated.
func TestUsesOfLegacyTokensAreRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		issuer, _ := newIssuer(t)
		objects, token := newHeld(t, issuer)
		authenticator := serviceaccount.NewAuthenticator(issuer, objects.lookup)
		use := func() {
			if _, _, err := authenticator.Review(t.Context(), token, nil); err != nil {
				t.Error(err)
			}
		}
		var days []string
		authenticator.RecordUses(func(_ context.Context, secret *corev1.Secret, day string) {
			use()
			days = append(days, day)
			secret.Labels = map[string]string{serviceaccount.LastUsedLabel: day}
		})
		use()
		use()
		time.Sleep(24 * time.Hour)
		use()
		objects.secret.Labels[serviceaccount.LastUsedLabel] = "2000-01-03" // tomorrow
		use()
		if diff := cmp.Diff([]string{"2000-01-01", "2000-01-02"}, days); diff != "" {
			t.Error(diff)
		}
	})
}
