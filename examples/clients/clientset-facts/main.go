// Command clientset-facts prints the desired state (spec) and the observed state (status) of all pods and
// nodes, with client-go's clientset.
//
//	go run ./examples/clients/clientset-facts [--kubeconfig FILE] [--context NAME]
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

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
	pods, err := clients.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	nodes, err := clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tPOD\tPHASE\tNODE\tIP\tIMAGES\tLABELS")
	for _, pod := range pods.Items {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", pod.Namespace, pod.Name, pod.Status.Phase,
			cmp.Or(pod.Spec.NodeName, "-"), cmp.Or(pod.Status.PodIP, "-"), images(pod),
			cmp.Or(labels.Set(pod.Labels).String(), "-"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, node := range nodes.Items {
		fmt.Fprintf(table, "\nNODE\t%s\n", node.Name)
		describe(table, node)
	}
	return table.Flush()
}

// images returns the images of a pod's containers.
func images(pod corev1.Pod) string {
	var names []string
	for _, container := range pod.Spec.Containers {
		names = append(names, container.Image)
	}
	return strings.Join(names, ",")
}

// describe prints the properties of a node, one per line. Properties that have not been reported yet are
// omitted.
func describe(table *tabwriter.Writer, node corev1.Node) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, value)
		}
	}
	for _, address := range node.Status.Addresses {
		row(string(address.Type), address.Address)
	}
	info, capacity := node.Status.NodeInfo, node.Status.Capacity
	row("OS image", info.OSImage)
	row("kernel", info.KernelVersion)
	row("kubelet", info.KubeletVersion)
	for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		if quantity, known := capacity[resource]; known {
			row(string(resource), quantity.String())
		}
	}
	for _, condition := range node.Status.Conditions {
		row(string(condition.Type), fmt.Sprintf("%s (%s)", condition.Status, condition.Reason))
	}
}
