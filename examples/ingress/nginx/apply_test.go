package nginx

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
)

// newTestApplier returns an applier with a recorder that refuses some texts.
func newTestApplier(refuses ...string) (*applier, *recorder) {
	r := &recorder{refuses: refuses}
	return newApplier(r, listening{http: "127.0.0.1:80"}, given{}.objects(), newCertificates(nil)), r
}

func (s *applier) mustApply(t *testing.T, ingresses ...*networkingv1.Ingress) string {
	t.Helper()
	problems, _, err := s.apply(t.Context(), ingresses)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, i := range ingresses {
		for _, p := range problems[i.UID] {
			all = append(all, fmt.Sprintf("%s %s: %s", i.Name, p.reason, p.message))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// at returns an Ingress with a host and a generation.
func at(name, host string, generation int64) *networkingv1.Ingress {
	i := newIngress(name).prefix(host, "/", "s").Ingress
	i.Generation = generation
	return i
}

func TestRefusedIngressIsIsolated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r := newTestApplier("bad")
		hosts := []string{"a.com", "bad.com", "c.com", "d.com"}
		got := s.mustApply(t, at("a", "a.com", 1), at("b", "bad.com", 1), at("c", "c.com", 1))
		if want := "b Refused: nginx refuses it, and it is left out: no bad"; got != want {
			t.Errorf("got problems %q, want %q", got, want)
		}
		r.has(t, "one of three is bad", "a.com c.com", hosts...)

		r.tests = 0
		s.mustApply(t, at("a", "a.com", 1), at("b", "bad.com", 1), at("c", "c.com", 1))
		if r.tests != 0 || len(r.serving) != 1 {
			t.Errorf("without a change: %d tests and %d configurations in total", r.tests, len(r.serving))
		}
		s.mustApply(t, at("a", "a.com", 1), at("b", "bad.com", 1), at("c", "d.com", 2))
		r.has(t, "another one changed", "a.com d.com", hosts...)
		if r.tests != 2 {
			t.Errorf("a change beside refused Ingresses took %d tests, want 2", r.tests)
		}
		if got := s.mustApply(t, at("a", "a.com", 1), at("b", "c.com", 2)); got != "" {
			t.Errorf("after the refused Ingress was corrected: got %s", got)
		}
		r.has(t, "mended", "a.com c.com", hosts...)
	})
}

func TestLastGoodStateIsServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r := newTestApplier("bad")
		hosts := []string{"a.com", "b.com", "bad.com", "c.com"}
		s.mustApply(t, at("a", "a.com", 1), at("b", "b.com", 1))
		got := s.mustApply(t, at("a", "a.com", 1), at("b", "bad.com", 2))
		if want := "b Refused: nginx refuses it, and it is served as it was before: no bad"; got != want {
			t.Errorf("got problems %q, want %q", got, want)
		}
		r.has(t, "the bad one as it was", "a.com b.com", hosts...)
		s.mustApply(t, at("a", "c.com", 2), at("b", "bad.com", 2))
		r.has(t, "the other changes", "b.com c.com", hosts...)

		r.refuses = []string{"bad", "b.com"} // from now on the old state is refused too
		got = s.mustApply(t, at("a", "a.com", 3), at("b", "bad.com", 2))
		if want := "b Refused: nginx refuses it, and it is left out: no bad"; got != want {
			t.Errorf("got problems %q, want %q", got, want)
		}
		r.has(t, "nothing of it is good any more", "a.com", hosts...)
		s.mustApply(t, at("a", "a.com", 3))
		if len(s.good) != 1 || len(s.refused) != 0 {
			t.Errorf("after the deletion of all Ingresses the applier still has %v, %v", s.good, s.refused)
		}
	})
}

// If two Ingresses are refused only together, the younger one is left out until the older one is deleted.
func TestOlderOfConflictingIngressesIsServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r := newTestApplier("x.com+y.com")
		older, younger, other := at("a", "x.com", 1), at("b", "y.com", 1), at("c", "c.com", 1)
		younger.CreationTimestamp = newIngress("").since(5).CreationTimestamp
		s.mustApply(t, younger, other, older)
		r.has(t, "both", "c.com x.com", "c.com", "x.com", "y.com")
		if got := s.mustApply(t, younger, other); got != "" {
			t.Errorf("after deleting the older one: got %s", got)
		}
		r.has(t, "the younger alone", "c.com y.com", "c.com", "x.com", "y.com")
	})
}

// An Ingress that nginx accepts only together with a younger one is served, even if a third one is refused.
func TestIngressDependingOnYoungerOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r := newTestApplier("a.com+!b.com", "bad.com")
		got := s.mustApply(t, at("a", "a.com", 1), at("b", "b.com", 1), at("c", "bad.com", 1))
		if want := "c Refused: nginx refuses it, and it is left out: no bad.com"; got != want {
			t.Errorf("got problems %q, want %q", got, want)
		}
		r.has(t, "the two that fit together", "a.com b.com", "a.com", "b.com", "bad.com")
	})
}

// Three refused Ingresses among hundreds are found in few tests.
func TestBisectionFindsRefusedIngresses(t *testing.T) {
	t.Parallel()
	s, r := newTestApplier("h17.com", "h150.com", "h299.com")
	var all []*networkingv1.Ingress
	for n := range 300 {
		all = append(all, at(fmt.Sprint("i", n), fmt.Sprintf("h%d.com", n), 1))
	}
	s.mustApply(t, all...)
	r.has(t, "all but three", "h16.com h18.com", "h16.com", "h17.com", "h18.com", "h150.com", "h299.com")
	if len(s.refused) != 3 || r.tests > 60 {
		t.Errorf("found %d refused Ingresses in %d tests", len(s.refused), r.tests)
	}
}

// An error of nginx or the machine does not exclude an Ingress.
func TestOtherErrorsExcludeNothing(t *testing.T) {
	t.Parallel()
	s, r := newTestApplier("http {") // refuses even the empty configuration
	if _, _, err := s.apply(t.Context(), []*networkingv1.Ingress{at("a", "a.com", 1)}); err == nil ||
		len(s.refused) > 0 {
		t.Errorf("got error %v and refused Ingresses %v", err, s.refused)
	}
	r.refuses, r.failure = nil, errors.New("out of processes")
	_, _, err := s.apply(t.Context(), []*networkingv1.Ingress{at("a", "a.com", 1)})
	if !errors.Is(err, r.failure) || len(s.refused) > 0 {
		t.Errorf("got error %v and refused Ingresses %v", err, s.refused)
	}
	r.failure = nil
	if got := s.mustApply(t, at("a", "a.com", 1)); got != "" || len(r.serving) != 1 {
		t.Errorf("after the error is gone: got problems %q, %d configurations", got, len(r.serving))
	}
}

// Many refused Ingresses are all tested again after a change. That takes long but does not delay the other
// Ingresses.
func TestRetriesOfRefusedIngressesAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r := newTestApplier("bad")
		r.slow = 20 * time.Millisecond
		var bad []*networkingv1.Ingress
		for n := range 50 {
			bad = append(bad, at(fmt.Sprint("bad", n), fmt.Sprintf("bad%d.com", n), 1))
		}
		s.mustApply(t, bad...)
		start := time.Now()
		for n := range 100 {
			s.mustApply(t, append(bad, at("a", fmt.Sprintf("a%d.com", n), int64(n)))...)
			r.has(t, "a change", fmt.Sprintf("a%d.com", n), fmt.Sprintf("a%d.com", n))
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("100 changes beside 50 refused Ingresses took %s", took)
		}
		r.refuses = nil
		all := append(bad, at("a", "last.com", 100))
		_, retryAfter, err := s.apply(t.Context(), all)
		if err != nil || retryAfter == 0 || retryAfter > time.Minute {
			t.Errorf("the refused Ingresses are to be tested again in %s, %v", retryAfter, err)
		}
		time.Sleep(retryAfter)
		if got := s.mustApply(t, all...); got != "" {
			t.Errorf("nginx refuses nothing now, but the report is %s", got)
		}
	})
}
