package bowlinetest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
)

// secrets returns a client for the secrets in the namespace default.
func secrets(config *rest.Config) typed.SecretInterface {
	return kubernetes.NewForConfigOrDie(config).CoreV1().Secrets("default")
}

func makeSecret(ctx context.Context, config *rest.Config) error {
	_, err := secrets(config).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		metav1.CreateOptions{})
	return err
}

// The secret is created before the processes start, and only deleted afterwards.
func TestExploreFindsLeftovers(t *testing.T) {
	t.Parallel()
	s := scenario(nil)
	s.Options = []bowlinetest.Option{bowlinetest.Objects(configMap("a"))}
	s.Setup = makeSecret
	s.Processes[0].Run = func(ctx context.Context, config *rest.Config) error {
		w, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		defer w.Stop()
		for e := range w.ResultChan() {
			if o, ok := e.Object.(*corev1.ConfigMap); ok && e.Type == watch.Deleted {
				secrets(config).Delete(ctx, o.Name, metav1.DeleteOptions{}) // without a retry
			}
		}
		return ctx.Err()
	}
	s.Act = func(ctx context.Context, config *rest.Config) error {
		return kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").Delete(ctx, "a",
			metav1.DeleteOptions{})
	}
	s.Faults = []bowlinetest.Fault{bowlinetest.Refused}
	finds(t, s, "in the end, Secret default/a: is unexpected")
}

// An invariant gets all objects, including those that have not changed since the plane started.
func TestInvariantsSeeInitialObjects(t *testing.T) {
	t.Parallel()
	s := scenario(nil)
	s.Options = []bowlinetest.Option{bowlinetest.Objects(configMap("a"))}
	s.Processes[0].Run = func(ctx context.Context, config *rest.Config) error {
		if err := makeSecret(ctx, config); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
	s.Act = func(context.Context, *rest.Config) error { return nil }
	s.Invariants = []func(bowlinetest.State) error{func(s bowlinetest.State) error {
		for _, secret := range s.Kind("Secret") {
			if s.Find("ConfigMap", "default", secret.GetName()) == nil || s.Find("Namespace", "", "default") == nil {
				return fmt.Errorf("%s belongs to nothing", secret.GetName())
			}
		}
		return nil
	}}
	s.Faults = []bowlinetest.Fault{bowlinetest.Behind}
	if r := bowlinetest.Search(t, s); len(r.Failures) > 0 {
		t.Errorf("the invariant is violated: %s", r.Smallest())
	}
}

// A panic in the scenario ends the run, not the test.
func TestExploreFindsPanicsInScenario(t *testing.T) {
	t.Parallel()
	idle := func(ctx context.Context, c typed.ConfigMapInterface) error {
		_, err := c.Create(ctx, configMap("mine"), metav1.CreateOptions{})
		<-ctx.Done()
		return err
	}
	s := scenario(idle)
	s.Invariants = []func(bowlinetest.State) error{func(s bowlinetest.State) error { panic("no such thing") }}
	finds(t, s, "an invariant panicked: no such thing")
	s = scenario(idle)
	s.Act = func(context.Context, *rest.Config) error { panic("no hands") }
	if f := finds(t, s, "the user's code panicked: no hands"); !strings.Contains(f.String(),
		"explore_state_test.go") {
		t.Errorf("got no stack in %s", f)
	}
}
