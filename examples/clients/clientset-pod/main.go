// Command clientset-pod prints the properties of a pod, with client-go's clientset: a client with typed
// methods for each built-in resource.
//
//	go run ./examples/clients/clientset-pod [--kubeconfig FILE] [--context NAME] [--namespace NAME] [POD]
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline/examples/clients/lab"
)

func main() {
	lab.Main(lab.Program{Arguments: "[POD]", Namespaced: true, Run: run})
}

func run(ctx context.Context, s lab.Server) error {
	clients, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		return err
	}
	pod, err := clients.CoreV1().Pods(s.Namespace).Get(ctx, s.Argument("test"), metav1.GetOptions{})
	if err != nil {
		return err
	}

	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	row := func(name string, value any) { fmt.Fprintf(table, "%s\t%v\n", name, value) }
	row("pod", pod.Namespace+"/"+pod.Name)
	row("uid", pod.UID)
	row("created", pod.CreationTimestamp.UTC().Format(time.RFC3339))
	row("labels", labels.Set(pod.Labels))
	row("node", cmp.Or(pod.Spec.NodeName, "none yet"))
	row("IP", cmp.Or(pod.Status.PodIP, "none yet"))
	row("phase", pod.Status.Phase)
	for _, c := range pod.Spec.Containers {
		row("container", fmt.Sprintf("%s of image %s, pulled %s", c.Name, c.Image, c.ImagePullPolicy))
	}
	return table.Flush()
}
