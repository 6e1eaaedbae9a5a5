// Package policy implements the admission plugins that apply admission policies: CEL expressions, stored in the server.
// A ValidatingAdmissionPolicy rejects writes or adds warnings to their answers; a MutatingAdmissionPolicy changes the
// written object (KEP-3962). Matching, texts and codes follow Kubernetes 1.37 (k8s.io/apiserver's
// pkg/admission/plugin/policy). Package internal/kind/builtin/admissionregistration validates the
// policies and bindings, and internal/kind/expression limits what expressions cost.
//
// Policies and bindings are read again when they change, and apply to the first write after the answer to the change. A
// policy is compiled when it first matches a write, and again when its spec changes. All policies share one budget for
// a write. Writes of policies and bindings themselves are not checked, so that a broken policy can always be removed.
package policy

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

const group = admissionregistrationv1.GroupName

var (
	validatingPolicies = schema.GroupResource{Group: group, Resource: "validatingadmissionpolicies"}
	validatingBindings = schema.GroupResource{Group: group, Resource: "validatingadmissionpolicybindings"}
	mutatingPolicies   = schema.GroupResource{Group: group, Resource: "mutatingadmissionpolicies"}
	mutatingBindings   = schema.GroupResource{Group: group, Resource: "mutatingadmissionpolicybindings"}
	namespaces         = schema.GroupResource{Resource: "namespaces"}
)

// excluded lists the resources whose writes no policy checks: the policies themselves, and the questions about users
// and rights without which a server cannot be used.
var excluded = []schema.GroupResource{
	validatingPolicies,
	validatingBindings,
	mutatingPolicies,
	mutatingBindings,
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
	{Group: "authentication.k8s.io", Resource: "tokenreviews"},
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
}

// Validating returns the plugin that applies ValidatingAdmissionPolicies. The parameters of policies are objects of
// kinds.
func Validating(kinds *kind.Registry) admission.Plugin { return newValidating(kinds) }

// Mutating returns the plugin that applies MutatingAdmissionPolicies. The parameters of policies are objects of kinds.
func Mutating(kinds *kind.Registry) admission.Plugin { return newMutating(kinds) }

// isExcluded reports whether no policy checks the writes of a resource.
func isExcluded(resource schema.GroupResource) bool { return slices.Contains(excluded, resource) }
