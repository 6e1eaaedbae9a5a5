package main

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline/internal/plugins"
)

// admissionTurns is the number of times that each of two servers is measured. They alternate.
const admissionTurns = 8

// throughPlugins measures creates by 16 clients on a server with its default admission plugins, relative to those on a
// server without any plugin. work returns the creates in a namespace, and prepare adds what the plugins apply there.
func throughPlugins(what string, count int, target float64,
	prepare func(ctx context.Context, client kubernetes.Interface, namespace string) error,
	work func(ctx context.Context, client kubernetes.Interface, namespace string) func(i int) error) measurement {
	return measurement{
		figures: []figure{{what, percent, target}},
		starts:  true,
		run: func(ctx context.Context, l *lab) (readings []reading, err error) {
			var servers [2]*server
			var creates [2]func(i int) error
			without := "-" + strings.Join(plugins.Names(), ",-")
			for i, flags := range [][]string{nil, {"--admission", without}} {
				// The scheduler would write the status of each Pod on both servers, in the time of later creates.
				s, err := l.server(ctx, append(flags, "--controllers", "*,-scheduler")...)
				if err != nil {
					return nil, err
				}
				defer func() { err = errors.Join(err, s.stop(context.WithoutCancel(ctx))) }()
				servers[i] = s
				namespace, err := s.namespace(ctx)
				if err != nil {
					return nil, err
				}
				client, err := speaking(s.config, runtime.ContentTypeProtobuf)
				if err != nil {
					return nil, err
				}
				if i == 0 {
					err = prepare(ctx, client, namespace)
				}
				creates[i] = work(ctx, client, namespace)
				if err := errors.Join(err, drive(ctx, 16, warmUp, creates[i])); err != nil {
					return nil, err
				}
			}
			var took [2]time.Duration
			stop, err := servers[0].profileBoth("plugins")
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, stop()) }()
			for turn := range admissionTurns {
				for side := range creates {
					side ^= turn & 1 // the first one alternates
					start := time.Now()
					if err := drive(ctx, 16, count/admissionTurns, func(i int) error {
						return creates[side](warmUp + turn*(count/admissionTurns) + i)
					}); err != nil {
						return nil, err
					}
					took[side] += time.Since(start)
				}
			}
			return []reading{{Value: 100 * took[1].Seconds() / took[0].Seconds()}}, nil
		},
	}
}

// configMapsThroughPlugins measures creates to which no default plugin applies anything.
func configMapsThroughPlugins() measurement {
	return throughPlugins("create ConfigMap of 1 KiB, 16 clients: all default plugins, relative to none", 24_000, 95,
		func(context.Context, kubernetes.Interface, string) error { return nil }, createConfigMap)
}

// podsThroughPlugins measures creates of Pods to which LimitRanger, ServiceAccount, PodSecurity, Priority and
// ResourceQuota apply.
func podsThroughPlugins() measurement {
	return throughPlugins("create Pod as protobuf, 16 clients: limits, account, security, priority, quota, relative to none",
		12_000, 80, regulate, createPod)
}

// regulate creates in a namespace what the plugins apply to Pods. The first Pods wait for the service account.
func regulate(ctx context.Context, client kubernetes.Interface, namespace string) error {
	if _, err := client.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "bench"}, Value: 100, GlobalDefault: true,
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := client.CoreV1().Namespaces().Patch(ctx, namespace, "application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"baseline"}}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	ranges := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "bench"}}
	ranges.Spec.Limits = []corev1.LimitRangeItem{{
		Type:    corev1.LimitTypeContainer,
		Default: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		Max:     corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
	}}
	if _, err := client.CoreV1().LimitRanges(namespace).Create(ctx, ranges, metav1.CreateOptions{}); err != nil {
		return err
	}
	return awaitQuota(ctx, client, namespace, corev1.ResourceList{
		"pods": resource.MustParse("1000000"), "requests.cpu": resource.MustParse("1000000"),
		"limits.memory": resource.MustParse("1Pi"),
	})
}
