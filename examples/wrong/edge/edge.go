// Package edge is an example of a faulty controller: it acts on events. For each ConfigMap with the label
// mirror=yes it maintains a Secret with the same name and data.
//
// The fault: each handler reacts to its event once. An event is only a hint that something may have changed:
// it is lost if the process is down or its watch is interrupted, and the reaction to it may fail. Neither is
// ever repaired. A correct controller adds the object's key to a queue, compares the actual state with the
// desired one whenever the key is processed, and retries until they match. bowlinetest.Explore detects the
// fault.
package edge

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Label selects the ConfigMaps to mirror.
const Label = "mirror=yes"

// Run runs the controller until ctx ends.
func Run(ctx context.Context, config *rest.Config) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = Label }))
	m := mirror{ctx, clients}
	_, err = factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { m.create(obj.(*corev1.ConfigMap)) },
		UpdateFunc: func(_, obj any) { m.update(obj.(*corev1.ConfigMap)) },
		DeleteFunc: func(obj any) {
			if c, ok := obj.(*corev1.ConfigMap); ok {
				m.remove(c)
			}
		},
	})
	if err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	<-ctx.Done()
	factory.Shutdown()
	return nil
}

type mirror struct {
	ctx     context.Context
	clients kubernetes.Interface
}

func (m mirror) create(c *corev1.ConfigMap) {
	_, err := m.clients.CoreV1().Secrets(c.Namespace).Create(m.ctx, secretOf(c), metav1.CreateOptions{})
	m.report("create", err)
}

func (m mirror) update(c *corev1.ConfigMap) {
	_, err := m.clients.CoreV1().Secrets(c.Namespace).Update(m.ctx, secretOf(c), metav1.UpdateOptions{})
	m.report("update", err)
}

func (m mirror) remove(c *corev1.ConfigMap) {
	m.report("delete", m.clients.CoreV1().Secrets(c.Namespace).Delete(m.ctx, c.Name, metav1.DeleteOptions{}))
}

// report logs an error. There is no retry.
func (m mirror) report(what string, err error) {
	if err != nil {
		slog.Debug("cannot "+what+" the mirror", "error", err)
	}
}

func secretOf(c *corev1.ConfigMap) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}, StringData: c.Data}
}
