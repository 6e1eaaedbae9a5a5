package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// createsUnderQuota measures creates in a namespace with a ResourceQuota that counts them.
func createsUnderQuota(clients, count int, target float64) measurement {
	return rate("create ConfigMap of 1 KiB under a quota, "+by(clients), fmt.Sprintf("quota-%d", clients), clients, count,
		target, func(ctx context.Context, s *server, namespace string) (func(i int) error, error) {
			client, err := kubernetes.NewForConfig(s.config)
			if err != nil {
				return nil, err
			}
			return createConfigMap(ctx, client, namespace), awaitQuota(ctx, client, namespace,
				corev1.ResourceList{"configmaps": resource.MustParse("1000000")})
		})
}

// awaitQuota creates a quota and waits until its controller has counted what it limits.
func awaitQuota(ctx context.Context, client kubernetes.Interface, namespace string, hard corev1.ResourceList) error {
	quotas := client.CoreV1().ResourceQuotas(namespace)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "bench"}}
	quota.Spec.Hard = hard
	created, err := quotas.Create(ctx, quota, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	events, err := quotas.Watch(ctx, metav1.ListOptions{ResourceVersion: created.ResourceVersion})
	if err != nil {
		return err
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		if q, ok := e.Object.(*corev1.ResourceQuota); ok && e.Type == watch.Modified && len(q.Status.Used) > 0 {
			return nil
		}
	}
	return fmt.Errorf("watching the quota in namespace %s: the server ended the watch before the quota was counted",
		namespace)
}
