package controllerruntime_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// copier keeps a Secret with the data of each ConfigMap that is labelled so, in upper case if the namespace says loud.
// It is written against controller-runtime alone.
type copier struct{ client.Client }

func (c *copier) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var configMap corev1.ConfigMap
	if err := c.Get(ctx, request.NamespacedName, &configMap); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var namespace corev1.Namespace
	if err := c.Get(ctx, types.NamespacedName{Name: request.Namespace}, &namespace); err != nil {
		return reconcile.Result{}, err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, c.Client, secret, func() error {
		secret.Data = map[string][]byte{"value": []byte(namespace.Labels["voice"] + configMap.Data["value"])}
		return controllerutil.SetControllerReference(&configMap, secret, c.Scheme())
	})
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: time.Second}, nil // the cache is behind
	}
	return reconcile.Result{}, err
}

func (c *copier) inNamespace(ctx context.Context, namespace client.Object) (requests []reconcile.Request) {
	var all corev1.ConfigMapList
	if err := c.List(ctx, &all, client.InNamespace(namespace.GetName())); err != nil {
		return nil
	}
	for _, configMap := range all.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&configMap)})
	}
	return requests
}

// TestManagerReconcilesFromCache runs a controller with For, Owns and Watches in virtual time.
func TestManagerReconcilesFromCache(t *testing.T) {
	t.Parallel()
	compare(t, func(w *world) []string {
		none := false
		skip := true
		manager := must(ctrl.NewManager(w.plane.RESTConfig(), ctrl.Options{
			NewCache:               w.new,
			Metrics:                server.Options{BindAddress: "0"},
			HealthProbeBindAddress: "0",
			LeaderElection:         none,
			Controller:             config.Controller{SkipNameValidation: &skip},
		}))(w.t)
		c := &copier{manager.GetClient()}
		err := ctrl.NewControllerManagedBy(manager).Named("copier").For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).
			Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(c.inNamespace)).Complete(c)
		if err != nil {
			w.t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(w.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- manager.Start(ctx) }()
		<-manager.Elected()
		secret := func() string {
			time.Sleep(time.Minute) // of virtual time: longer than any retry
			synctest.Wait()
			var found corev1.Secret
			err := w.client.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "a"}, &found)
			return fmt.Sprint(string(found.Data["value"]), len(found.OwnerReferences), err)
		}
		w.set("shop/a=1")
		out := []string{secret()}
		w.set("shop/a=2")
		out = append(out, secret())
		if err := w.client.Delete(ctx,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}); err != nil {
			w.t.Error(err) // an owned object that goes comes back
		}
		out = append(out, secret())
		loud := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"voice":"loud"}}}`))
		if err := w.client.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
			loud); err != nil {
			w.t.Error(err)
		}
		out = append(out, secret())
		cancel()
		return append(out, fmt.Sprint(<-ended))
	})
}
