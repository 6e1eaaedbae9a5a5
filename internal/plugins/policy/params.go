package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// Costs of what is no expression, in units of CEL's cost, which are about 100 ns.
const (
	// scanCost is charged for each object that a selector of parameters is compared with.
	scanCost = 10
	// evaluationCost is charged for each evaluation of a policy, beside its expressions. A write for which policies
	// select more than 20,000 parameters exceeds its budget.
	evaluationCost = 500
)

// paramKind is the kind of a policy's parameters, in the version that the policy names.
type paramKind struct {
	kind.Kind
	apiVersion string
}

// paramKindOf returns the kind of a policy's parameters. It is nil for a policy without parameters.
func paramKindOf(kinds *kind.Registry, p *admissionregistrationv1.ParamKind) (*paramKind, error) {
	if p == nil {
		return nil, nil
	}
	gv, err := schema.ParseGroupVersion(p.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("failed to parse paramKind APIVersion: %w", err)
	}
	for _, k := range kinds.Kinds() {
		info := k.Info()
		if info.Kind != p.Kind || !info.Stored() {
			continue
		}
		if e := info.Endpoint(gv); e != nil && !e.Unserved {
			return &paramKind{k, p.APIVersion}, nil
		}
	}
	return nil, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", gv.WithKind(p.Kind))
}

// collect returns the parameters that a binding refers to, for a write in a namespace. The only item is nil if a
// policy is evaluated without parameters; there is none if it does not apply because its parameters do not exist. k
// is nil for a policy without parameters.
func (k *paramKind) collect(ctx context.Context, state admission.Reader, ref *admissionregistrationv1.ParamRef,
	namespace string) (params []runtime.Object, err error) {
	if k == nil || ref == nil {
		expression.Charge(ctx, evaluationCost)
		return []runtime.Object{nil}, nil
	}
	switch {
	case !k.Info().Namespaced && ref.Namespace != "":
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	case !k.Info().Namespaced:
		namespace = ""
	case ref.Namespace != "":
		namespace = ref.Namespace
	case namespace == "":
		return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	}
	if ref.Name != "" {
		params, err = k.named(ctx, state, namespace, ref.Name)
	} else {
		params, err = k.selected(ctx, state, namespace, ref.Selector)
	}
	if err == nil && len(params) == 0 && ref.ParameterNotFoundAction != nil &&
		*ref.ParameterNotFoundAction == admissionregistrationv1.DenyAction {
		err = errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	return params, err
}

func (k *paramKind) named(ctx context.Context, state admission.Reader, namespace,
	name string) ([]runtime.Object, error) {
	obj, err := state.Get(ctx, k.Info().GroupResource(), namespace, name)
	if err != nil || obj == nil {
		return nil, err
	}
	expression.Charge(ctx, evaluationCost)
	param, err := k.Convert(obj, k.apiVersion)
	return []runtime.Object{param}, err
}

// selected returns the parameters with labels, ordered by name. It stops if they cost more than the write may.
func (k *paramKind) selected(ctx context.Context, state admission.Reader, namespace string,
	s *metav1.LabelSelector) (params []runtime.Object, err error) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil, err
	}
	listErr := state.List(ctx, k.Info().GroupResource(), namespace, func(obj kind.Object) bool {
		expression.Charge(ctx, scanCost)
		if selector.Matches(labels.Set(obj.GetLabels())) {
			expression.Charge(ctx, evaluationCost)
			var param runtime.Object
			if param, err = k.Convert(obj, k.apiVersion); err != nil {
				return false
			}
			params = append(params, param)
		}
		if expression.Exhausted(ctx) {
			err = errBudget
		}
		return err == nil && ctx.Err() == nil
	})
	return params, cmp.Or(err, listErr)
}
