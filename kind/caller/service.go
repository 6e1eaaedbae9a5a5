package caller

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Address is where a Service is reached: its cluster IP, which somebody has to route, or its external name.
func Address(service *corev1.Service, port int32) (string, error) {
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return net.JoinHostPort(service.Spec.ExternalName, strconv.Itoa(int(port))), nil
	}
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		return "", errors.New(`cannot route to service with ClusterIP "None"`)
	}
	has := func(p corev1.ServicePort) bool { return p.Port == port }
	if !slices.ContainsFunc(service.Spec.Ports, has) {
		return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", port, service.Name))
	}
	return net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(port))), nil
}
