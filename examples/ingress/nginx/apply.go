package nginx

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
)

// applier makes a server serve the declared Ingresses. An Ingress that nginx refuses does not affect others:
// it is found, and left out or served in the last state that nginx accepted. These states are in memory only,
// so after a restart a refused Ingress is left out.
type applier struct {
	server       server
	listening    listening
	objects      objects
	certificates *certificates

	good    map[types.UID]*networkingv1.Ingress // in the last state that nginx accepted
	refused map[types.UID]refused
	served  string // the text of nginx's configuration

	lastRetried string    // the last text with all refused Ingresses that was tested in vain
	retryAt     time.Time // no further test of refused Ingresses before this time
}

// share limits the tests of refused Ingresses, which delay all others, to this fraction of the time: after a
// test the next one waits this many times as long as it took.
const share = 10

// refused is a generation of an Ingress that nginx refuses.
type refused struct {
	generation int64
	message    string
}

func newApplier(s server, l listening, o objects, c *certificates) *applier {
	return &applier{
		server: s, listening: l, objects: o, certificates: c,
		good: map[types.UID]*networkingv1.Ingress{}, refused: map[types.UID]refused{},
	}
}

// apply serves the declared Ingresses and returns the problems of each. It tests refused Ingresses again
// after all others are served, and only if something has changed. If the time limit for these tests does not
// permit it now, apply returns the time to wait.
func (s *applier) apply(ctx context.Context, declared []*networkingv1.Ingress) (
	problems map[types.UID][]problem, retryAfter time.Duration, err error,
) {
	declared = slices.SortedFunc(slices.Values(declared), older)
	s.forget(declared)
	problems, err = s.serve(ctx, declared)
	if err != nil || len(s.refused) == 0 {
		return problems, 0, err
	}
	all, err := s.plan(declared)
	if err != nil || all.Text == s.lastRetried {
		return problems, 0, err
	}
	start := time.Now()
	if wait := s.retryAt.Sub(start); wait > 0 {
		return problems, wait, nil
	}
	accepted, err := s.reconsider(ctx, declared)
	s.retryAt = time.Now().Add(share * time.Since(start))
	if err != nil || !accepted {
		s.lastRetried = all.Text
		return problems, 0, err
	}
	problems, err = s.serve(ctx, declared)
	return problems, 0, err
}

// forget removes the state of Ingresses that are no longer declared, and the refusals of those that have
// changed.
func (s *applier) forget(declared []*networkingv1.Ingress) {
	now := map[types.UID]int64{}
	for _, i := range declared {
		now[i.UID] = i.Generation
	}
	maps.DeleteFunc(s.good, func(uid types.UID, _ *networkingv1.Ingress) bool {
		_, declared := now[uid]
		return !declared
	})
	maps.DeleteFunc(s.refused, func(uid types.UID, r refused) bool {
		g, declared := now[uid]
		return !declared || g != r.generation
	})
}

// versions returns the Ingresses in the state to be served: refused Ingresses in their last good state, if
// any.
func (s *applier) versions(declared []*networkingv1.Ingress) []*networkingv1.Ingress {
	var versions []*networkingv1.Ingress
	for _, i := range declared {
		if _, is := s.refused[i.UID]; is {
			i = s.good[i.UID]
		}
		if i != nil {
			versions = append(versions, i)
		}
	}
	return versions
}

// plan is a configuration with the problems of its Ingresses.
type plan struct {
	Configuration
	problems map[types.UID][]problem
}

func (s *applier) plan(versions []*networkingv1.Ingress) (plan, error) {
	r, problems := routingOf(versions, s.objects)
	c, err := s.listening.render(r, func(file string) []byte { return s.certificates.content[file] })
	return plan{c, problems}, err
}

// serve serves all Ingresses except the refused ones.
func (s *applier) serve(ctx context.Context, declared []*networkingv1.Ingress) (map[types.UID][]problem, error) {
	p, err := s.acceptable(ctx, declared)
	if err != nil {
		return nil, err
	}
	if err := s.server.Serve(ctx, p.Configuration); err != nil {
		return nil, err
	}
	s.served = p.Text
	s.certificates.served(p.Files)
	for _, i := range s.versions(declared) {
		s.good[i.UID] = i
	}
	for uid, r := range s.refused {
		message := "nginx refuses it, and it is left out: " + r.message
		if s.good[uid] != nil {
			message = "nginx refuses it, and it is served as it was before: " + r.message
		}
		p.problems[uid] = append([]problem{{reasonRefused, message}}, p.problems[uid]...)
	}
	return p.problems, nil
}

// acceptable returns a plan that nginx accepts, with as many Ingresses as possible.
func (s *applier) acceptable(ctx context.Context, declared []*networkingv1.Ingress) (plan, error) {
	for {
		versions := s.versions(declared)
		p, err := s.plan(versions)
		if err != nil || p.Text == s.served {
			return p, err
		}
		err = s.server.Test(ctx, p.Configuration)
		if r := (*refusal)(nil); !errors.As(err, &r) {
			return p, err
		}
		if err := s.exclude(ctx, versions, p.Files, err); err != nil {
			return plan{}, err
		}
	}
}

// exclude finds the cause of a refusal: certificates that nginx has not served yet, or otherwise Ingresses.
func (s *applier) exclude(ctx context.Context, versions []*networkingv1.Ingress, files map[string][]byte,
	refusal error) error {
	nothing, err := s.plan(nil)
	if err != nil {
		return err
	}
	if err := s.server.Test(ctx, nothing.Configuration); err != nil {
		return err // the cause is not an Ingress
	}
	if found, err := s.excludeCertificates(ctx, files); found || err != nil {
		return err
	}
	_, rejected, err := bisect(nil, versions, func(some []*networkingv1.Ingress) error { return s.test(ctx, some) })
	if err != nil {
		return err
	}
	if len(rejected) == 0 {
		return refusal // nginx accepted the same Ingresses in a second test
	}
	for _, m := range rejected {
		if _, before := s.refused[m.element.UID]; before {
			delete(s.good, m.element.UID) // the previously good state is now refused
			continue
		}
		s.refused[m.element.UID] = refused{m.element.Generation, m.message}
	}
	return nil
}

// excludeCertificates finds files that nginx refuses.
func (s *applier) excludeCertificates(ctx context.Context, files map[string][]byte) (found bool, err error) {
	var doubtful []string
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if !s.certificates.wasServed(file) {
			doubtful = append(doubtful, file)
		}
	}
	_, rejected, err := bisect(nil, doubtful, func(some []string) error {
		var r routing
		for _, file := range some {
			r.hosts = append(r.hosts, host{name: strings.TrimSuffix(path.Base(file), ".pem"), certificate: file})
		}
		c, err := s.listening.render(r, func(file string) []byte { return files[file] })
		if err != nil {
			return err
		}
		return s.server.Test(ctx, c)
	})
	for _, m := range rejected {
		s.certificates.refuse(m.element, m.message)
	}
	return len(rejected) > 0, err
}

// reconsider tests refused Ingresses again and reports whether nginx now accepts any of them.
func (s *applier) reconsider(ctx context.Context, declared []*networkingv1.Ingress) (accepted bool, err error) {
	var others, doubtful []*networkingv1.Ingress
	for _, i := range declared {
		if _, is := s.refused[i.UID]; is {
			doubtful = append(doubtful, i)
		} else {
			others = append(others, i)
		}
	}
	_, rejected, err := bisect(others, doubtful, func(some []*networkingv1.Ingress) error { return s.test(ctx, some) })
	if err != nil || len(rejected) == len(doubtful) {
		return false, err
	}
	for _, i := range doubtful {
		delete(s.refused, i.UID)
	}
	for _, m := range rejected {
		s.refused[m.element.UID] = refused{m.element.Generation, m.message}
	}
	return true, nil
}

func (s *applier) test(ctx context.Context, some []*networkingv1.Ingress) error {
	p, err := s.plan(some)
	if err != nil {
		return err
	}
	return s.server.Test(ctx, p.Configuration)
}
