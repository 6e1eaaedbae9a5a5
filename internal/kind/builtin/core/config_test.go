package core

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

const configKeyText = `a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`

var mebibyte = strings.Repeat("x", 1<<20)

// TestConfigMapRules checks the rules of ValidateConfigMap and ValidateConfigMapUpdate
// (pkg/apis/core/validation).
func TestConfigMapRules(t *testing.T) {
	t.Parallel()
	const fixed = "Forbidden: field is immutable when `immutable` is set"
	check(t, "configmaps", []rule{
		{name: "anything in its keys", body: `{"data":{"a":"1"},"binaryData":{"b":"MQ=="}}`},
		{name: "a key with a space", body: `{"data":{"a b":""}}`,
			want: []string{`data[a b]: Invalid value: "a b": ` + configKeyText}},
		{name: "a binary key with a space", body: `{"binaryData":{"a b":""}}`,
			want: []string{`binaryData[a b]: Invalid value: "a b": ` + configKeyText}},
		{name: "a key twice", body: `{"data":{"k":"1"},"binaryData":{"k":"MQ=="}}`,
			want: []string{`data[k]: Invalid value: "k": duplicate of key present in binaryData`}},
		{name: "a mebibyte", body: `{"data":{"k":"` + mebibyte + `"}}`},
		{name: "more than a mebibyte", body: `{"data":{"k":"` + mebibyte + `","l":"x"}}`,
			want: []string{`[]: Too long: may not be more than 1048576 bytes`}},
		{name: "a finalizer without a domain", body: `{"metadata":{"finalizers":["mine"]}}`, want: []string{
			`metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`}},
		{name: "immutable: the same", old: `{"immutable":true,"data":{"a":"1"}}`,
			body: `{"immutable":true,"data":{"a":"1"},"metadata":{"labels":{"a":"b"}}}`},
		{name: "immutable: other data", old: `{"immutable":true,"data":{"a":"1"}}`,
			body: `{"immutable":true,"data":{"a":"2"}}`, want: []string{"data: " + fixed}},
		{name: "immutable: other binary data", old: `{"immutable":true}`,
			body: `{"immutable":true,"binaryData":{"a":"MQ=="}}`, want: []string{"binaryData: " + fixed}},
		{name: "immutable: no longer", old: `{"immutable":true}`, body: `{"immutable":false}`,
			want: []string{"immutable: " + fixed}},
		{name: "immutable: left out", old: `{"immutable":true}`, body: `{}`, want: []string{"immutable: " + fixed}},
		{name: "made immutable", old: `{"data":{"a":"1"}}`, body: `{"immutable":true,"data":{"a":"2"}}`},
	})
}

// TestSecretRules checks the rules of ValidateSecret and ValidateSecretUpdate (pkg/apis/core/validation).
func TestSecretRules(t *testing.T) {
	t.Parallel()
	const fixed = "Forbidden: field is immutable when `immutable` is set"
	required := func(fields ...string) (errs []string) {
		for _, f := range fields {
			errs = append(errs, f+": Required value")
		}
		return errs
	}
	check(t, "secrets", []rule{
		{name: "anything", body: `{"data":{"k":"MQ=="}}`},
		{name: "a type of one's own", body: `{"type":"example.com/x"}`},
		{name: "a key with a space", body: `{"stringData":{"a b":""}}`,
			want: []string{`data[a b]: Invalid value: "a b": ` + configKeyText}},
		{name: "more than a mebibyte", body: `{"stringData":{"k":"` + mebibyte + `","l":"x"}}`,
			want: []string{`data: Too long: may not be more than 1048576 bytes`}},
		{name: "service account token: whose", body: `{"type":"kubernetes.io/service-account-token"}`,
			want: required("metadata.annotations[kubernetes.io/service-account.name]")},
		{name: "service account token",
			body: `{"metadata":{"annotations":{"kubernetes.io/service-account.name":"sa"}},"type":"kubernetes.io/service-account-token"}`},
		{name: "dockercfg: the key", body: `{"type":"kubernetes.io/dockercfg"}`, want: required("data[.dockercfg]")},
		{name: "dockercfg: JSON", body: `{"type":"kubernetes.io/dockercfg","stringData":{".dockercfg":"x"}}`,
			want: []string{`data[.dockercfg]: Invalid value: "<secret contents redacted>": invalid character 'x' looking for beginning of value`}},
		{name: "dockercfg", body: `{"type":"kubernetes.io/dockercfg","stringData":{".dockercfg":"{}"}}`},
		{name: "dockerconfigjson: the key", body: `{"type":"kubernetes.io/dockerconfigjson"}`,
			want: required("data[.dockerconfigjson]")},
		{name: "dockerconfigjson: an object",
			body: `{"type":"kubernetes.io/dockerconfigjson","stringData":{".dockerconfigjson":"[]"}}`,
			want: []string{`data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}`}},
		{name: "basic-auth: one of two", body: `{"type":"kubernetes.io/basic-auth"}`,
			want: required("data[username]", "data[password]")},
		{name: "basic-auth: a name is enough",
			body: `{"type":"kubernetes.io/basic-auth","stringData":{"username":""}}`},
		{name: "ssh-auth: the key", body: `{"type":"kubernetes.io/ssh-auth"}`, want: required("data[ssh-privatekey]")},
		{name: "ssh-auth: an empty key", body: `{"type":"kubernetes.io/ssh-auth","stringData":{"ssh-privatekey":""}}`,
			want: required("data[ssh-privatekey]")},
		{name: "tls: both", body: `{"type":"kubernetes.io/tls"}`, want: required("data[tls.crt]", "data[tls.key]")},
		{name: "another type", old: `{}`, body: `{"type":"example.com/x"}`,
			want: []string{`type: Invalid value: "example.com/x": field is immutable`}},
		{name: "the type left out", old: `{"type":"example.com/x"}`, body: `{}`,
			want: []string{`type: Invalid value: "Opaque": field is immutable`}},
		{name: "immutable: other data", old: `{"immutable":true}`, body: `{"immutable":true,"stringData":{"a":"1"}}`,
			want: []string{"data: " + fixed}},
		{name: "immutable: no longer", old: `{"immutable":true}`, body: `{}`, want: []string{"immutable: " + fixed}},
	})
}

// TestStringDataIsOnlyWritten follows Convert_v1_Secret_To_core_Secret (pkg/apis/core/v1).
func TestStringDataIsOnlyWritten(t *testing.T) {
	t.Parallel()
	s := read(t, kindsByResource()["secrets"], "",
		`{"data":{"a":"MQ==","b":"MQ=="},"stringData":{"b":"2"}}`).(*corev1.Secret)
	want := map[string][]byte{"a": []byte("1"), "b": []byte("2")}
	if diff := cmp.Diff(want, s.Data); diff != "" || s.StringData != nil || s.Type != corev1.SecretTypeOpaque {
		t.Errorf("data (-want +got):\n%s\nstringData %v, type %s", diff, s.StringData, s.Type)
	}
}

// TestSecretWarnings follows warningsForSecret (pkg/registry/core/secret).
func TestSecretWarnings(t *testing.T) {
	t.Parallel()
	const empty = "tls: failed to find any PEM data in certificate input"
	if got := createWarnings(t, "secrets",
		`{"type":"kubernetes.io/tls","data":{"tls.crt":"","tls.key":""}}`); len(got) != 1 || got[0] != empty {
		t.Errorf("warnings %q, want that the certificate is empty", got)
	}
	if got := createWarnings(t, "secrets", `{}`); got != nil {
		t.Errorf("an empty secret causes warnings: %q", got)
	}
}

// TestServiceAccountReferences follows pkg/registry/core/serviceaccount/strategy.go.
func TestServiceAccountReferences(t *testing.T) {
	t.Parallel()
	k := kindsByResource()["serviceaccounts"]
	sa := read(t, k, "", `{"secrets":[{"name":"s","namespace":"other","uid":"u"}]}`).(*corev1.ServiceAccount)
	k.Prepare(sa, nil, "")
	if diff := cmp.Diff([]corev1.ObjectReference{{Name: "s"}}, sa.Secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	const body = `{"metadata":{"annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}}}`
	const want = "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
	if got := createWarnings(t, "serviceaccounts", body); len(got) != 1 || got[0] != want {
		t.Errorf("warnings %q, want %q", got, want)
	}
	old := read(t, k, "", body)
	if got := k.Warnings(old, old, ""); got != nil {
		t.Errorf("an update that changes nothing warns: %q", got)
	}
}
