package bowlinetest_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
)

// greet is an operator as its main function runs it. It adds a greeting to each ConfigMap that has a name.
func greet(ctx context.Context, config *rest.Config) error {
	m, err := controller.NewManager(config, controller.ManagerOptions{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	maps := controller.ObjectsOf[*corev1.ConfigMap](m, corev1.SchemeGroupVersion.WithResource("configmaps"))
	reconcile := func(ctx context.Context, r controller.Request) (controller.Result, error) {
		cm, err := maps.Get(r.Namespace, r.Name)
		if apierrors.IsNotFound(err) {
			return controller.Result{}, nil
		} else if err != nil || cm.Data["name"] == "" || cm.Data["greeting"] != "" {
			return controller.Result{}, err
		}
		patch := fmt.Appendf(nil, `{"data":{"greeting":"Hello, %s!"}}`, cm.Data["name"])
		_, err = maps.Client().Patch(ctx, r.Namespace, r.Name, "", types.MergePatchType, patch, metav1.PatchOptions{})
		return controller.Result{}, err
	}
	if err := m.Build("greeter").For(maps).Complete(controller.Func(reconcile)); err != nil {
		return err
	}
	return m.Run(ctx)
}

const world = `{apiVersion: v1, kind: ConfigMap, metadata: {name: world}, data: {name: World}}`

// runTest runs the body of a test function, as go test does, and prints whether it passed.
func runTest(test func(t *testing.T)) {
	verbose := flag.Lookup("test.v").Value // prints to the example's output
	before := fmt.Sprint(verbose.(flag.Getter).Get())
	verbose.Set("false")
	defer verbose.Set(before)
	all := func(string, string) (bool, error) { return true, nil }
	fmt.Println("passed:", testing.RunTests(all, []testing.InternalTest{{Name: "TestGreeter", F: test}}))
}

// A test of an operator, with a plane of its own.
func ExampleStart() {
	runTest(func(t *testing.T) { // func TestGreeter(t *testing.T)
		p := bowlinetest.Start(t, bowlinetest.Controllers(greet))
		p.Apply(t, world)
		greeted := bowlinetest.Wait(t, p, "default", "world", func(cm *corev1.ConfigMap) bool {
			return cm.Data["greeting"] != ""
		})
		fmt.Println(greeted.Data["greeting"])
	})
	// Output:
	// Hello, World!
	// passed: true
}

// A test in virtual time, in which an hour passes at once.
func ExampleBubble() {
	runTest(func(t *testing.T) {
		bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
			start := time.Now()
			p.Apply(t, world)
			time.Sleep(time.Hour)
			synctest.Wait() // until the operator is idle
			greeted, err := bowlinetest.Client[*corev1.ConfigMap](t, p).Get(t.Context(), "default", "world")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println(greeted.Data["greeting"], time.Since(start) >= time.Hour)
		}, bowlinetest.Controllers(greet))
	})
	// Output:
	// Hello, World! true
	// passed: true
}

// Explore repeats a scenario with a crash, a refusal, a lost event and other faults at each request of the operator,
// and fails the test if a run ends in another state than the run without faults.
func ExampleExplore() {
	runTest(func(t *testing.T) {
		report := bowlinetest.Explore(t, bowlinetest.Scenario{
			Processes: []bowlinetest.Process{{Name: "greeter", Run: greet}},
			Act: func(ctx context.Context, config *rest.Config) error { // what users do
				cm := &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: "world"}, Data: map[string]string{"name": "World"},
				}
				maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
				_, err := maps.Create(ctx, cm, metav1.CreateOptions{})
				return err
			},
			Faults: []bowlinetest.Fault{bowlinetest.CrashBefore, bowlinetest.CrashAfter, bowlinetest.Dropped},
		})
		fmt.Println(report.Tried() > 0, len(report.Failures))
	})
	// Output:
	// true 0
	// passed: true
}
