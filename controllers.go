package bowline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/clusterroleaggregation"
	"github.com/bowline-dev/bowline/internal/controllers/cronjob"
	"github.com/bowline-dev/bowline/internal/controllers/daemonset"
	"github.com/bowline-dev/bowline/internal/controllers/deployment"
	"github.com/bowline-dev/bowline/internal/controllers/disruption"
	"github.com/bowline-dev/bowline/internal/controllers/endpoint"
	"github.com/bowline-dev/bowline/internal/controllers/endpointslice"
	"github.com/bowline-dev/bowline/internal/controllers/endpointslicemirroring"
	"github.com/bowline-dev/bowline/internal/controllers/garbagecollector"
	"github.com/bowline-dev/bowline/internal/controllers/job"
	"github.com/bowline-dev/bowline/internal/controllers/namespace"
	"github.com/bowline-dev/bowline/internal/controllers/nodelifecycle"
	"github.com/bowline-dev/bowline/internal/controllers/podgc"
	"github.com/bowline-dev/bowline/internal/controllers/pvcprotection"
	"github.com/bowline-dev/bowline/internal/controllers/pvprotection"
	"github.com/bowline-dev/bowline/internal/controllers/replicaset"
	"github.com/bowline-dev/bowline/internal/controllers/replicationcontroller"
	"github.com/bowline-dev/bowline/internal/controllers/resourcequota"
	"github.com/bowline-dev/bowline/internal/controllers/scheduler"
	"github.com/bowline-dev/bowline/internal/controllers/serviceaccount"
	"github.com/bowline-dev/bowline/internal/controllers/serviceaccounttoken"
	"github.com/bowline-dev/bowline/internal/controllers/servicecidr"
	"github.com/bowline-dev/bowline/internal/controllers/statefulset"
	"github.com/bowline-dev/bowline/internal/controllers/ttlafterfinished"
	"github.com/bowline-dev/bowline/internal/controllers/vacprotection"
	"github.com/bowline-dev/bowline/internal/controllers/validatingadmissionpolicystatus"
	"github.com/bowline-dev/bowline/internal/server"
)

// signer signs the tokens that Secrets hold. No request of the API creates one, so the plane gives the signer to the
// controllers; only serviceaccounttoken uses it.
type signer = serviceaccounttoken.Signer

// unsigned adapts the function that adds a controller which signs nothing. T is what that function returns.
func unsigned[T any](add func(*controller.Manager) T) func(*controller.Manager, signer) {
	return func(m *controller.Manager, _ signer) { add(m) }
}

// controllers maps the names of all controllers that a plane can run to the functions that add them to a
// manager.
var controllers = map[string]func(*controller.Manager, signer){
	pvcprotection.Name:    unsigned(pvcprotection.Add),
	pvprotection.Name:     unsigned(pvprotection.Add),
	vacprotection.Name:    unsigned(vacprotection.Add),
	job.Name:              unsigned(job.Add),
	cronjob.Name:          unsigned(cronjob.Add),
	statefulset.Name:      unsigned(statefulset.Add),
	daemonset.Name:        unsigned(daemonset.Add),
	disruption.Name:       unsigned(disruption.Add),
	endpoint.Name:         unsigned(endpoint.Add),
	endpointslice.Name:    unsigned(endpointslice.Add),
	nodelifecycle.Name:    unsigned(nodelifecycle.Add),
	scheduler.Name:        unsigned(scheduler.Add),
	namespace.Name:        unsigned(namespace.Add),
	garbagecollector.Name: unsigned(garbagecollector.Add),

	deployment.Name:            unsigned(deployment.Add),
	replicaset.Name:            unsigned(replicaset.Add),
	replicationcontroller.Name: unsigned(replicationcontroller.Add),

	clusterroleaggregation.Name: unsigned(clusterroleaggregation.Add),

	podgc.Name:            unsigned(podgc.Add),
	resourcequota.Name:    unsigned(resourcequota.Add),
	serviceaccount.Name:   unsigned(serviceaccount.Add),
	servicecidr.Name:      unsigned(servicecidr.Add),
	ttlafterfinished.Name: unsigned(ttlafterfinished.Add),

	serviceaccounttoken.Name: func(m *controller.Manager, s signer) { serviceaccounttoken.Add(m, s) },

	endpointslicemirroring.Name:          unsigned(endpointslicemirroring.Add),
	validatingadmissionpolicystatus.Name: unsigned(validatingadmissionpolicystatus.Add),
}

// defaultControllers lists the controllers that run by default: controllers that the API's own guarantees depend on,
// such as the deletion of a namespace's content, and controllers that provide objects in every namespace.
// Controllers that act on objects of users, such as Deployments, run only on request. They would otherwise interfere
// with a test that changes these objects itself.
var defaultControllers = []string{
	namespace.Name, garbagecollector.Name, serviceaccount.Name, podgc.Name, ttlafterfinished.Name, resourcequota.Name,
	pvcprotection.Name, pvprotection.Name, servicecidr.Name, vacprotection.Name, serviceaccounttoken.Name,
}

// Controllers returns the sorted names of the controllers that a plane can run.
func Controllers() []string {
	names := make([]string, 0, len(controllers))
	for name := range controllers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// selectControllers returns the sorted names of the controllers that a list selects. It interprets the list as
// kube-controller-manager does: a name enables a controller, -name disables it, and * enables all others; the
// first entry that names a controller decides. An empty list selects the defaults. An unknown name is an
// error.
func selectControllers(list []string) ([]string, error) {
	if len(list) == 0 {
		list = defaultControllers
	}
	for _, entry := range list {
		if _, known := controllers[strings.TrimPrefix(entry, "-")]; entry != "*" && entry != NoControllers && !known {
			return nil, fmt.Errorf("unknown controller %q: must be * or one of %s", entry,
				strings.Join(Controllers(), ", "))
		}
	}
	return slices.DeleteFunc(Controllers(), func(name string) bool { return !selects(list, name) }), nil
}

// selects reports whether a list selects a controller.
func selects(list []string, name string) bool {
	all := false
	for _, entry := range list {
		switch entry {
		case name:
			return true
		case "-" + name:
			return false
		case "*":
			all = true
		}
	}
	return all
}

// runControllers starts controllers and returns when their caches are synced. They run until the plane stops.
func (p *Plane) runControllers(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	m, err := controller.NewManager(p.RESTConfig(), controller.ManagerOptions{
		Source: p.Source(), Authority: p.authority(), Metrics: p.metrics, Journal: p.journal,
		TracerProvider: p.options.TracerProvider, Log: p.log, StopTimeout: reconcileTimeout,
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		controllers[name](m, p.signToken)
	}
	p.ready = m.Ready()
	p.controllersEnded = make(chan error, 1)
	go func() { p.controllersEnded <- m.Run(p.ctx) }()
	select {
	case <-m.Ready():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the controllers: %w", context.Cause(ctx))
	}
}

// authority returns the CA certificates, in PEM, that verify the plane's server certificate: the generated
// certificates, or Options.Authority, which may be empty.
func (p *Plane) authority() []byte {
	if p.keys != nil {
		return p.keys.AuthorityPEM()
	}
	return p.options.Authority
}

// components returns the checks of the parts that run as processes of their own beside a kube-apiserver.
func (p *Plane) components(running []string) server.Components {
	isScheduler := func(name string) bool { return name == scheduler.Name }
	components := server.Components{}
	for name, runs := range map[string]bool{
		"scheduler":          slices.ContainsFunc(running, isScheduler),
		"controller-manager": slices.ContainsFunc(running, func(name string) bool { return !isScheduler(name) }),
	} {
		components[name] = p.checkControllers
		if !runs {
			components[name] = func(context.Context) error { return fmt.Errorf("this server does not run the %s", name) }
		}
	}
	return components
}

// checkControllers is the health check of the controllers. It fails until their caches are synced, and when the plane
// stops.
func (p *Plane) checkControllers(context.Context) error {
	if p.ready == nil {
		return nil
	}
	if p.ctx.Err() != nil {
		return errors.New("the plane is stopping")
	}
	select {
	case <-p.ready:
		return nil
	default:
		return errors.New("the controllers' caches are not synced yet")
	}
}
