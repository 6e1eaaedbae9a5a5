package bowline_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
)

// An API server in this process, used with an unmodified client-go client.
func Example() {
	ctx := context.Background()
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	err := func() error {
		plane, err := bowline.Start(ctx, bowline.Options{}) // in memory, in process, no socket
		if err != nil {
			return err
		}
		defer plane.Close()

		clients := kubernetes.NewForConfigOrDie(plane.RESTConfig())
		clients.CoreV1().ConfigMaps("default").Create(ctx, configMap, metav1.CreateOptions{})

		made, err := clients.CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{})
		fmt.Println(made.Namespace, made.Name)
		return err
	}()
	fmt.Println(err)
	// Output:
	// default a
	// <nil>
}
