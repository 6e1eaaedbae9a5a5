package controller_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/why"
)

// A reconciler records what it compared. The journal adds the causes of the run and its writes.
func ExampleNote() {
	ctx, cancel := context.WithCancel(context.Background())
	plane, err := bowline.Start(ctx, bowline.Options{})
	if err != nil {
		panic(err)
	}
	m, err := controller.NewManager(plane.RESTConfig(),
		controller.ManagerOptions{Source: plane.Source(), Journal: plane.Journal()})
	if err != nil {
		panic(err)
	}
	maps := informer.For[*corev1.ConfigMap](m.Informers(), configMaps)
	writes := client.Of[*corev1.ConfigMap](m.Client(), configMaps)
	labelled := make(chan struct{})
	m.Add(controller.Options{
		Name:    "labels",
		Sources: []controller.Source{controller.For(maps)},
		Reconciler: controller.Func(func(ctx context.Context, request controller.Request) (controller.Result, error) {
			obj, ok := maps.Indexer().Get(request)
			if !ok || obj.Labels["team"] != "" || obj.Name == "kube-root-ca.crt" { // which is the cluster's
				return controller.Result{}, nil
			}
			controller.Note(ctx, "no team is named: it is everybody's")
			obj = obj.DeepCopy()
			obj.Labels = map[string]string{"team": "everybody"}
			_, err := writes.Update(ctx, obj, metav1.UpdateOptions{})
			defer close(labelled)
			return controller.Result{}, err
		}),
	})
	stopped := make(chan error)
	go func() { stopped <- m.Run(ctx) }()
	<-m.Ready()

	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"},
		Data: map[string]string{"size": "9"}}
	if _, err := writes.Create(ctx, obj, metav1.CreateOptions{FieldManager: "me"}); err != nil {
		panic(err)
	}
	<-labelled
	cancel()
	fmt.Println("stopped:", <-stopped)
	settings := why.ObjectOf(configMaps.GroupResource(), "default", "settings")
	for _, run := range m.Journal().Report(settings, 0).Runs[:1] {
		fmt.Println(run.Controller, run.Causes[0].Change, "by", run.Causes[0].By, run.Notes, run.Writes[0].Verb)
	}
	fmt.Println("closed:", plane.Close())
	// Output:
	// stopped: <nil>
	// labels added by me [no team is named: it is everybody's] update
	// closed: <nil>
}
