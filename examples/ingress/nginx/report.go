package nginx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	loop "github.com/bowline-dev/bowline/controller"
)

// errorPrefix makes a reason the error of a port, which is to name its vendor.
const errorPrefix = "bowline.dev/"

// reporter tells users what came of their Ingresses: in the status, where they are served, and in Events.
type reporter struct {
	ingresses   client.Resource[*networkingv1.Ingress]
	events      *loop.Recorder
	log         *slog.Logger
	http, https address
	told        map[types.UID]string // the problems of each Ingress that Events have told of
	toldOfClass string               // whose the IngressClass is, that an Event has told of
}

// report writes what is to be said of all Ingresses that is not said yet.
func (r *reporter) report(ctx context.Context, all []*networkingv1.Ingress, problems map[types.UID][]problem) error {
	told := map[types.UID]string{}
	var errs []error
	for _, i := range all {
		told[i.UID] = r.tell(i, problems[i.UID])
		if err := r.write(ctx, i, problems[i.UID]); err != nil {
			errs = append(errs, fmt.Errorf("write the status of Ingress %s/%s: %w", i.Namespace, i.Name, err))
		}
	}
	r.told = told
	return errors.Join(errs...)
}

// tell makes Events of problems that are new.
func (r *reporter) tell(i *networkingv1.Ingress, problems []problem) string {
	text := fmt.Sprint(problems)
	if r.told[i.UID] == text || len(problems) == 0 {
		return text
	}
	for _, p := range problems {
		r.log.Warn("ingress not as declared: "+p.reason, "ingress", i.Namespace+"/"+i.Name, "detail", p.message)
		r.events.Warning(subject(i), p.reason, "%s", p.message)
	}
	return text
}

// tellOfClass makes an Event of an IngressClass that has become another controller's.
func (r *reporter) tellOfClass(class *networkingv1.IngressClass) {
	if !foreign(class) {
		r.toldOfClass = ""
		return
	}
	whose := string(class.UID) + class.Spec.Controller
	if r.toldOfClass == whose {
		return
	}
	r.toldOfClass = whose
	message := fmt.Sprintf("it is the controller %s's, and not %s's, which serves its Ingresses as they last were, if ever, and changes "+
		"nothing: give one of the two another class", class.Spec.Controller, ControllerName)
	r.log.Error("the IngressClass is another controller's", "class", class.Name, "detail", message)
	about := &networkingv1.IngressClass{ObjectMeta: class.ObjectMeta}
	about.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("IngressClass"))
	r.events.Warning(about, reasonForeignClass, "%s", message)
}

// write puts into an Ingress's status where it is served.
func (r *reporter) write(ctx context.Context, i *networkingv1.Ingress, problems []problem) error {
	wanted, err := r.status(i, problems)
	if err != nil || equality.Semantic.DeepEqual(i.Status.LoadBalancer.Ingress, wanted) {
		return err
	}
	// The uid is there so that an Ingress of the same name that came since is not written to.
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": i.UID},
		"status":   networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{Ingress: wanted}},
	})
	if err != nil {
		return err
	}
	_, err = r.ingresses.Patch(ctx, i.Namespace, i.Name, "status", types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err == nil && len(problems) == 0:
		r.events.Normal(subject(i), reasonServing, "nginx serves it at %s", strings.Join(places(wanted), " and "))
	}
	return err
}

// status says at which address and ports an Ingress is served, and of each port what is wrong with it, if anything.
func (r *reporter) status(i *networkingv1.Ingress, problems []problem) ([]networkingv1.IngressLoadBalancerIngress, error) {
	var at networkingv1.IngressLoadBalancerIngress
	for _, listener := range []struct {
		address
		secure bool
	}{{r.http, false}, {r.https, true}} {
		if !listener.IsValid() || listener.secure && len(i.Spec.TLS) == 0 {
			continue
		}
		ip, err := listener.public()
		if err != nil {
			return nil, err
		}
		at.IP = ip.String()
		at.Ports = append(at.Ports, networkingv1.IngressPortStatus{
			Port: int32(listener.Port()), Protocol: corev1.ProtocolTCP, Error: portError(problems, listener.secure),
		})
	}
	if len(at.Ports) == 0 {
		return nil, nil
	}
	return []networkingv1.IngressLoadBalancerIngress{at}, nil
}

// portError is the first problem that concerns a port; those of certificates concern the one for HTTPS alone.
func portError(problems []problem, secure bool) *string {
	at := slices.IndexFunc(problems, func(p problem) bool { return secure || !p.ofCertificate() })
	if at < 0 {
		return nil
	}
	text := errorPrefix + problems[at].reason
	return &text
}

// places are the addresses of a status.
func places(status []networkingv1.IngressLoadBalancerIngress) []string {
	var all []string
	for _, at := range status {
		ip, err := netip.ParseAddr(at.IP)
		for _, port := range at.Ports {
			if err == nil {
				all = append(all, netip.AddrPortFrom(ip, uint16(port.Port)).String())
			}
		}
	}
	return all
}

// subject is what an Event is about. Objects of a list do not say of what kind they are.
func subject(i *networkingv1.Ingress) *networkingv1.Ingress {
	about := &networkingv1.Ingress{ObjectMeta: i.ObjectMeta}
	about.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("Ingress"))
	return about
}
