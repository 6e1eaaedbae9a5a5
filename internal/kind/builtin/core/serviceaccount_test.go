package core

import "testing"

// TestServiceAccountRules checks the rules of ValidateServiceAccount (pkg/apis/core/validation), which
// validates only the metadata. The referenced secrets need not exist or have a name.
func TestServiceAccountRules(t *testing.T) {
	t.Parallel()
	check(t, "serviceaccounts", []rule{
		{name: "anything",
			body: `{"secrets":[{"name":"s"},{}],"imagePullSecrets":[{"name":"p"}],"automountServiceAccountToken":false}`},
		{name: "a finalizer without a domain", body: `{"metadata":{"finalizers":["mine"]}}`, want: []string{
			`metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`}},
		{name: "anything changes", old: `{"secrets":[{"name":"s"}]}`, body: `{"imagePullSecrets":[{"name":"p"}]}`},
	})
}
