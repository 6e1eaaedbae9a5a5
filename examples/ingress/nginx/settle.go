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

// settler has a server serve what Ingresses declare. What nginx refuses holds up nobody else: it is found, and left out or
// served as it was when nginx last took it; all others are served meanwhile. Its memory is this process's: after a restart
// what nginx refuses has no last good state.
type settler struct {
	server       server
	listening    listening
	objects      objects
	certificates *certificates

	good    map[types.UID]*networkingv1.Ingress // as nginx last took it
	refused map[types.UID]refused
	served  string // the text that nginx has

	hopeful  string    // the text with all that is refused, which was tried in vain
	patience time.Time // until when what is refused is not tried again
}

// share is how much longer what is refused waits for its next trial than the last one took, which others had to wait for.
const share = 10

// refused is a state of an Ingress that nginx does not take.
type refused struct {
	generation int64
	message    string
}

func newSettler(s server, l listening, o objects, c *certificates) *settler {
	return &settler{
		server: s, listening: l, objects: o, certificates: c,
		good: map[types.UID]*networkingv1.Ingress{}, refused: map[types.UID]refused{},
	}
}

// settle serves what is declared, and says what is wrong with each Ingress. Those that nginx refused come last: only when
// something has changed, when the others are served, and for a small part of the time. When that is not now, it is again.
func (s *settler) settle(ctx context.Context, declared []*networkingv1.Ingress) (
	problems map[types.UID][]problem, again time.Duration, err error,
) {
	declared = slices.SortedFunc(slices.Values(declared), older)
	s.forget(declared)
	problems, err = s.serve(ctx, declared)
	if err != nil || len(s.refused) == 0 {
		return problems, 0, err
	}
	all, err := s.plan(declared)
	if err != nil || all.Text == s.hopeful {
		return problems, 0, err
	}
	begun := time.Now()
	if wait := s.patience.Sub(begun); wait > 0 {
		return problems, wait, nil
	}
	taken, err := s.reconsider(ctx, declared)
	s.patience = time.Now().Add(share * time.Since(begun))
	if err != nil || !taken {
		s.hopeful = all.Text
		return problems, 0, err
	}
	problems, err = s.serve(ctx, declared)
	return problems, 0, err
}

// forget drops what is not declared any more, and what was refused and has changed.
func (s *settler) forget(declared []*networkingv1.Ingress) {
	now := map[types.UID]int64{}
	for _, i := range declared {
		now[i.UID] = i.Generation
	}
	maps.DeleteFunc(s.good, func(uid types.UID, _ *networkingv1.Ingress) bool { _, there := now[uid]; return !there })
	maps.DeleteFunc(s.refused, func(uid types.UID, r refused) bool { g, there := now[uid]; return !there || g != r.generation })
}

// versions are the Ingresses as they are to be served: those that are refused as they last were good, if ever.
func (s *settler) versions(declared []*networkingv1.Ingress) []*networkingv1.Ingress {
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

// plan is a configuration, and what is wrong with the Ingresses that it serves.
type plan struct {
	Configuration
	problems map[types.UID][]problem
}

func (s *settler) plan(versions []*networkingv1.Ingress) (plan, error) {
	r, problems := routingOf(versions, s.objects)
	c, err := s.listening.render(r, func(file string) []byte { return s.certificates.content[file] })
	return plan{c, problems}, err
}

// serve serves what is not refused.
func (s *settler) serve(ctx context.Context, declared []*networkingv1.Ingress) (map[types.UID][]problem, error) {
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

// acceptable is the plan with as much of what is declared as nginx takes.
func (s *settler) acceptable(ctx context.Context, declared []*networkingv1.Ingress) (plan, error) {
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

// exclude finds who is to blame for a refusal: certificates that nginx has not served yet, or else Ingresses.
func (s *settler) exclude(ctx context.Context, versions []*networkingv1.Ingress, files map[string][]byte, refusal error) error {
	nothing, err := s.plan(nil)
	if err != nil {
		return err
	}
	if err := s.server.Test(ctx, nothing.Configuration); err != nil {
		return err // no Ingress is to blame
	}
	if found, err := s.excludeCertificates(ctx, files); found || err != nil {
		return err
	}
	_, misfits, err := sift(nil, versions, func(some []*networkingv1.Ingress) error { return s.test(ctx, some) })
	if err != nil {
		return err
	}
	if len(misfits) == 0 {
		return refusal // and did not refuse the same when it was asked again
	}
	for _, m := range misfits {
		if _, before := s.refused[m.what.UID]; before {
			delete(s.good, m.what.UID) // it is no longer good
			continue
		}
		s.refused[m.what.UID] = refused{m.what.Generation, m.message}
	}
	return nil
}

// excludeCertificates finds files that nginx refuses.
func (s *settler) excludeCertificates(ctx context.Context, files map[string][]byte) (found bool, err error) {
	var doubtful []string
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if !s.certificates.proven(file) {
			doubtful = append(doubtful, file)
		}
	}
	_, misfits, err := sift(nil, doubtful, func(some []string) error {
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
	for _, m := range misfits {
		s.certificates.refuse(m.what, m.message)
	}
	return len(misfits) > 0, err
}

// reconsider says whether nginx takes any of those that it refused before, now that something else has changed.
func (s *settler) reconsider(ctx context.Context, declared []*networkingv1.Ingress) (taken bool, err error) {
	var others, doubtful []*networkingv1.Ingress
	for _, i := range declared {
		if _, is := s.refused[i.UID]; is {
			doubtful = append(doubtful, i)
		} else {
			others = append(others, i)
		}
	}
	_, misfits, err := sift(others, doubtful, func(some []*networkingv1.Ingress) error { return s.test(ctx, some) })
	if err != nil || len(misfits) == len(doubtful) {
		return false, err
	}
	for _, i := range doubtful {
		delete(s.refused, i.UID)
	}
	for _, m := range misfits {
		s.refused[m.what.UID] = refused{m.what.Generation, m.message}
	}
	return true, nil
}

func (s *settler) test(ctx context.Context, some []*networkingv1.Ingress) error {
	p, err := s.plan(some)
	if err != nil {
		return err
	}
	return s.server.Test(ctx, p.Configuration)
}
