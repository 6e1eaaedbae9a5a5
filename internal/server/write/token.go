package write

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/auth/serviceaccount"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/authentication"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/status"
)

// Kubelets request tokens with this lifetime, in seconds, for volumes that older programs expect to contain a token
// without an end. Such a token is valid for a year, because these programs do not read it again.
const (
	extendedRequest = 60*60 + 7
	extendedLife    = 365 * 24 * time.Hour
)

// tokenRequest is a create of serviceaccounts/token. Behavior and messages follow Kubernetes
// (pkg/registry/core/serviceaccount/storage/token.go).
type tokenRequest struct {
	*operation
	asked *authenticationv1.TokenRequest
	now   time.Time
}

// issue answers with the request and its token. It stores nothing, and like Kubernetes it issues a token for a dry run
// too.
func (op *tokenRequest) issue() (*request.Result, error) {
	req, asked := op.req, op.asked
	if op.Tokens == nil {
		return nil, status.NoResource()
	}
	own := req.Sub.Kind
	if err := op.matchURL(asked); err != nil {
		return nil, err
	}
	asked.SetGroupVersionKind(own)
	authentication.DefaultTokenRequest(asked)
	req.Spans.At(stage.Own)
	op.owners.ofView(req.Sub).Update(own.GroupVersion().String(), req.Subresource, nil, asked, op.Manager)

	op.act, op.obj = true, asked
	a := op.attributes()
	req.Spans.At(stage.Admit)
	if err := op.callPlugins("admit", a); err != nil {
		return nil, err
	}
	req.Spans.At(stage.Validate)
	authentication.DefaultTokenRequest(asked) // whatever the plugins have removed
	account, err := op.complete()
	if err != nil {
		return nil, err
	}
	if errs := authentication.ValidateTokenRequest(asked); len(errs) > 0 {
		return nil, kind.NewInvalid(own.GroupKind(), "", errs)
	}
	if err := op.callPlugins("validate", a); err != nil {
		return nil, err
	}
	subject := serviceaccount.Subject{Namespace: account.GetNamespace(), Account: *referenceTo(account)}
	if err := op.bind(&subject); err != nil {
		return nil, err
	}
	token, err := op.Tokens.Issue(subject, validityOf(&asked.Spec, subject.Pod != nil, op.now))
	if err != nil {
		return nil, status.InternalText(fmt.Sprintf("failed to generate token: %v", err))
	}
	if len(token) > serviceaccount.MaxToken { // only the audiences have no other limit
		return nil, kind.NewInvalid(own.GroupKind(), "", field.ErrorList{field.Invalid(
			field.NewPath("spec", "audiences"), field.OmitValueType{}, fmt.Sprintf("the token would have %d bytes, "+
				"and the server accepts tokens of at most %d bytes", len(token), serviceaccount.MaxToken))})
	}
	asked.Status = authenticationv1.TokenRequestStatus{
		Token:               token,
		ExpirationTimestamp: metav1.NewTime(op.now.Add(time.Duration(*asked.Spec.ExpirationSeconds) * time.Second)),
	}
	return &request.Result{Code: http.StatusCreated, State: asked}, nil
}

// complete checks the metadata of the request, sets the fields that the client left out, and returns the service
// account.
func (op *tokenRequest) complete() (kind.Object, error) {
	req, asked, own := op.req, op.asked, op.req.Sub.Kind.GroupKind()
	for _, m := range []struct{ field, sent, want string }{
		{"name", asked.Name, req.Name}, {"namespace", asked.Namespace, req.Namespace},
	} {
		if m.sent != "" && m.sent != m.want {
			return nil, kind.NewInvalid(own, req.Name, field.ErrorList{field.Invalid(metadataPath.Child(m.field),
				m.sent, "must match the service account "+m.field+" if specified")})
		}
	}
	account, err := op.find(req.Stored, req.Namespace, req.Name)
	if err != nil {
		return nil, err
	}
	if uid := account.GetUID(); asked.UID != "" && asked.UID != uid {
		return nil, conflictingUID(own, req.Name, "the UID in the token request (%s) does not match the UID of the "+
			"service account (%s)", asked.UID, uid)
	}
	if len(asked.Spec.Audiences) == 0 {
		asked.Spec.Audiences = []string{serviceaccount.IssuerURL}
	}
	asked.Name, asked.Namespace, asked.UID = account.GetName(), account.GetNamespace(), account.GetUID()
	asked.CreationTimestamp = metav1.NewTime(op.now)
	asked.Status = authenticationv1.TokenRequestStatus{} // whatever the client says
	return account, nil
}

// bind finds the object that the token shall be bound to, and sets it in the token's subject.
func (op *tokenRequest) bind(subject *serviceaccount.Subject) error {
	ref := op.asked.Spec.BoundObjectRef
	if ref == nil {
		return nil
	}
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	var bound kind.Object
	var err error
	switch core := gvk.Group == ""; { // of any version, as in Kubernetes
	case core && gvk.Kind == "Pod":
		bound, err = op.bindToPod(subject, ref.Name)
	case core && gvk.Kind == "Node":
		if bound, err = op.find(nodes, "", ref.Name); err == nil {
			subject.Node = referenceTo(bound)
		}
	case core && gvk.Kind == "Secret":
		if bound, err = op.find(secrets, op.req.Namespace, ref.Name); err == nil {
			subject.Secret = referenceTo(bound)
		}
	case authentication.IsWebhookConfiguration(ref):
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s (feature gate "+
			"APIServerWebhookAuthenticationToken is disabled)", gvk))
	default:
		return apierrors.NewBadRequest("cannot bind token to object of type " + shown(gvk.String()))
	}
	if err != nil {
		return err
	}
	if ref.UID != "" && ref.UID != bound.GetUID() {
		return conflictingUID(gvk.GroupKind(), ref.Name, "the UID in the bound object reference (%s) does not match the UID "+
			"in record. The object might have been deleted and then recreated", ref.UID)
	}
	return nil
}

// bindToPod binds a token to a pod of its service account. The token also names the pod's node, even if that does not
// exist.
func (op *tokenRequest) bindToPod(subject *serviceaccount.Subject, name string) (kind.Object, error) {
	bound, err := op.find(pods, op.req.Namespace, name)
	if err != nil {
		return nil, err
	}
	pod, ok := bound.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("the pod %s is a %T", name, bound)
	}
	if pod.Spec.ServiceAccountName != subject.Account.Name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with "+
			"different serviceaccount name.", subject.Account.Name))
	}
	subject.Pod = referenceTo(pod)
	if pod.Spec.NodeName == "" {
		return pod, nil
	}
	node, err := op.Reader.Get(op.req.Context(), nodes, "", pod.Spec.NodeName)
	switch {
	case err != nil:
		return nil, apierrors.NewInternalError(err)
	case node == nil:
		subject.Node = &serviceaccount.Reference{Name: pod.Spec.NodeName}
	default:
		subject.Node = referenceTo(node)
	}
	return pod, nil
}

// The resources of the objects that tokens are bound to.
var (
	pods    = schema.GroupResource{Resource: "pods"}
	secrets = schema.GroupResource{Resource: "secrets"}
	nodes   = schema.GroupResource{Resource: "nodes"}
)

// find returns a stored object, or the error of a request for it.
func (op *tokenRequest) find(resource schema.GroupResource, namespace, name string) (kind.Object, error) {
	if name == "" {
		return nil, apierrors.NewBadRequest("Name parameter required.")
	}
	if reasons := content.IsPathSegmentName(name); len(reasons) > 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", shown(name),
			strings.Join(reasons, ";")))
	}
	obj, err := op.Reader.Get(op.req.Context(), resource, namespace, name)
	if err == nil && obj == nil {
		err = status.NotFound(resource, shown(name))
	}
	return obj, err
}

// shown returns a name for an error, which would otherwise repeat all of a very long one.
func shown(name string) string {
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return name[:validation.DNS1123SubdomainMaxLength] + "..."
	}
	return name
}

// conflictingUID returns the 409 of a request that names an object by a UID that another one has.
func conflictingUID(of schema.GroupKind, name, format string, uids ...types.UID) error {
	args := make([]any, len(uids))
	for i, uid := range uids {
		args[i] = shown(string(uid))
	}
	return apierrors.NewConflict(schema.GroupResource{Group: of.Group, Resource: of.Kind}, name,
		fmt.Errorf(format, args...))
}

func referenceTo(obj kind.Object) *serviceaccount.Reference {
	return &serviceaccount.Reference{Name: obj.GetName(), UID: obj.GetUID()}
}

// validityOf returns the validity of a token. That of a pod is extended if it is a kubelet's token for the server.
func validityOf(spec *authenticationv1.TokenRequestSpec, ofPod bool, now time.Time) serviceaccount.Validity {
	v := serviceaccount.Validity{
		Audiences: spec.Audiences, From: now, Lifetime: time.Duration(*spec.ExpirationSeconds) * time.Second,
	}
	others := slices.ContainsFunc(spec.Audiences, func(a string) bool { return a != serviceaccount.IssuerURL })
	if ofPod && *spec.ExpirationSeconds == extendedRequest && !others {
		v.WarnAfter, v.Lifetime = v.Lifetime, extendedLife
	}
	return v
}
