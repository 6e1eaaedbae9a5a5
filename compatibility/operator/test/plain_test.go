// Package test is a test suite without Ginkgo: a test starts an environment and stops it.
package test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	greetingv1 "example.com/operator/api/v1"
	"example.com/operator/internal/controller"
)

func TestGreeting(t *testing.T) {
	s := runtime.NewScheme()
	check(t, clientgoscheme.AddToScheme(s))
	check(t, greetingv1.AddToScheme(s))
	env := &envtest.Environment{CRDDirectoryPaths: []string{"../config/crd/bases"}, ErrorIfCRDPathMissing: true,
		Scheme: s}
	config, err := env.Start()
	check(t, err)
	t.Cleanup(func() { check(t, env.Stop()) })

	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: s, Metrics: metricsserver.Options{BindAddress: "0"}})
	check(t, err)
	check(t, (&controller.GreetingReconciler{Client: mgr.GetClient(), Scheme: s}).SetupWithManager(mgr))
	go mgr.Start(t.Context())

	c, err := client.NewWithWatch(config, client.Options{Scheme: s})
	check(t, err)
	said, err := c.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace("default"))
	check(t, err)
	defer said.Stop()
	check(t, c.Create(t.Context(), &greetingv1.Greeting{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "plain"},
		Spec:       greetingv1.GreetingSpec{Name: "you", Times: 2},
	}))
	for e := range said.ResultChan() {
		if cm, ok := e.Object.(*corev1.ConfigMap); ok && e.Type == watch.Added && cm.Name == "plain" {
			if got := cm.Data["words"]; got != "Hello, you! Hello, you! " {
				t.Errorf("it says %q", got)
			}
			return
		}
	}
	t.Error("no greeting was written")
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
