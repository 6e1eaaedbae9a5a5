package nginx

import (
	"context"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// errorPrefix makes a reason the error of a port, which is to name its vendor.
const errorPrefix = "bowline.dev/"

// listener is where users reach nginx.
type listener struct {
	ip     string
	port   int32
	secure bool
}

func listenersAt(http, https address) ([]listener, error) {
	var all []listener
	for _, at := range []struct {
		address
		secure bool
	}{{http, false}, {https, true}} {
		if !at.IsValid() {
			continue
		}
		ip, err := at.public()
		if err != nil {
			return nil, err
		}
		all = append(all, listener{ip.String(), int32(at.Port()), at.secure})
	}
	return all, nil
}

// statusOf says at which address and ports an Ingress is served, and of each port what is wrong with it, if anything.
func statusOf(i *networkingv1.Ingress, all []listener, problems []problem) []networkingv1.IngressLoadBalancerIngress {
	var at networkingv1.IngressLoadBalancerIngress
	for _, l := range all {
		if l.secure && len(i.Spec.TLS) == 0 {
			continue
		}
		at.IP = l.ip
		at.Ports = append(at.Ports, networkingv1.IngressPortStatus{
			Port: l.port, Protocol: corev1.ProtocolTCP, Error: portError(problems, l.secure),
		})
	}
	if len(at.Ports) == 0 {
		return nil
	}
	return []networkingv1.IngressLoadBalancerIngress{at}
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

// writtenBy says whether an Ingress has a status that a manager has written, and nobody since.
func writtenBy(i *networkingv1.Ingress, manager string) bool {
	return len(i.Status.LoadBalancer.Ingress) > 0 && slices.ContainsFunc(i.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Subresource == "status"
	})
}

// written is a status as it was last written. When it is found to be another one, somebody has changed it, and it is written
// again: at once, but later each time, since two that overwrite each other would never end.
type written struct {
	status []networkingv1.IngressLoadBalancerIngress
	times  int // in a row
	last   time.Time
}

// Times between writes of the same status.
const (
	firstRewrite  = time.Second // doubles
	lastRewrite   = time.Minute
	contestIsOver = 2 * lastRewrite // when nobody has changed it for so long
)

// due is how long to wait until a status may be written.
func (w *written) due(status []networkingv1.IngressLoadBalancerIngress, now time.Time) time.Duration {
	if !equality.Semantic.DeepEqual(w.status, status) || now.Sub(w.last) > contestIsOver {
		*w = written{status: status}
	}
	if w.times < 2 {
		return 0 // one hand edit is undone at once
	}
	pause := lastRewrite
	if doublings := w.times - 2; doublings < 6 {
		pause = min(firstRewrite<<doublings, lastRewrite)
	}
	return max(0, w.last.Add(pause).Sub(now))
}

// write puts into an Ingress's status where it is served. When it says that it has to wait, it has not.
func (r *reporter) write(ctx context.Context, i *networkingv1.Ingress, status []networkingv1.IngressLoadBalancerIngress, well bool) (
	wait time.Duration, err error,
) {
	if equality.Semantic.DeepEqual(i.Status.LoadBalancer.Ingress, status) {
		return 0, nil
	}
	w, ok := r.written[i.UID]
	if !ok {
		w = &written{}
		r.written[i.UID] = w
	}
	if wait := w.due(status, time.Now()); wait > 0 {
		return wait, nil
	}
	if err := r.patch(ctx, i, status); err != nil {
		return 0, err
	}
	w.times, w.last = w.times+1, time.Now()
	switch {
	case w.times == 3:
		r.events.Warning(subject(i), reasonContested, "another controller overwrites its status again and again: "+
			"give one of the two another class, or end it")
	case w.times == 1 && well && len(status) > 0:
		r.events.Normal(subject(i), reasonServing, "nginx serves it at %s", strings.Join(places(status), " and "))
	}
	return 0, nil
}

// patch sends a status. That the Ingress is gone is none of its business.
func (r *reporter) patch(ctx context.Context, i *networkingv1.Ingress, status []networkingv1.IngressLoadBalancerIngress) error {
	// The uid is there so that an Ingress of the same name that came since is not written to.
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": i.UID},
		"status":   map[string]any{"loadBalancer": map[string]any{"ingress": status}}, // of none it is null, which removes it
	})
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: r.manager}
	_, err = r.ingresses.Patch(ctx, i.Namespace, i.Name, "status", types.MergePatchType, patch, options)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// forget drops what was written to Ingresses that are gone.
func (r *reporter) forget(all []*networkingv1.Ingress) {
	there := map[types.UID]bool{}
	for _, i := range all {
		there[i.UID] = true
	}
	maps.DeleteFunc(r.written, func(uid types.UID, _ *written) bool { return !there[uid] })
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
