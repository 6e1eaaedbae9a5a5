// Command rest gets a pod with client-go's RESTClient, on which all other clients of client-go are based. It
// implements HTTP requests and the encoding of objects; the caller names the group, version and resource.
//
//	go run ./examples/clients/rest [--kubeconfig FILE] [--context NAME] [--namespace NAME] [POD]
package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/examples/clients/lab"
)

func main() {
	lab.Main(lab.Program{Arguments: "[POD]", Namespaced: true, Run: run})
}

func run(ctx context.Context, s lab.Server) error {
	config := rest.CopyConfig(s.Config)
	config.APIPath = "/api" // the path of the core group; all others have /apis
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return err
	}

	request := client.Get().Namespace(s.Namespace).Resource("pods").Name(s.Argument("test"))
	fmt.Println("GET", request.URL().Path)
	var pod corev1.Pod
	if err := request.Do(ctx).Into(&pod); err != nil {
		return err
	}

	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tNAME\tPHASE\tIMAGE\tVERSION")
	image := pod.Spec.Containers[0].Image
	fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", pod.Namespace, pod.Name, pod.Status.Phase, image, pod.ResourceVersion)
	return table.Flush()
}
