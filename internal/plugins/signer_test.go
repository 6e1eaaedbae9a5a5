package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/plugins"
)

// permissions is an authorizer that allows what it lists, as VERB GROUP/VERSION/RESOURCE[/SUBRESOURCE]
// NAMESPACE/NAME, and fails for the verb of failing.
type permissions struct {
	allowed []string
	failing string
}

func (p permissions) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	resource := a.GetAPIGroup() + "/" + a.GetAPIVersion() + "/" + a.GetResource()
	if a.GetSubresource() != "" {
		resource += "/" + a.GetSubresource()
	}
	asked := fmt.Sprintf("%s %s %s/%s", a.GetVerb(), resource, a.GetNamespace(), a.GetName())
	for _, allowed := range p.allowed {
		if allowed == asked {
			return authorizer.DecisionAllow, "", nil
		}
	}
	if p.failing == a.GetVerb() {
		return authorizer.DecisionNoOpinion, "", errors.New("the authorizer is down")
	}
	return authorizer.DecisionNoOpinion, "not listed", nil
}

// registry returns a registry of the built-in kinds.
func registry() *kind.Registry { return kind.NewRegistry(builtin.Kinds(object.NewCache(0))...) }

// update returns an update of an object.
func update(resource, sub, namespace, name string, obj, old kind.Object) *admission.Attributes {
	a := create(resource, namespace, name, obj)
	a.Operation, a.Subresource, a.Old = admission.Update, sub, old
	return a
}

// TestSignerPermissions follows plugin/pkg/admission/certificates.
func TestSignerPermissions(t *testing.T) {
	t.Parallel()
	const signer, signers = "example.com/ca", " certificates.k8s.io/*/signers "
	csr := func(certificate string, conditions ...certificatesv1.CertificateSigningRequestCondition) kind.Object {
		return &certificatesv1.CertificateSigningRequest{
			Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: signer},
			Status: certificatesv1.CertificateSigningRequestStatus{Certificate: []byte(certificate),
				Conditions: conditions}}
	}
	bundle := func(signer, trusts string, finalizers ...string) kind.Object {
		return &certificatesv1.ClusterTrustBundle{ObjectMeta: metav1.ObjectMeta{Name: "b", Finalizers: finalizers},
			Spec: certificatesv1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: trusts}}
	}
	approval := update("certificatesigningrequests", "approval", "", "c", csr(""), csr(""))
	failed := certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateFailed}
	const approve, sign, attest = "user not permitted to approve requests with signerName \"example.com/ca\"",
		"user not permitted to sign requests with signerName \"example.com/ca\"",
		"user not permitted to attest for signerName \"example.com/ca\""
	for name, c := range map[string]struct {
		plugin  admission.Plugin
		write   *admission.Attributes
		allowed string
		want    string
	}{
		"approve":                 {plugins.ApproveRequests{}, approval, "approve" + signers + "/example.com/ca", ""},
		"approve for the domain":  {plugins.ApproveRequests{}, approval, "approve" + signers + "/example.com/*", ""},
		"approve for another one": {plugins.ApproveRequests{}, approval, "approve" + signers + "/example.org/*", approve},
		"approve with sign":       {plugins.ApproveRequests{}, approval, "sign" + signers + "/example.com/ca", approve},
		"sign": {plugins.SignRequests{}, update("certificatesigningrequests", "status", "", "c", csr("x"), csr("")),
			"sign" + signers + "/example.com/ca", ""},
		"sign without permission": {plugins.SignRequests{},
			update("certificatesigningrequests", "status", "", "c", csr("x"), csr("")), "", sign},
		"fail without permission": {plugins.SignRequests{},
			update("certificatesigningrequests", "status", "", "c", csr("", failed), csr("")), "", sign},
		"no change of a status": {plugins.SignRequests{},
			update("certificatesigningrequests", "status", "", "c", csr("x", failed), csr("x", failed)), "", ""},
		"attest": {plugins.AttestBundles{}, create("clustertrustbundles", "", "b", bundle(signer, "x")),
			"attest" + signers + "/example.com/*", ""},
		"attest without permission": {plugins.AttestBundles{},
			create("clustertrustbundles", "", "b", bundle(signer, "x")), "", attest},
		"a bundle without a signer": {plugins.AttestBundles{}, create("clustertrustbundles", "", "b", bundle("", "x")), "",
			""},
		"a finalizer of a bundle": {plugins.AttestBundles{},
			update("clustertrustbundles", "", "", "b", bundle(signer, "x", "f"), bundle(signer, "x")), "", ""},
		"a finalizer and more": {plugins.AttestBundles{},
			update("clustertrustbundles", "", "", "b", bundle(signer, "y", "f"), bundle(signer, "x")), "", attest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := *c.write
			a.Resource.Group = certificatesv1.GroupName
			a.Authorizer = permissions{allowed: []string{c.allowed}, failing: "approve"}
			if !c.plugin.Handles(a.Operation, a.Resource.GroupResource(), a.Subresource) {
				t.Fatal("the plugin does not handle the write")
			}
			prefix := fmt.Sprintf("%s %q is forbidden: ", a.Resource.GroupResource(), a.Name)
			wantForbidden(t, c.plugin.Validate(context.Background(), &a, state{}), prefix, c.want)
			if a.Authorizer = nil; c.allowed != "" {
				if err := c.plugin.Validate(context.Background(), &a, state{}); err == nil {
					t.Error("allowed without an authorizer")
				}
			}
		})
	}
}

// TestProtectOwners follows plugin/pkg/admission/gc.
func TestProtectOwners(t *testing.T) {
	t.Parallel()
	owned := func(owners ...metav1.OwnerReference) kind.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{OwnerReferences: owners}}
	}
	owner := func(apiVersion, kindName, name string, blocks bool) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: apiVersion, Kind: kindName, Name: name, UID: "u", BlockOwnerDeletion: &blocks}
	}
	free, blocking := owner("v1", "Pod", "p", false), owner("v1", "Pod", "p", true)
	node, unknown := owner("v1", "Node", "n", true), owner("example.com/v1", "Thing", "t", true)
	const remove = "delete /v1/configmaps default/c"
	const mayNotDelete = "cannot set an ownerRef on a resource you can't delete: not listed, <nil>"
	const mayNotBlock = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers " +
		"on: not listed, <nil>"
	new := func(obj kind.Object) *admission.Attributes { return create("configmaps", "default", "c", obj) }
	change := func(obj, old kind.Object) *admission.Attributes {
		return update("configmaps", "", "default", "c", obj, old)
	}
	for name, c := range map[string]struct {
		write   *admission.Attributes
		allowed []string
		want    string
	}{
		"no owners":                       {new(owned()), nil, ""},
		"a new object":                    {new(owned(free)), nil, ""},
		"the same owners":                 {change(owned(blocking), owned(blocking)), nil, ""},
		"another owner":                   {change(owned(free), owned()), []string{remove}, ""},
		"another owner, not deletable":    {change(owned(free), owned()), nil, mayNotDelete},
		"one owner less":                  {change(owned(), owned(free)), nil, mayNotDelete},
		"a new object that blocks":        {new(owned(blocking)), []string{"update /v1/pods/finalizers default/p"}, ""},
		"a cluster-scoped owner":          {new(owned(node)), []string{"update /v1/nodes/finalizers /n"}, ""},
		"all finalizers":                  {new(owned(unknown)), []string{"update */*/*/finalizers /*"}, ""},
		"a new object that may not block": {new(owned(blocking)), nil, mayNotBlock},
		"an update that blocks":           {change(owned(blocking), owned(free)), []string{remove}, mayNotBlock},
		"an owner that was blocked":       {change(owned(blocking, free), owned(blocking)), []string{remove}, ""},
		"an unknown kind": {new(owned(unknown)), nil, `cannot set blockOwnerDeletion in this case because cannot find ` +
			`RESTMapping for APIVersion example.com/v1 Kind Thing: no matches for kind "Thing" in version "example.com/v1"`},
		"an invalid version": {new(owned(owner("a/b/c", "Pod", "p", true))), nil, `cannot set blockOwnerDeletion in this case ` +
			`because cannot find RESTMapping for APIVersion a/b/c Kind Pod: unexpected GroupVersion string: a/b/c`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.write.Authorizer = permissions{allowed: c.allowed}
			err := plugins.ProtectOwners{Kinds: registry()}.Validate(context.Background(), c.write, state{})
			wantForbidden(t, err, `configmaps "c" is forbidden: `, c.want)
		})
	}
	if (plugins.ProtectOwners{}).Handles(admission.Update, pods, "status") {
		t.Error("the plugin handles the status of pods")
	}
}

// TestManyOwners checks that an object with very many owners is checked quickly, and not after the request has ended.
func TestManyOwners(t *testing.T) {
	t.Parallel()
	const n = 200_000
	owners := make([]metav1.OwnerReference, n)
	var allowed countingAuthorizer
	for i := range owners {
		id := fmt.Sprint(i)
		owners[i] = metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: id, UID: "u", BlockOwnerDeletion: new(true)}
	}
	a := create("configmaps", "default", "c", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{OwnerReferences: owners}})
	a.Authorizer = &allowed
	p := plugins.ProtectOwners{Kinds: registry()}
	if err := p.Validate(context.Background(), a, state{}); err != nil || allowed != n+1 {
		t.Errorf("%v after %d checks, want %d", err, allowed, n+1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Validate(ctx, a, state{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// countingAuthorizer counts checks, and allows what names an object.
type countingAuthorizer int

func (c *countingAuthorizer) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string,
	error) {
	*c++
	if strings.Contains(a.GetName(), "*") {
		return authorizer.DecisionNoOpinion, "", nil
	}
	return authorizer.DecisionAllow, "", nil
}

func TestAlwaysDeny(t *testing.T) {
	t.Parallel()
	a := create("configmaps", "default", "c", &corev1.ConfigMap{})
	list := []string{"AlwaysDeny", "AlwaysAdmit", "-NamespaceLifecycle"}
	chain := plugins.NewChain(state{}, plugins.Settings{}.Select(list, nil)...)
	wantForbidden(t, chain.Admit(context.Background(), a), `configmaps "c" is forbidden: `,
		"admission control is denying all modifications")
}
