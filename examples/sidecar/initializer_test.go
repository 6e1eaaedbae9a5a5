package sidecar_test

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/examples/sidecar"
	"github.com/bowline-dev/bowline/internal/trial"
)

// initializing runs the initializer during the test.
func initializing(o sidecar.Options) bowlinetest.Option {
	return bowlinetest.Manage(func(m *controller.Manager) error {
		sidecar.AddInitializer(m, o)
		return nil
	})
}

// waiting makes new pods wait for the initializer.
func waiting() bowlinetest.Option { return bowlinetest.Objects(sidecar.Configured()) }

// TestPodsGetTheirSidecarByInitializer creates the pod of the documents, which declares one container. It has
// two containers, a volume and a mount when it becomes visible, and a second apply does not change it.
func TestPodsGetTheirSidecarByInitializer(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		pods := bowlinetest.Client[*corev1.Pod](t, p)
		watch, err := pods.Watch(t.Context(), "default", metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer watch.Stop()
		pod, apply := in(example[corev1.Pod](t, "myapp-pod")), metav1.ApplyOptions{FieldManager: "me"}
		made, err := pods.ApplyObject(t.Context(), pod, apply)
		if err != nil {
			t.Fatal(err)
		}
		has(t, made)
		event, seen, err := watch.Next()
		if err != nil || event != "ADDED" {
			t.Fatal(event, err)
		}
		has(t, seen)
		second, err := pods.ApplyObject(t.Context(), pod, apply)
		if err != nil || second.ResourceVersion != made.ResourceVersion {
			t.Errorf("the second apply changed the pod: got %v, want resourceVersion %s: %v", second,
				made.ResourceVersion, err)
		}
	}, bowlinetest.Objects(example[corev1.ConfigMap](t, "envoy-initializer")), waiting(),
		initializing(sidecar.Options{}))
}

// TestInitializerLeavesWhatTheWebhookAdded checks that webhook and initializer can be combined.
func TestInitializerLeavesWhatTheWebhookAdded(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		injected := template(t).Inject(in(example[corev1.Pod](t, "myapp-pod")))
		made, err := bowlinetest.Client[*corev1.Pod](t, p).Create(t.Context(), injected, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		has(t, made)
	}, bowlinetest.Objects(example[corev1.ConfigMap](t, "envoy-initializer")), waiting(),
		initializing(sidecar.Options{}))
}

// TestInitializerRespectsAnnotation checks that pods without the annotation, or with another value, remain
// unchanged.
func TestInitializerRespectsAnnotation(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		pods := bowlinetest.Client[*corev1.Pod](t, p)
		plain, err := pods.Create(t.Context(), in(example[corev1.Pod](t, "myapp-pod")), metav1.CreateOptions{})
		if err != nil || len(plain.Spec.Containers) != 1 {
			t.Errorf("pod without annotation: got %v, %v", plain, err)
		}
		annotated := in(example[corev1.Pod](t, "annotated-pod"))
		annotated.Name = "annotated"
		if annotated, err = pods.Create(t.Context(), annotated, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		has(t, annotated)
	}, bowlinetest.Objects(example[corev1.ConfigMap](t, "envoy-initializer")), waiting(),
		initializing(sidecar.Options{OnlyAnnotated: true}))
}

// TestCreateTimeoutNamesInitializer creates a pod while the initializer does not run. The request times out with
// an error that names the initializer, which completes the pod when it is started.
func TestCreateTimeoutNamesInitializer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := bowlinetest.Start(t, waiting(), bowlinetest.Objects(example[corev1.ConfigMap](t, "envoy-initializer")))
		pods, start := bowlinetest.Client[*corev1.Pod](t, p), time.Now()
		_, err := pods.Create(t.Context(), in(example[corev1.Pod](t, "myapp-pod")), metav1.CreateOptions{})
		if !apierrors.IsTimeout(err) || !strings.Contains(err.Error(), "pending initializers are "+sidecar.InitializerName) ||
			time.Since(start) != 30*time.Second {
			t.Errorf("the create ended after %v with %v", time.Since(start), err)
		}
		if list, err := pods.List(t.Context(), "default", metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
			t.Errorf("the waiting pod is listed: %v, %v", list, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- sidecar.Initialize(ctx,
				sidecar.Options{Config: p.RESTConfig(), Log: slog.New(slog.DiscardHandler)})
		}()
		has(t, bowlinetest.Wait(t, p, "default", "myapp-pod", func(pod *corev1.Pod) bool { return true }))
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestPodsWaitForTheTemplate checks that waiting pods are completed when the template is created or
// corrected.
func TestPodsWaitForTheTemplate(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		pods, cm := bowlinetest.Client[*corev1.Pod](t, p).Uninitialized(),
			example[corev1.ConfigMap](t, "envoy-initializer")
		for _, name := range []string{"a", "b"} {
			pod := in(example[corev1.Pod](t, "myapp-pod"))
			pod.Name = name
			if made, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil ||
				len(made.Spec.Containers) != 1 {
				t.Fatal(made, err)
			}
		}
		synctest.Wait()
		right := cm.Data[sidecar.Key]
		cm.Namespace, cm.Data[sidecar.Key] = "default", "containers: []"
		create(t, p, cm)
		synctest.Wait()
		list, err := pods.List(t.Context(), "default", metav1.ListOptions{})
		if err != nil || len(list.Items) != 2 || slices.ContainsFunc(list.Items, func(pod *corev1.Pod) bool {
			return len(pod.Spec.Containers) > 1
		}) {
			t.Errorf("without a template: got pods %v, %v", list, err)
		}
		patch := fmt.Appendf(nil, `{"data":{%q:%q}}`, sidecar.Key, right)
		if _, err := bowlinetest.Client[*corev1.ConfigMap](t, p).Patch(t.Context(), "default", cm.Name, "",
			types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			has(t, bowlinetest.Wait(t, p, "default", name, func(pod *corev1.Pod) bool {
				return len(pod.Spec.Containers) > 1
			}))
		}
	}, waiting(), initializing(sidecar.Options{Log: slog.New(slog.DiscardHandler)}))
}

// neverHalf returns an error if a visible pod lacks a part of the template.
func neverHalf(s bowlinetest.State) error {
	for _, obj := range s.Objects {
		containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "containers")
		volumes, _, _ := unstructured.NestedSlice(obj.Object, "spec", "volumes")
		_, pending, _ := unstructured.NestedMap(obj.Object, "metadata", "initializers")
		added := len(containers) == 2 && len(volumes) > 0
		untouched := len(containers) == 1 && len(volumes) == 0
		if obj.GetKind() == "Pod" && (!pending && !added || pending && !untouched) {
			return fmt.Errorf("pod %s has %d containers and %d volumes, and is visible: %t", obj.GetName(),
				len(containers), len(volumes), !pending)
		}
	}
	return nil
}

// TestNoPodIsHalfInitialized injects faults into one initializer and into two concurrent ones.
func TestNoPodIsHalfInitialized(t *testing.T) {
	t.Parallel()
	cm := example[corev1.ConfigMap](t, "envoy-initializer")
	run := func(ctx context.Context, config *rest.Config) error {
		return sidecar.Initialize(ctx, sidecar.Options{Config: config, Log: slog.New(slog.DiscardHandler)})
	}
	for _, processes := range [][]string{{"one"}, {"one", "two"}} {
		s := bowlinetest.Scenario{
			Options: []bowlinetest.Option{
				trial.Alone(), bowlinetest.Objects(cm), waiting(),
			},
			Act: func(ctx context.Context, config *rest.Config) error {
				c, err := client.New(config)
				if err != nil {
					return err
				}
				for _, name := range []string{"a", "b"} {
					pod := in(example[corev1.Pod](t, "myapp-pod"))
					pod.Name = name
					if _, err := client.For[*corev1.Pod](c).Create(ctx, pod, metav1.CreateOptions{}); err != nil &&
						!apierrors.IsTimeout(err) {
						return err
					}
				}
				return nil
			},
			Invariants: []func(bowlinetest.State) error{neverHalf}, Budget: 30,
		}
		for _, name := range processes {
			s.Processes = append(s.Processes, bowlinetest.Process{Name: name, Run: run})
		}
		r := bowlinetest.Explore(t, s)
		t.Logf("%d fault points with %d initializers", r.Tried(), len(processes))
	}
}

// TestConfigurationIsTheDocuments compares the configuration that the program applies with the one in the
// example's file.
func TestConfigurationIsTheDocuments(t *testing.T) {
	t.Parallel()
	file := *example[map[string]any](t, "initializerconfiguration")
	if is := sidecar.Configured().Object; !reflect.DeepEqual(is, file) {
		t.Errorf("the program applies\n%v\nbut the file has\n%v", is, file)
	}
}
