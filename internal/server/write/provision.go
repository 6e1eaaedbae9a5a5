package write

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/server/stored"
)

// ownUser is the name of the user of the server's own writes that go through admission, as in Kubernetes.
const ownUser = "system:apiserver"

// provider is an operation as its plugins use it to create a namespace.
type provider operation

// provision creates a namespace as the user system:apiserver: see admission.Attributes.Provision. It returns once the
// initializers of the namespace have run.
func (op *provider) provision(ctx context.Context, name string) error {
	k, served := op.Kinds.Stored(stored.Namespaces)
	if !served {
		return status.NoResource()
	}
	hub := &k.Info().Endpoints[0]
	route := &request.Route{IsResource: true, Verb: "create", GVR: hub.GroupVersion().WithResource(k.Info().Plural)}
	req := request.New(ctx, route, kind.Entry{Kind: k, Endpoint: hub}, auth.NewUser(ownUser, auth.AdminGroup))
	req.Authorizer, req.Seats = op.req.Authorizer, op.req.Seats
	form := object.Form{APIVersion: hub.APIVersion()}
	body, err := kind.Marshal(form.Format, &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: hub.APIVersion(), Kind: k.Info().Kind},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	})
	if err != nil {
		return err
	}
	create := &operation{Writer: op.Writer, req: req, WriteOptions: request.WriteOptions{Manager: ownManager}}
	if create.obj, _, err = k.DecodeRequest(form, body, true); err != nil {
		return err
	}
	_, err = create.create()
	return err
}
