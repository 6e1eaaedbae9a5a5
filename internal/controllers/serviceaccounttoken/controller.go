// Package serviceaccounttoken implements the controller that fills the Secrets of the type
// kubernetes.io/service-account-token with a token of the service account that an annotation names, the server's CA
// certificates and the namespace. It deletes Secrets whose account does not exist. The list of an account's secrets
// loses a Secret that is deleted while the controller runs.
//
// Unlike Kubernetes' controller, it leaves Secrets that are immutable or being deleted, and backs off if another client
// keeps reverting its writes. decide.go computes the actions from what was observed, without I/O.
package serviceaccounttoken

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "serviceaccount-token-controller"

// workers is the number of Secrets processed concurrently.
const workers = 4

// ofAccount is the name of the index of Secrets by the namespace and name of their account.
const ofAccount = "account"

var (
	secrets  = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	accounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
)

// Signer returns a token for a service account that the Secret with the given name holds. Only the owner of the key
// with which the server verifies tokens can create one.
type Signer func(account *corev1.ServiceAccount, secret string) (string, error)

// Add adds the controller to a manager. It publishes the manager's Authority.
func Add(m *controller.Manager, sign Signer) *controller.Controller {
	tokens := informer.Scope{Fields: fields.OneTermEqualSelector("type", string(corev1.SecretTypeServiceAccountToken))}
	f := &filler{
		sign:      sign,
		authority: m.Authority(),
		secrets:   informer.For[*corev1.Secret](m.Informers(), secrets, tokens),
		accounts:  informer.For[*corev1.ServiceAccount](m.Informers(), accounts),
		live:      client.Of[*corev1.ServiceAccount](m.Client(), accounts),
		executor:  action.NewExecutor(m, Name),
		known:     map[controller.Request]reference{},
	}
	f.secrets.Indexer().AddIndex(ofAccount, func(s *corev1.Secret) []string {
		return []string{s.Namespace + "/" + s.Annotations[corev1.ServiceAccountNameKey]}
	})
	return m.Add(controller.Options{
		Name: Name, Reconciler: f, Workers: workers,
		Sources: []controller.Source{
			controller.For(f.secrets),
			controller.Watches(f.accounts, f.secretsOf, controller.If(isRemoved)),
		},
	})
}

// isRemoved reports whether a change of an account means that its tokens are invalid: it was deleted, and another one
// may have its name.
func isRemoved(old, now *corev1.ServiceAccount) bool {
	return now == nil || old != nil && old.UID != now.UID
}

// secretsOf returns requests for the Secrets of an account.
func (f *filler) secretsOf(account *corev1.ServiceAccount) (requests []controller.Request) {
	for s := range f.secrets.Indexer().Each(ofAccount, account.Namespace+"/"+account.Name) {
		requests = append(requests, informer.KeyOf(s))
	}
	return requests
}

// filler reconciles one Secret per request.
type filler struct {
	sign      Signer
	authority []byte
	secrets   *informer.Informer[*corev1.Secret]
	accounts  *informer.Informer[*corev1.ServiceAccount]
	live      client.Resource[*corev1.ServiceAccount]
	executor  *action.Executor
	// backoff delays writes in a conflict loop with another client.
	backoff action.StatusBackoff[content]

	mu sync.Mutex
	// known has the accounts of Secrets, for the time when these are deleted.
	known map[controller.Request]reference
}

// Reconcile fills or deletes a Secret, or removes a deleted one from the list of its account.
func (f *filler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	secret, err := f.secrets.Indexer().Find(request)
	switch {
	case apierrors.IsNotFound(err):
		f.backoff.Delete(request)
		return controller.Result{}, f.removeReference(ctx, request)
	case err != nil:
		return controller.Result{}, err
	}
	of := accountOf(secret)
	f.mu.Lock()
	f.known[request] = of
	f.mu.Unlock()
	in := input{secret: secret, authority: f.authority}
	if in.account, err = f.find(ctx, request.Namespace, of); err != nil {
		return controller.Result{}, err
	}
	if in.needsToken() {
		if in.token, err = f.sign(in.account, secret.Name); err != nil {
			return controller.Result{}, err
		}
	}
	wait := f.backoff.Delay(request, contentOf(secret), in.next())
	result, err := f.executor.Do(ctx, decide(in, wait)...)
	if action.IsGone(err) {
		return controller.Result{}, nil
	}
	if err == nil && wait == 0 && in.fills() {
		f.backoff.Written(request, in.next())
	}
	return result, err
}

// find returns an account, or nil if there is none with the name and, if it is known, the UID. The cache may lack a new
// account, so find asks the server before it returns nil.
func (f *filler) find(ctx context.Context, namespace string, of reference) (*corev1.ServiceAccount, error) {
	account, err := f.accounts.Indexer().Find(informer.Key{Namespace: namespace, Name: of.name})
	if err == nil && of.matches(account) {
		return account, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	return f.findLive(ctx, namespace, of)
}

// findLive is like find but does not read the cache.
func (f *filler) findLive(ctx context.Context, namespace string, of reference) (account *corev1.ServiceAccount,
	err error) {
	err = action.RetryIfSlow(func() (err error) {
		account, err = f.live.Get(ctx, namespace, of.name)
		if err = action.ClassifyNotFound(err, accounts, of.name); action.IsGone(err) {
			account, err = nil, nil
		}
		return err
	})
	if err != nil || account == nil || !of.matches(account) {
		return nil, err
	}
	return account, nil
}

// removeReference removes a deleted Secret from the list of its account, if that is known.
func (f *filler) removeReference(ctx context.Context, request controller.Request) error {
	f.mu.Lock()
	of, known := f.known[request]
	f.mu.Unlock()
	if !known {
		return nil
	}
	account, err := f.findLive(ctx, request.Namespace, of)
	if err == nil && account != nil {
		_, err = f.executor.Do(ctx, unlist(account, request.Name)...)
	}
	if err != nil && !action.IsGone(err) {
		return err
	}
	f.mu.Lock()
	delete(f.known, request)
	f.mu.Unlock()
	return nil
}
