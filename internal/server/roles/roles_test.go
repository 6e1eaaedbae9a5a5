package roles_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/roles"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// state is a store of roles.
type state struct {
	*store.Store
	kinds *kind.Registry
	*roles.Authorizer
}

func newState(t testing.TB, o store.Options) *state {
	t.Helper()
	s, err := store.New(context.Background(), memory.New(), o)
	if err != nil {
		t.Fatal(err)
	}
	kinds := kind.NewRegistry(builtin.Kinds(object.NewCache(0))...)
	return &state{s, kinds, roles.New(s, kinds, slog.New(slog.DiscardHandler))}
}

var (
	clusterRoles = schema.GroupResource{Group: rbacv1.GroupName, Resource: "clusterroles"}
	roleBindings = schema.GroupResource{Group: rbacv1.GroupName, Resource: "rolebindings"}
)

// setRole stores a cluster role r with a verb.
func (s *state) setRole(t testing.TB, verb string) {
	s.set(t, clusterRoles, &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: "r"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{"pods"}}},
	})
}

// bind stores a binding of r to a user, in the namespace n. The binding has the user's name.
func (s *state) bind(t testing.TB, user string) {
	s.set(t, roleBindings, &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "r"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})
}

func (s *state) set(t testing.TB, resource schema.GroupResource, obj kind.Object) {
	k, _ := s.kinds.Stored(resource)
	o, err := stored.Encode(k, obj, object.Form{APIVersion: "rbac.authorization.k8s.io/v1"})
	if err == nil {
		_, err = s.Commit(context.Background(), store.Change{Key: o.Key, Object: o})
	}
	if err != nil {
		t.Error(err)
	}
}

func (s *state) unbind(t testing.TB, user string) {
	_, err := s.Commit(context.Background(), store.Change{Key: object.KeyOf(roleBindings, "n", user)})
	if err != nil {
		t.Error(err)
	}
}

// may reports whether a user may use a verb on pods.
func (s *state) may(t testing.TB, user, verb string) bool {
	decision, _, err := s.Authorize(context.Background(), podsAs(user, verb))
	if err != nil {
		t.Error(err)
	}
	return decision == auth.Allow
}

func podsAs(user, verb string) auth.Attributes {
	return auth.Attributes{User: auth.NewUser(user), Verb: verb, IsResource: true, Resource: "pods", Namespace: "n"}
}

func TestRequestsSeeTheNewestState(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]store.Options{
		"": {}, "a history that is soon dropped": {HistoryBytes: 1, HistoryAge: time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newState(t, options)
			defer s.Close()
			s.setRole(t, "get")
			for i := range 20 {
				for n := range i { // commits between two requests
					s.bind(t, fmt.Sprint("other-", n))
				}
				time.Sleep(time.Second)
				s.bind(t, "jane")
				if !s.may(t, "jane", "get") || s.may(t, "jane", "list") || s.may(t, "eve", "get") {
					t.Errorf("%s: after %d rounds, a binding has no effect or too much", name, i)
				}
				s.setRole(t, "list")
				if s.may(t, "jane", "get") || !s.may(t, "jane", "list") {
					t.Errorf("%s: after %d rounds, a change of the role has no effect", name, i)
				}
				s.unbind(t, "jane")
				if s.may(t, "jane", "list") {
					t.Errorf("%s: after %d rounds, a binding has an effect after its removal", name, i)
				}
				s.setRole(t, "get")
			}
			rules, err := s.RulesFor(t.Context(), auth.NewUser("other-3"), "n")
			if err != nil || len(rules.Resources) != 1 {
				t.Errorf("%s: the rules are %v %v", name, rules, err)
			}
		})
	}
}

// A role never meets a binding that was removed before the role got its rules, or created after it lost them, although
// the two are separate resources.
func TestEachDecisionIsOfOneState(t *testing.T) {
	t.Parallel()
	s := newState(t, store.Options{})
	defer s.Close()
	s.setRole(t, "get")
	const rounds = 500
	var group sync.WaitGroup
	done := make(chan struct{})
	group.Go(func() {
		defer close(done)
		for range rounds {
			s.bind(t, "jane")
			s.unbind(t, "jane")
			s.setRole(t, "delete")
			s.setRole(t, "get")
		}
	})
	for range 2 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if s.may(t, "jane", "delete") {
					t.Error("jane may delete, which no state of the store allows")
					return
				}
			}
		})
	}
	group.Wait()
}

// A closed store allows nothing, and the error says why.
func TestClosedStoreAllowsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newState(t, store.Options{})
		s.setRole(t, "get")
		s.bind(t, "jane")
		s.bind(t, "bob")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		decision, _, err := s.Authorize(t.Context(), podsAs("jane", "get"))
		if decision != auth.NoOpinion || !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v %v", decision, err)
		}
		if _, err := s.RulesFor(t.Context(), auth.NewUser("jane"), "n"); !errors.Is(err, store.ErrClosed) {
			t.Errorf("the error of the rules is %v", err)
		}
	})
}

// An object with initializers grants nothing.
func TestUninitializedObjectsGrantNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newState(t, store.Options{})
		defer s.Close()
		s.setRole(t, "get")
		s.bind(t, "bob")
		b := &rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "jane"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "r"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "jane"}},
		}
		kind.SetInitializers(b, &kind.Initializers{Pending: []kind.Initializer{{Name: "a.example.com"}}})
		s.set(t, roleBindings, b)
		kind.SetInitializers(b, nil)
		if s.may(t, "jane", "get") || !s.may(t, "bob", "get") {
			t.Error("a binding with initializers has an effect, or hides others")
		}
		s.bind(t, "jane")
		if !s.may(t, "jane", "get") {
			t.Error("an initialized binding has no effect")
		}
	})
}

// BenchmarkAuthorize decides with 10,000 bindings: while nothing changes, after a commit that concerns no role, and
// after a change of a binding. The time of the commits is included.
func BenchmarkAuthorize(b *testing.B) {
	s := newState(b, store.Options{})
	defer s.Close()
	s.setRole(b, "get")
	for i := range 10_000 {
		s.bind(b, fmt.Sprint("user-", i))
	}
	a := podsAs("user-7", "get")
	began := time.Now()
	s.Authorize(b.Context(), a)
	b.Logf("the first request takes %s", time.Since(began))
	run := func(name string, before func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				before()
				s.Authorize(b.Context(), a)
			}
		})
	}
	run("unchanged", func() {})
	other := object.KeyOf(schema.GroupResource{Resource: "none"}, "", "a")
	k, _ := s.kinds.Stored(clusterRoles)
	o, err := stored.Encode(k, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		object.Form{APIVersion: "rbac.authorization.k8s.io/v1"})
	if err != nil {
		b.Fatal(err)
	}
	run("another commit", func() {
		next := object.New(object.Header{Key: other}, k, *o.Stored())
		if _, err := s.Commit(context.Background(), store.Change{Key: other, Object: next}); err != nil {
			b.Fatal(err)
		}
	})
	run("a changed binding", func() {
		s.bind(b, "user-7")
	})
}
