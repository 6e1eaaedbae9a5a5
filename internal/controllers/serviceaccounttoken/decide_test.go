package serviceaccounttoken

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "robot", UID: "u"}}
	full := map[string]string{"ca.crt": "ca", "namespace": "default", "token": "old"}
	without := func(key string) map[string]string {
		data := map[string]string{"ca.crt": "ca", "namespace": "default", "token": "old"}
		delete(data, key)
		return data
	}
	const remove, fill = "[delete secret/s]", "[update secret/s]"
	for _, c := range []struct {
		name    string
		data    map[string]string
		change  func(*corev1.Secret)
		account *corev1.ServiceAccount
		ca      string
		wait    time.Duration
		want    string
		// content is that of a filled Secret.
		content map[string]string
	}{
		{name: "empty", account: account, ca: "ca", want: fill,
			content: map[string]string{"ca.crt": "ca", "namespace": "default", "token": "new"}},
		{name: "complete", data: full, account: account, ca: "ca", want: "[]"},
		{name: "another certificate", data: full, account: account, ca: "cb", want: fill,
			content: map[string]string{"ca.crt": "cb", "namespace": "default", "token": "old"}},
		{name: "unknown certificate", data: full, account: account, want: "[]"},
		{name: "no certificate", account: account, want: fill,
			content: map[string]string{"namespace": "default", "token": "new"}},
		{name: "without a namespace", data: without("namespace"), account: account, ca: "ca", want: fill, content: full},
		{name: "without a token", data: without("token"), account: account, ca: "ca", want: fill,
			content: map[string]string{"ca.crt": "ca", "namespace": "default", "token": "new"}},
		{name: "in a conflict", data: without("token"), account: account, ca: "ca", wait: time.Second,
			want: "[requeue after 1s]"},
		{name: "immutable", change: func(s *corev1.Secret) { s.Immutable = ptr.To(true) }, account: account, want: "[]"},
		{name: "immutable without an account", change: func(s *corev1.Secret) { s.Immutable = ptr.To(true) }, want: remove},
		{name: "without an account", data: full, ca: "ca", want: remove},
		{name: "being deleted", change: func(s *corev1.Secret) { s.DeletionTimestamp = ptr.To(metav1.Now()) }, want: "[]"},
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}}
		for key, value := range c.data {
			if secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			secret.Data[key] = []byte(value)
		}
		if c.change != nil {
			c.change(secret)
		}
		in := input{secret: secret, account: c.account, authority: []byte(c.ca)}
		if in.needsToken() {
			in.token = "new"
		}
		actions := decide(in, c.wait)
		if got := fmt.Sprint(actions); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
			continue
		}
		if c.want != fill {
			continue
		}
		filled := actions[0].(action.Update[*corev1.Secret]).Object
		got := map[string]string{}
		for key, value := range filled.Data {
			got[key] = string(value)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.content) || filled.Annotations[corev1.ServiceAccountUIDKey] != "u" {
			t.Errorf("%s: got %v with the annotations %v, want %v", c.name, got, filled.Annotations, c.content)
		}
	}
}

func TestReferencesMatchAccounts(t *testing.T) {
	t.Parallel()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	for uid, want := range map[types.UID]bool{"": true, "u": true, "v": false} {
		if got := (reference{uid: uid}).matches(account); got != want {
			t.Errorf("the UID %q matches: got %t, want %t", uid, got, want)
		}
	}
}
