// Command dynamic lists the objects of any resource, in all namespaces, with client-go's dynamic client: also of custom
// resources, whose Go types this program does not have. Objects come as what their JSON holds; where there is a Go type,
// they convert to it.
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
	name := s.Argument("pods.v1.") // of the core group, which has no name
	resource, _ := schema.ParseResourceArg(name)
	if resource == nil {
		return fmt.Errorf("%q is no resource: write RESOURCE.VERSION.GROUP, such as pods.v1. or deployments.v1.apps", name)
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
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", object.GetKind(), namespace, object.GetName(), object.GetResourceVersion(), what)
	}
	return table.Flush()
}

// declared is what an object's spec says: of a pod as its Go type has it, of all others as it came.
func declared(object unstructured.Unstructured) (string, error) {
	if object.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Pod") {
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &pod); err != nil {
			return "", fmt.Errorf("convert %s: %w", object.GetName(), err)
		}
		return "image " + pod.Spec.Containers[0].Image, nil
	}
	spec, found := object.Object["spec"]
	if !found { // as a ConfigMap
		return "-", nil
	}
	text, err := json.Marshal(spec)
	return string(text), err
}
