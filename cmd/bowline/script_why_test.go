package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/controller"
	samplecrd "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/why"
)

// directoryMain is a second controller. It creates a ConfigMap with the gateway of each Network that is
// ready, and forwards its journal to the server.
//
//	directory
func directoryMain() {
	fail(cli.UntilSignal(context.Background(), func(ctx context.Context) error {
		m, err := controller.NewManager(restConfig(), controller.ManagerOptions{
			Forward: why.Path, Log: slog.New(slog.NewTextHandler(os.Stdout, nil)),
		})
		if err != nil {
			return err
		}
		networks := informer.For[*samplecrd.Network](m.Informers(),
			samplecrd.SchemeGroupVersion.WithResource(samplecrd.Resource))
		d := &directory{networks.Indexer(),
			client.Of[*corev1.ConfigMap](m.Client(), corev1.SchemeGroupVersion.WithResource("configmaps"))}
		m.Add(controller.Options{Name: "directory", Reconciler: d,
			Sources: []controller.Source{controller.For(networks)}})
		go func() {
			<-m.Ready()
			fmt.Println("ready")
		}()
		return m.Run(ctx)
	}))
}

type directory struct {
	networks *informer.Indexer[*samplecrd.Network]
	entries  client.Resource[*corev1.ConfigMap]
}

// Reconcile implements controller.Reconciler.
func (d *directory) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	n, ok := d.networks.Get(request)
	if !ok || !meta.IsStatusConditionTrue(n.Status.Conditions, samplecrd.ConditionReady) {
		controller.Note(ctx, "the network is not ready")
		return controller.Result{}, nil
	}
	entry := &corev1.ConfigMap{Data: map[string]string{"gateway": n.Spec.Gateway}}
	entry.Namespace, entry.Name = n.Namespace, "network-"+n.Name
	known, err := d.entries.Get(ctx, entry.Namespace, entry.Name)
	switch {
	case apierrors.IsNotFound(err):
		controller.Note(ctx, "the gateway is %s: missing in the directory", n.Spec.Gateway)
		_, err = d.entries.Create(ctx, entry, metav1.CreateOptions{})
	case err == nil && known.Data["gateway"] != n.Spec.Gateway:
		controller.Note(ctx, "the gateway is %s: the directory has %s", n.Spec.Gateway, known.Data["gateway"])
		_, err = d.entries.Update(ctx, entry, metav1.UpdateOptions{})
	}
	return controller.Result{}, err
}
