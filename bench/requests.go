package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// warmUp is the number of requests that are sent before the measurement, to establish connections and warm
// up.
const warmUp = 500

// kibibyte is the content of a ConfigMap.
var kibibyte = strings.Repeat("0123456789abcdef", 64)

func configMap(i int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: configMapName(i)},
		Data:       map[string]string{"data": kibibyte},
	}
}

func configMapName(i int) string { return fmt.Sprintf("bench-%06d", i) }

// drive calls work count times, with numbers from 0, by several concurrent clients. They share one client-go
// transport, like the workers of a controller.
func drive(ctx context.Context, clients, count int, work func(i int) error) error {
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range clients {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= count || ctx.Err() != nil {
					return ctx.Err()
				}
				if err := work(i); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

func createConfigMap(ctx context.Context, client kubernetes.Interface, namespace string) func(i int) error {
	return func(i int) error {
		_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap(i), metav1.CreateOptions{})
		return err
	}
}

func creates(clients, count int, target float64) measurement {
	return requests("create", clients, count, target,
		func(ctx context.Context, client kubernetes.Interface, namespace string) (func(i int) error, error) {
			return createConfigMap(ctx, client, namespace), nil
		})
}

func gets(clients, count int, target float64) measurement {
	return requests("get", clients, count, target,
		func(ctx context.Context, client kubernetes.Interface, namespace string) (func(i int) error, error) {
			const stored = 1_000
			get := func(i int) error {
				_, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, configMap(i%stored).Name, metav1.GetOptions{})
				return err
			}
			return get, drive(ctx, 16, stored, createConfigMap(ctx, client, namespace))
		})
}

// requests measures requests of one verb for ConfigMaps. prepare returns the work.
func requests(verb string, clients, count int, target float64,
	prepare func(ctx context.Context, client kubernetes.Interface, namespace string) (func(i int) error,
		error)) measurement {
	work := fmt.Sprintf("%s ConfigMap of 1 KiB, %s", verb, by(clients))
	return rate(work, fmt.Sprintf("%s-%d", verb, clients), clients, count, target,
		func(ctx context.Context, s *server, namespace string) (func(i int) error, error) {
			client, err := kubernetes.NewForConfig(s.config)
			if err != nil {
				return nil, err
			}
			return prepare(ctx, client, namespace)
		})
}

func by(clients int) string {
	if clients == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", clients)
}

// rate measures requests. prepare returns the work, whose first numbers are used for the warm-up. name is the
// name of profiles.
func rate(work, name string, clients, count int, target float64,
	prepare func(ctx context.Context, s *server, namespace string) (func(i int) error, error)) measurement {
	return measurement{
		figures: []figure{{work, perSecond, target}},
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			request, err := prepare(ctx, s, namespace)
			if err != nil {
				return nil, err
			}
			if err := drive(ctx, clients, warmUp, request); err != nil {
				return nil, err
			}
			took, err := s.measure(name, count, func() error {
				return drive(ctx, clients, count, func(i int) error { return request(warmUp + i) })
			})
			if err != nil {
				return nil, err
			}
			return []reading{took.rate()}, nil
		}),
	}
}
