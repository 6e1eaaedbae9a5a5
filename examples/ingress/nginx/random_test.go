package nginx

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/seed"
)

// tested is a server that tests with a real nginx and serves nothing.
type tested struct{ *process }

func (tested) Serve(context.Context, Configuration) error { return nil }

// pick returns a random element.
func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// randomPath returns a path of difficult parts: nginx's special characters, string terminators, path elements
// to be normalized, and long parts.
func randomPath(r *rand.Rand) string {
	var b strings.Builder
	b.WriteByte('/')
	for range r.IntN(6) {
		b.WriteString(pick(r, "a", "b", "/", "//", "..", ".", " ", "\t", "\n", "\r", "\x00", "\x00a", "\x00b", "\\",
			`"`, "'",
			"{", "}", ";", "#", "$", "$uri", "${host}", "~", "^~", "@x", "*", "(", "[", "%", "%20", "%2F", "%00", "%zz",
			"ü", "\u2028", "😀", "\x7f", "\u0001", strings.Repeat("l", r.IntN(300))))
	}
	return b.String()
}

func randomHost(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return "a.com" // so that many Ingresses share a host
	}
	label := func() string { return pick(r, "a", "b", "x-y", "9", "c", "d", "e0", strings.Repeat("l", 1+r.IntN(70))) }
	host := label()
	for range r.IntN(5) {
		host += "." + label()
	}
	return pick(r, "", "", "*.") + host
}

// nginx accepts the configuration of any Ingresses that the API server accepts, except those that are left
// out, and it does refuse the configuration with each of these.
func TestRandomIngresses(t *testing.T) {
	t.Parallel()
	needNginx(t)
	r, plane := rand.New(rand.NewPCG(seed.Of(t), 0)), bowlinetest.Start(t)
	p, err := newProcess(t.Context(), "nginx", t.TempDir(), listening{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer p.folder.close()
	ingresses := bowlinetest.Client[*networkingv1.Ingress](t, plane)
	var all []*networkingv1.Ingress
	const other = networkingv1.PathTypeImplementationSpecific
	refusedByServer := 0
	for n := range 300 {
		i := newIngress(fmt.Sprint("i", n))
		for range 1 + r.IntN(3) {
			i = i.path(randomHost(r), pick(r, networkingv1.PathTypeExact, networkingv1.PathTypePrefix, other, other),
				randomPath(r), "s")
		}
		made, err := ingresses.Create(t.Context(), i.Ingress, metav1.CreateOptions{})
		if err != nil {
			refusedByServer++
			continue
		}
		all = append(all, made)
	}
	s := newApplier(tested{p}, listening{http: freeAddress(t)}, given{}.objects(), newCertificates(nil))
	problems, _, err := s.apply(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("of 300 the server refused %d, and nginx %d", refusedByServer, len(s.refused))
	if len(all) < 100 || len(s.refused) > len(all)/10 {
		t.Errorf("nginx refused %[2]d of %[1]d Ingresses", len(all), len(s.refused))
	}
	for _, i := range all {
		if _, is := s.refused[i.UID]; !is {
			continue
		}
		together := append(s.versions(all), i)
		if err := s.test(t.Context(), together); err == nil {
			t.Errorf("Ingress %q is left out, but nginx would accept it: %v", i.Spec.Rules, problems[i.UID])
		}
	}
}
