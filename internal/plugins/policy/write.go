package policy

import (
	"context"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	admissionauthorizer "k8s.io/apiserver/pkg/admission/plugin/authorizer"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/plugins/matching"
)

// write is a write that policies match, with the values that the policies share.
type write struct {
	*admission.Attributes
	state admission.Reader
	kinds *kind.Registry
	// misconfigured records an error outside of the expressions; b is nil for one of the policy itself.
	misconfigured func(p *policy, b *binding, err error)
	subjects      map[schema.GroupVersion]*subject
	namespace     ref.Val // nil until it is needed
	authorizer    authorizer.UnconditionalAuthorizer
}

func newWrite(a *admission.Attributes, state admission.Reader, kinds *kind.Registry) *write {
	return &write{Attributes: a, state: state, kinds: kinds, subjects: map[schema.GroupVersion]*subject{}}
}

// misconfiguration returns the error of misconfigured for the client.
func misconfiguration(b *binding, err error) error {
	if b == nil {
		return fmt.Errorf("failed to configure policy: %w", err)
	}
	return fmt.Errorf("failed to configure binding: %w", err)
}

// eachBinding calls use for each binding of a policy that matches the write, with the binding's parameters. It passes
// over the bindings for which skip, which may be nil, is true. Its errors are those of use, and the end of ctx.
func (w *write) eachBinding(ctx context.Context, p *policy, skip func(*binding) bool,
	use func(*binding, []runtime.Object) error) error {
	k, err := paramKindOf(w.kinds, p.paramKind)
	if err != nil {
		w.misconfigured(p, nil, err)
		return nil
	}
	for _, b := range p.bindings {
		if skip != nil && skip(b) {
			continue
		}
		if _, matched, err := b.match.Match(ctx, w.Attributes, w.state); err != nil {
			w.misconfigured(p, b, err)
			continue
		} else if !matched {
			continue
		}
		params, err := k.collect(ctx, w.state, b.param, matching.NamespaceOf(w.Attributes))
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			w.misconfigured(p, b, err)
			continue
		}
		if len(params) == 0 {
			continue
		}
		if err := use(b, params); err != nil {
			return err
		}
	}
	return nil
}

// subject returns the objects of the write in a version.
func (w *write) subject(gv schema.GroupVersion) (*subject, error) {
	if s := w.subjects[gv]; s != nil {
		return s, nil
	}
	s, err := newSubject(w.Attributes, gv)
	if err == nil {
		w.subjects[gv] = s
	}
	return s, err
}

// variables returns the variables of all policies that see the write as a subject.
func (w *write) variables(ctx context.Context, of *subject) (a activation, err error) {
	a.subject = of
	if w.namespace == nil {
		if w.namespace, err = w.namespaceValue(ctx); err != nil {
			return a, err
		}
	}
	if w.authorizer == nil {
		w.authorizer = admissionauthorizer.NewCachingAuthorizer(matching.AuthorizerOf(w.Attributes))
	}
	a.namespace = w.namespace
	a.authorizer = library.NewAuthorizerVal(a.attributes.GetUserInfo(), w.authorizer)
	a.rights = library.NewResourceAuthorizerVal(a.attributes.GetUserInfo(), w.authorizer, a.attributes)
	return a, nil
}

// namespaceValue returns the namespace of the written object; null for a namespace or a cluster-scoped object.
func (w *write) namespaceValue(ctx context.Context) (ref.Val, error) {
	if w.Namespace == "" || w.Resource.GroupResource() == namespaces {
		return types.NullValue, nil
	}
	obj, err := w.state.Get(ctx, namespaces, "", w.Namespace)
	if err != nil {
		return nil, err
	}
	namespace, ok := obj.(*corev1.Namespace)
	if !ok {
		return nil, apierrors.NewNotFound(namespaces, w.Namespace)
	}
	return common.SchemalessTypedToVal(plugincel.CreateNamespaceObject(namespace)), nil
}
