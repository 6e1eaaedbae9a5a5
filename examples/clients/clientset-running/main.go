// Command clientset-running counts the running pods of all namespaces, with client-go's clientset. The server
// selects running pods by a field selector and returns them in pages, so memory use does not depend on the
// size of the cluster.
//
//	go run ./examples/clients/clientset-running [--kubeconfig FILE] [--context NAME]
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"

	"github.com/bowline-dev/bowline/examples/clients/lab"
)

func main() {
	lab.Main(lab.Program{Run: run})
}

func run(ctx context.Context, s lab.Server) error {
	clients, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		return err
	}
	pages := pager.New(func(ctx context.Context, page metav1.ListOptions) (runtime.Object, error) {
		return clients.CoreV1().Pods(metav1.NamespaceAll).List(ctx, page)
	})
	total, running := 0, map[string]int{}
	err = pages.EachListItem(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"},
		func(obj runtime.Object) error {
			total++
			running[obj.(*corev1.Pod).Namespace]++
			return nil
		})
	if err != nil {
		return err
	}

	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tRUNNING")
	for _, namespace := range slices.Sorted(maps.Keys(running)) {
		fmt.Fprintf(table, "%s\t%d\n", namespace, running[namespace])
	}
	fmt.Fprintf(table, "all\t%d\n", total)
	return table.Flush()
}
