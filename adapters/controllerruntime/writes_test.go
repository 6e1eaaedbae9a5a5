package controllerruntime_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestClientReadsItsWrites makes and deletes objects so quickly that handlers are behind: such a client waits
// until its handler has heard of each deletion.
func TestClientReadsItsWrites(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		c := w.make(cache.Options{})
		defer w.run(c)()
		reads := true
		writing := must(client.New(w.plane.RESTConfig(), client.Options{
			Cache: &client.CacheOptions{Reader: c, EnableReadYourWritesConsistency: &reads},
		}))(w.t)
		must(c.GetInformer(w.t.Context(), &corev1.ConfigMap{}))(w.t)
		late := 0
		for n := range 100 {
			configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
				Name: fmt.Sprint("a", n%10)}}
			if err := writing.Create(w.t.Context(), configMap); err != nil {
				w.t.Fatal(err)
			}
			if err := writing.Delete(w.t.Context(), configMap); err != nil {
				w.t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
			if err := writing.List(ctx, &corev1.ConfigMapList{}); err != nil {
				late++
			}
			cancel()
		}
		return []string{fmt.Sprint("late: ", late)}
	})
}
