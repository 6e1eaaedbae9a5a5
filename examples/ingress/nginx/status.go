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

// errorPrefix is the vendor prefix of a port's error, as the API requires.
const errorPrefix = "bowline.dev/"

// listener is an address at which users reach nginx.
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

// statusOf returns the address and ports at which an Ingress is served, each port with its first problem, if
// any.
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

// portError returns the first problem that affects a port. Problems of certificates affect only the HTTPS
// port.
func portError(problems []problem, secure bool) *string {
	at := slices.IndexFunc(problems, func(p problem) bool { return secure || !p.ofCertificate() })
	if at < 0 {
		return nil
	}
	text := errorPrefix + problems[at].reason
	return &text
}

// writtenBy reports whether an Ingress has a status and its last writer was the given field manager.
func writtenBy(i *networkingv1.Ingress, manager string) bool {
	return len(i.Status.LoadBalancer.Ingress) > 0 &&
		slices.ContainsFunc(i.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == manager && e.Subresource == "status"
		})
}

// written is the status that was last written to an Ingress. If another client has changed it, it is written
// again, with a growing delay so that two controllers cannot overwrite each other in an endless loop.
type written struct {
	status []networkingv1.IngressLoadBalancerIngress
	times  int // consecutive writes
	last   time.Time
}

// Delays between writes of the same status.
const (
	firstRewrite = time.Second // doubles each time
	lastRewrite  = time.Minute
	contestReset = 2 * lastRewrite // the delay is reset after this time without a foreign write
)

// due returns the time to wait before a status may be written.
func (w *written) due(status []networkingv1.IngressLoadBalancerIngress, now time.Time) time.Duration {
	if !equality.Semantic.DeepEqual(w.status, status) || now.Sub(w.last) > contestReset {
		*w = written{status: status}
	}
	if w.times < 2 {
		return 0 // a single manual edit is reverted at once
	}
	pause := lastRewrite
	if doublings := w.times - 2; doublings < 6 {
		pause = min(firstRewrite<<doublings, lastRewrite)
	}
	return max(0, w.last.Add(pause).Sub(now))
}

// write writes the status of an Ingress. If it returns a wait time, it has not written.
func (r *reporter) write(ctx context.Context, i *networkingv1.Ingress, status []networkingv1.IngressLoadBalancerIngress,
	well bool) (
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
		r.events.Warning(subject(i), reasonContested, "another controller repeatedly overwrites its status: "+
			"give one of the two controllers another class, or stop it")
	case w.times == 1 && well && len(status) > 0:
		r.events.Normal(subject(i), reasonServing, "nginx serves it at %s", strings.Join(places(status), " and "))
	}
	return 0, nil
}

// patch sends a status. It ignores that the Ingress may be gone.
func (r *reporter) patch(ctx context.Context, i *networkingv1.Ingress,
	status []networkingv1.IngressLoadBalancerIngress) error {
	// The uid prevents the write to a new Ingress of the same name.
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": i.UID},
		// an empty list is encoded as null, which removes the field
		"status": map[string]any{"loadBalancer": map[string]any{"ingress": status}},
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

// forget removes the state of Ingresses that are gone.
func (r *reporter) forget(all []*networkingv1.Ingress) {
	existing := map[types.UID]bool{}
	for _, i := range all {
		existing[i.UID] = true
	}
	maps.DeleteFunc(r.written, func(uid types.UID, _ *written) bool { return !existing[uid] })
}

// places returns the addresses of a status, with their ports.
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
