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

// reporter tells users what came of their Ingresses: in the status, where they are served, and in Events.
type reporter struct {
	ingresses   client.Resource[*networkingv1.Ingress]
	events      *loop.Recorder
	log         *slog.Logger
	manager     string // who writes status, by managedFields
	http, https address

	told        map[types.UID]string   // the problems of each Ingress that Events have told of
	written     map[types.UID]*written // the status of each, as it was last written
	toldOfClass string                 // whose the IngressClass is, that an Event has told of
}

func newReporter(m *loop.Manager, log *slog.Logger, class string, http, https address) *reporter {
	return &reporter{
		ingresses: client.For[*networkingv1.Ingress](m.Client()), events: m.Recorder("ingress-nginx"), log: log,
		manager: managerOf(class), http: http, https: https, written: map[types.UID]*written{},
	}
}

// managerOf is a name for the controller of a class, no longer than managedFields have them.
func managerOf(class string) string { return fmt.Sprintf("%.128s", "ingress-nginx."+class) }

// report writes what is to be said of the Ingresses that are declared and is not said yet, and takes back what others of all
// have been told before. What is not written now, since somebody else writes it too, is to be written after a while.
func (r *reporter) report(ctx context.Context, all, declared []*networkingv1.Ingress, problems map[types.UID][]problem) (
	again time.Duration, err error,
) {
	listeners, err := listenersAt(r.http, r.https)
	if err != nil {
		return 0, err
	}
	var errs []error
	told, served := map[types.UID]string{}, map[types.UID]bool{}
	say := func(i *networkingv1.Ingress, status []networkingv1.IngressLoadBalancerIngress) {
		wait, err := r.write(ctx, i, status, len(problems[i.UID]) == 0)
		if err != nil {
			errs = append(errs, fmt.Errorf("write the status of Ingress %s/%s: %w", i.Namespace, i.Name, err))
		}
		again = sooner(again, wait)
	}
	for _, i := range declared {
		served[i.UID], told[i.UID] = true, r.tell(i, problems[i.UID])
		say(i, statusOf(i, listeners, problems[i.UID]))
	}
	for _, i := range all {
		if !served[i.UID] && writtenBy(i, r.manager) {
			say(i, nil)
		}
	}
	r.told = told
	r.forget(all)
	return again, errors.Join(errs...)
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

// subject is what an Event is about. Objects of a list do not say of what kind they are.
func subject(i *networkingv1.Ingress) *networkingv1.Ingress {
	about := &networkingv1.Ingress{ObjectMeta: i.ObjectMeta}
	about.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("Ingress"))
	return about
}
