// Package policy implements the admission plugin that applies ValidatingAdmissionPolicies: CEL expressions, stored in
// the server, that reject writes or add warnings to their answers. Matching, texts and codes follow Kubernetes 1.37
// (k8s.io/apiserver's pkg/admission/plugin/policy). Package internal/kind/builtin/admissionregistration validates the
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
	namespaces         = schema.GroupResource{Resource: "namespaces"}
)

// excluded lists the resources whose writes no policy checks: the policies themselves, and the questions about users
// and rights without which a server cannot be used.
var excluded = []schema.GroupResource{
	validatingPolicies,
	validatingBindings,
	{Group: group, Resource: "mutatingadmissionpolicies"},
	{Group: group, Resource: "mutatingadmissionpolicybindings"},
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
	{Group: "authentication.k8s.io", Resource: "tokenreviews"},
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
}

// Validating returns the plugin that applies ValidatingAdmissionPolicies. The parameters of policies are objects of
// kinds.
func Validating(kinds *kind.Registry) admission.Plugin { return &validating{kinds: kinds} }

// isExcluded reports whether no policy checks the writes of a resource.
func isExcluded(resource schema.GroupResource) bool { return slices.Contains(excluded, resource) }
