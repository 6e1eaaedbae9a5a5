package lab

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/client"
)

// explain rewrites an error for a user who runs a program for the first time: what failed, where, and what to
// do.
func (s Server) explain(err error) error {
	if s.Config == nil {
		return err // the error of client.Load is complete
	}
	if unreachable := new(client.ServerError); errors.As(err, &unreachable) {
		return unreachable // without the URL of the request, which is not the cause
	}
	switch kind, name := about(err); {
	case apierrors.IsNotFound(err) && kind == "pods" && name != "":
		return fmt.Errorf("pod %q not found in the namespace %s of %s; create it with:\n"+
			"    kubectl -n %s run %s --image=nginx --image-pull-policy=IfNotPresent",
			name, s.Namespace, s.Config.Host, s.Namespace, name)
	case apierrors.IsNotFound(err) && name == "":
		return fmt.Errorf("%s does not serve this resource; the program discovery lists the served ones (%w)",
			s.Config.Host,
			err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w\n%s does not permit this to the user: use another with --context or --kubeconfig, or request the permission",
			err, s.Config.Host)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s does not accept the credentials (%w): the kubeconfig is outdated or belongs to another server",
			s.Config.Host, err)
	}
	return err
}

// about returns the kind and name of the object in an error status.
func about(err error) (kind, name string) {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return "", ""
	}
	return status.Status().Details.Kind, status.Status().Details.Name
}
