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
		return fmt.Errorf("there is no pod %q in the namespace %s of %s; this makes one:\n"+
			"    kubectl -n %s run %s --image=nginx --image-pull-policy=IfNotPresent",
			name, s.Namespace, s.Config.Host, s.Namespace, name)
	case apierrors.IsNotFound(err) && name == "":
		return fmt.Errorf("%s does not serve that; the program discovery shows what it does serve (%w)", s.Config.Host,
			err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w\nThat is what %s allows this user: be another with --context or --kubeconfig, or ask for the right",
			err, s.Config.Host)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s does not know who asks (%w): the kubeconfig is another server's, or an old one",
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
