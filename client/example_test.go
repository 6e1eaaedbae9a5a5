package client_test

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
)

// example is a server for the examples. The config of any other server would do.
func example() (*rest.Config, func()) {
	plane, err := bowline.Start(context.Background(), bowline.Options{Controllers: []string{bowline.NoControllers}})
	if err != nil {
		log.Fatal(err)
	}
	return plane.RESTConfig(), func() { plane.Close() }
}

// A program finds its server as kubectl does, and reports mistakes in the kubeconfig before it sends a request.
func ExampleLoad() {
	folder, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(folder)
	kubeconfig := filepath.Join(folder, "kubeconfig")
	os.WriteFile(kubeconfig, []byte(`
clusters:
- name: home
  cluster: {server: "https://127.0.0.1:6443"}
users:
- name: jane
  user: {token: secret}
contexts:
- name: mine
  context: {cluster: home, user: jane}
- name: broken
  context:
    cluster: home
    user: joe
current-context: mine
`), 0o600)

	var flags client.Flags
	set := flag.NewFlagSet("program", flag.ExitOnError)
	flags.Bind(set)
	set.Parse([]string{"--kubeconfig", kubeconfig})
	config, err := client.Load(flags)
	fmt.Println(config.Host, err)

	flags.Context = "broken"
	_, err = client.Load(flags)
	configError := err.(interface{ Unwrap() []error }).Unwrap()[0].(*client.ConfigError)
	fmt.Printf("line %d, %s: %v\n", configError.Line, configError.Field, configError.Err)
	// Output:
	// https://127.0.0.1:6443 <nil>
	// line 14, contexts[broken].context.user: there is no user "joe" (there are jane)
}

// One client serves every kind: the Go type determines the resource.
func ExampleFor() {
	config, stop := example()
	defer stop()
	ctx := context.Background()
	c, err := client.New(config)
	if err != nil {
		log.Fatal(err)
	}
	maps := client.For[*corev1.ConfigMap](c)
	for _, name := range []string{"a", "b", "c"} {
		maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}},
			metav1.CreateOptions{})
	}
	b, err := maps.Get(ctx, "default", "b")
	fmt.Println(b.Name, err)
	b.Data = map[string]string{"k": "v"}
	b, err = maps.Update(ctx, b, metav1.UpdateOptions{})
	fmt.Println(b.Data, err)
	err = maps.Delete(ctx, "default", "c", metav1.DeleteOptions{})
	fmt.Println(err)
	for obj, err := range maps.All(ctx, "default", metav1.ListOptions{Limit: 2}) {
		fmt.Println(obj.Name, err)
	}
	// Output:
	// b <nil>
	// map[k:v] <nil>
	// <nil>
	// a <nil>
	// b <nil>
}

// Apply sets only the fields of the configuration; UpdateScale sets the number of replicas.
func ExampleResource_Apply() {
	config, stop := example()
	defer stop()
	ctx := context.Background()
	c, err := client.New(config)
	if err != nil {
		log.Fatal(err)
	}
	deployments := client.For[*appsv1.Deployment](c)
	labels := map[string]string{"app": "web"}
	web := applyappsv1.Deployment("web", "default").WithSpec(applyappsv1.DeploymentSpec().
		WithSelector(applymetav1.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(applycorev1.PodTemplateSpec().WithLabels(labels).
			WithSpec(applycorev1.PodSpec().WithContainers(applycorev1.Container().WithName("web").WithImage("nginx")))))
	deployment, err := deployments.Apply(ctx, web, metav1.ApplyOptions{FieldManager: "example"})
	fmt.Println(deployment.Name, *deployment.Spec.Replicas, err)

	scale, err := deployments.Scale(ctx, "default", "web")
	if err != nil {
		log.Fatal(err)
	}
	scale.Spec.Replicas = 3
	scale, err = deployments.UpdateScale(ctx, scale, metav1.UpdateOptions{})
	fmt.Println(scale.Spec.Replicas, err)
	// Output:
	// web 1 <nil>
	// 3 <nil>
}

// The creator of a context observes the writes that any client makes with it.
func ExampleObserve() {
	config, stop := example()
	defer stop()
	clients := kubernetes.NewForConfigOrDie(client.Observed(config)) // client-go's own
	ctx := client.Observe(context.Background(), func(w client.Write) {
		fmt.Println(w.Verb, w.Resource.Resource, w.Namespace, w.Name, w.Status, w.Failed())
	})
	clients.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		metav1.CreateOptions{})
	clients.CoreV1().ConfigMaps("default").Delete(ctx, "b", metav1.DeleteOptions{})
	// Output:
	// create configmaps default a 201 false
	// delete configmaps default b 404 true
}
