package informer_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

var (
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
)

// In the server's process an informer reads an object's metadata from the stored object without decoding the
// rest, whatever form it was written in. The result equals the server's answer to a metadata-only request.
func TestMetadataIsReadWithoutDecoding(t *testing.T) {
	t.Parallel()
	plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	createObjects(t, plane)
	c, err := client.New(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, lazy := range []bool{false, true} {
		f := informer.NewFactory(plane.Source(),
			informer.FactoryOptions{Lazy: lazy, Mutations: informer.DetectMutations(t)})
		stop := run(f)
		for resource, kind := range map[schema.GroupVersionResource]string{pods: "Pod", deployments: "Deployment",
			definitions: "CustomResourceDefinition"} {
			heads := informer.For[*metav1.PartialObjectMetadata](f, resource)
			<-heads.Synced()
			for _, got := range heads.Indexer().List() {
				want, err := client.Of[*metav1.PartialObjectMetadata](c, resource).Get(t.Context(), got.Namespace,
					got.Name)
				if err != nil {
					t.Fatal(err)
				}
				if got.Kind != kind || !equality.Semantic.DeepEqual(got.ObjectMeta, want.ObjectMeta) {
					t.Errorf("a %s %s of %+v, want %+v", got.APIVersion, got.Kind, got.ObjectMeta, want.ObjectMeta)
				}
			}
			if heads.Indexer().Len() == 0 {
				t.Errorf("got no %s", resource.Resource)
			}
		}
		stop()
	}
}

// createObjects creates a pod in protobuf, a deployment in JSON, and a definition.
func createObjects(t *testing.T, plane *bowline.Plane) {
	t.Helper()
	config := plane.RESTConfig()
	config.ContentType = "application/vnd.kubernetes.protobuf"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "b"},
		Finalizers: []string{"example.com/f"}}}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u",
		Controller: new(true)}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default").Create(t.Context(), pod,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for resource, text := range map[schema.GroupVersionResource]string{
		deployments: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"default","name":"d","annotations":{"say":"\"so\""}},"spec":{
			"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`,
		definitions: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"knots.example.com"},"spec":{
			"group":"example.com","scope":"Cluster","names":{"plural":"knots","kind":"Knot"},"versions":[{"name":"v1","served":true,"storage":true,
			"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`,
	} {
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		objects := dynamic.NewForConfigOrDie(plane.RESTConfig()).Resource(resource).Namespace(obj.GetNamespace())
		_, err := objects.Create(t.Context(), obj, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}
