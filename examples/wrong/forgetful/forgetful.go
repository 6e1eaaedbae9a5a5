// Package forgetful is an example of a faulty controller: its actions are not idempotent. Each ConfigMap with
// the label kind=sale has an amount, which the controller adds to the total in the ConfigMap till; then it
// marks the sale as counted.
//
// The fault: between the two writes the controller may crash, or lose the response to the first one. Then it
// counts the sale again. A correct controller computes the total from all sales each time, which is
// idempotent, or stores with the total which sales it includes. bowlinetest.Explore detects the fault.
package forgetful

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// Till is the name of the ConfigMap that contains the total.
const Till = "till"

// Run runs the controller until ctx ends.
func Run(ctx context.Context, config *rest.Config) error {
	m, err := controller.NewManager(config, controller.ManagerOptions{})
	if err != nil {
		return err
	}
	resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	configMaps := informer.For[*corev1.ConfigMap](m.Informers(), resource)
	m.Add(controller.Options{
		Name:       "till",
		Reconciler: &cashier{client.Of[*corev1.ConfigMap](m.Client(), resource)},
		Sources:    []controller.Source{controller.For(configMaps)},
	})
	m.Run(ctx)
	return nil
}

type cashier struct {
	configMaps client.Resource[*corev1.ConfigMap]
}

// Reconcile implements controller.Reconciler. It reads from the server, so that a stale cache cannot be the
// cause of the fault.
func (c *cashier) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	sale, err := c.configMaps.Get(ctx, request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err != nil || sale.Labels["kind"] != "sale" || sale.Annotations["counted"] != "" {
		return controller.Result{}, err
	}
	if err := c.add(ctx, request.Namespace, sale.Data["amount"]); err != nil {
		return controller.Result{}, err
	}
	sale.Annotations = map[string]string{"counted": "yes"}
	_, err = c.configMaps.Update(ctx, sale, metav1.UpdateOptions{})
	return controller.Result{}, err
}

// add adds an amount to the total.
func (c *cashier) add(ctx context.Context, namespace, amount string) error {
	till, err := c.configMaps.Get(ctx, namespace, Till)
	if err != nil {
		return err
	}
	total, _ := strconv.Atoi(till.Data["total"])
	plus, _ := strconv.Atoi(amount)
	till.Data = map[string]string{"total": strconv.Itoa(total + plus)}
	_, err = c.configMaps.Update(ctx, till, metav1.UpdateOptions{})
	return err
}
