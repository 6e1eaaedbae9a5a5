package nginx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	loop "github.com/bowline-dev/bowline/controller"
)

// reporter reports the state of Ingresses to users: in their status and in Events.
type reporter struct {
	ingresses   client.Resource[*networkingv1.Ingress]
	events      *loop.Recorder
	log         *slog.Logger
	manager     string // the field manager of the status
	http, https address

	reported      map[types.UID]string   // the problems of each Ingress that were reported in Events
	written       map[types.UID]*written // the status that was last written to each Ingress
	reportedClass string                 // the class and its controller that were last reported
}

func newReporter(m *loop.Manager, log *slog.Logger, class string, http, https address) *reporter {
	return &reporter{
		ingresses: client.For[*networkingv1.Ingress](m.Client()), events: m.Recorder("ingress-nginx"), log: log,
		manager: managerOf(class), http: http, https: https, written: map[types.UID]*written{},
	}
}

// managerOf returns the field manager for a class, truncated to the maximum length.
func managerOf(class string) string { return fmt.Sprintf("%.128s", "ingress-nginx."+class) }

// report writes the status of declared Ingresses, and removes the status that this controller wrote to other
// Ingresses. If a status may not be written yet because another controller overwrites it, report returns the
// time to wait.
func (r *reporter) report(ctx context.Context, all, declared []*networkingv1.Ingress,
	problems map[types.UID][]problem) (
	retryAfter time.Duration, err error,
) {
	listeners, err := listenersAt(r.http, r.https)
	if err != nil {
		return 0, err
	}
	var errs []error
	reported, served := map[types.UID]string{}, map[types.UID]bool{}
	say := func(i *networkingv1.Ingress, status []networkingv1.IngressLoadBalancerIngress) {
		wait, err := r.write(ctx, i, status, len(problems[i.UID]) == 0)
		if err != nil {
			errs = append(errs, fmt.Errorf("write the status of Ingress %s/%s: %w", i.Namespace, i.Name, err))
		}
		retryAfter = sooner(retryAfter, wait)
	}
	for _, i := range declared {
		served[i.UID], reported[i.UID] = true, r.reportProblems(i, problems[i.UID])
		say(i, statusOf(i, listeners, problems[i.UID]))
	}
	for _, i := range all {
		if !served[i.UID] && writtenBy(i, r.manager) {
			say(i, nil)
		}
	}
	r.reported = reported
	r.forget(all)
	return retryAfter, errors.Join(errs...)
}

// reportProblems records Events for new problems, and returns the problems as text.
func (r *reporter) reportProblems(i *networkingv1.Ingress, problems []problem) string {
	text := fmt.Sprint(problems)
	if r.reported[i.UID] == text || len(problems) == 0 {
		return text
	}
	for _, p := range problems {
		r.log.Warn("ingress not as declared: "+p.reason, "ingress", i.Namespace+"/"+i.Name, "detail", p.message)
		r.events.Warning(subject(i), p.reason, "%s", p.message)
	}
	return text
}

// reportClass records an Event if the IngressClass has changed to another controller.
func (r *reporter) reportClass(class *networkingv1.IngressClass) {
	if !foreign(class) {
		r.reportedClass = ""
		return
	}
	whose := string(class.UID) + class.Spec.Controller
	if r.reportedClass == whose {
		return
	}
	r.reportedClass = whose
	message := fmt.Sprintf("its controller is now %s: %s no longer updates its Ingresses, and serves their last state; "+
		"give one of the two controllers another class", class.Spec.Controller, ControllerName)
	r.log.Error("the IngressClass belongs to another controller", "class", class.Name, "detail", message)
	about := &networkingv1.IngressClass{ObjectMeta: class.ObjectMeta}
	about.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("IngressClass"))
	r.events.Warning(about, reasonForeignClass, "%s", message)
}

// subject returns the object of an Event, with apiVersion and kind, which objects of a list lack.
func subject(i *networkingv1.Ingress) *networkingv1.Ingress {
	about := &networkingv1.Ingress{ObjectMeta: i.ObjectMeta}
	about.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("Ingress"))
	return about
}
