package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// shares is the number of namespaces, and of label values, among which the objects are distributed.
const shares = 100

// selectedLists creates 100,000 ConfigMaps and lists a hundredth of them: those in a namespace, and those
// with a label, which are in all namespaces.
func selectedLists() measurement {
	return measurement{
		figures: []figure{
			{"list 1,000 of 100,000 ConfigMaps by namespace", milliseconds, 10},
			{"list 1,000 of 100,000 ConfigMaps by label", milliseconds, 15},
		},
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			client, err := speaking(s.config, runtime.ContentTypeJSON)
			if err != nil {
				return nil, err
			}
			if err := fillShares(ctx, client, namespace); err != nil {
				return nil, err
			}
			maps := client.CoreV1().RESTClient()
			const least = many / shares * 1024
			byNamespace, err := timeList(ctx, s, "list-by-namespace", 1, repeats, least, func() *rest.Request {
				return maps.Get().Namespace(share(namespace, 7)).Resource("configmaps")
			})
			if err != nil {
				return nil, err
			}
			byLabel, err := timeList(ctx, s, "list-by-label", 1, repeats, least, func() *rest.Request {
				return maps.Get().Resource("configmaps").Param("labelSelector", "share=7")
			})
			return []reading{byNamespace, byLabel}, err
		}),
	}
}

func share(prefix string, n int) string { return fmt.Sprintf("%s-%02d", prefix, n) }

func fillShares(ctx context.Context, client kubernetes.Interface, prefix string) error {
	for n := range shares {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: share(prefix, n)}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return drive(ctx, 16, many, func(i int) error {
		cm := configMap(i)
		cm.Labels = map[string]string{"share": fmt.Sprint(i / shares % shares)}
		_, err := client.CoreV1().ConfigMaps(share(prefix, i%shares)).Create(ctx, cm, metav1.CreateOptions{})
		return err
	})
}
