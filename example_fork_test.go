package bowline_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
)

// A fork tries out a change with defaults, admission and validation, without affecting the plane.
func ExamplePlane_Fork() {
	ctx := context.Background()
	plane, err := bowline.Start(ctx, bowline.Options{})
	if err != nil {
		panic(err)
	}
	defer plane.Close()
	fork, err := plane.Fork(ctx)
	if err != nil {
		panic(err)
	}
	defer fork.Close()

	trial := kubernetes.NewForConfigOrDie(fork.RESTConfig()).CoreV1().Namespaces()
	if _, err := trial.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "trial"}},
		metav1.CreateOptions{}); err != nil {
		panic(err)
	}
	for name, p := range map[string]*bowline.Plane{"plane": plane, "fork": fork} {
		namespaces := kubernetes.NewForConfigOrDie(p.RESTConfig()).CoreV1().Namespaces()
		_, err := namespaces.Get(ctx, "trial", metav1.GetOptions{})
		fmt.Println(name, err)
	}
	// Unordered output:
	// plane namespaces "trial" not found
	// fork <nil>
}
