// Command dynamic lists the objects of any resource in all namespaces, with client-go's dynamic client,
// including custom resources for which this program has no Go types. The client returns decoded JSON, which
// can be converted to a Go type if there is one.
//
//	go run ./examples/clients/dynamic [--kubeconfig FILE] [--context NAME] [RESOURCE.VERSION.GROUP]
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/bowline-dev/bowline/examples/clients/lab"
)

func main() {
	lab.Main(lab.Program{Arguments: "[RESOURCE.VERSION.GROUP]", Run: run})
}

func run(ctx context.Context, s lab.Server) error {
	name := s.Argument("pods.v1.") // the name of the core group is empty
	resource, _ := schema.ParseResourceArg(name)
	if resource == nil {
		return fmt.Errorf("invalid resource %q: must be RESOURCE.VERSION.GROUP, such as pods.v1. or deployments.v1.apps",
			name)
	}
	client, err := dynamic.NewForConfig(s.Config)
	if err != nil {
		return err
	}
	list, err := client.Resource(*resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list %s: %w", name, err)
	}

	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "KIND\tNAMESPACE\tNAME\tVERSION\tDECLARED")
	for _, object := range list.Items {
		what, err := declared(object)
		if err != nil {
			return err
		}
		namespace := cmp.Or(object.GetNamespace(), "-")
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", object.GetKind(), namespace, object.GetName(),
			object.GetResourceVersion(), what)
	}
	return table.Flush()
}

// declared describes the spec of an object: that of a pod from its Go type, all others as JSON.
func declared(object unstructured.Unstructured) (string, error) {
	if object.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Pod") {
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &pod); err != nil {
			return "", fmt.Errorf("convert %s: %w", object.GetName(), err)
		}
		return "image " + pod.Spec.Containers[0].Image, nil
	}
	spec, found := object.Object["spec"]
	if !found { // such as a ConfigMap
		return "-", nil
	}
	text, err := json.Marshal(spec)
	return string(text), err
}
