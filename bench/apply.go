package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// applied is the number of objects that are applied in turn.
const applied = 200

// asBench contains the options of all applies.
var asBench = metav1.ApplyOptions{FieldManager: "bench", Force: true}

// applying applies the object with a number, with a value in the field that changes.
type applying func(ctx context.Context, client kubernetes.Interface, namespace string, object, value int) error

// applies measures server-side apply of objects that were applied before. changes is the number of fields
// that each apply changes.
func applies(kind, how string, count int, target float64, apply applying, changes int) measurement {
	name := fmt.Sprintf("server-side apply of a %s, %s, 16 clients", kind, how)
	return rate(name, fmt.Sprintf("apply-%s-%d", kind, changes), 16, count, target,
		func(ctx context.Context, s *server, namespace string) (func(i int) error, error) {
			client, err := kubernetes.NewForConfig(s.config)
			if err != nil {
				return nil, err
			}
			work := func(i int) error { return apply(ctx, client, namespace, i%applied, changes*(1+i/applied)) }
			return work, drive(ctx, 16, applied, func(i int) error { return apply(ctx, client, namespace, i, 0) })
		})
}

func applyConfigMaps(how string, target float64, changes int) measurement {
	apply := func(ctx context.Context, client kubernetes.Interface, namespace string, object, value int) error {
		cm := corev1ac.ConfigMap(fmt.Sprintf("bench-%06d", object), namespace).
			WithData(map[string]string{"data": kibibyte, "value": fmt.Sprint(value)})
		_, err := client.CoreV1().ConfigMaps(namespace).Apply(ctx, cm, asBench)
		return err
	}
	return applies("ConfigMap", how, 10_000, target, apply, changes)
}

func applyDeployments(how string, target float64, changes int) measurement {
	apply := func(ctx context.Context, client kubernetes.Interface, namespace string, object, value int) error {
		_, err := client.AppsV1().Deployments(namespace).Apply(ctx, deployment(object, namespace, value), asBench)
		return err
	}
	return applies("Deployment", how, 4_000, target, apply, changes)
}

// deployment returns a Deployment with two containers, probes, environment and volumes. Its replicas are
// value.
func deployment(i int, namespace string, value int) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app": fmt.Sprintf("bench-%06d", i)}
	return appsv1ac.Deployment(fmt.Sprintf("bench-%06d", i), namespace).WithLabels(labels).
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(int32(value)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).
				WithSpec(corev1ac.PodSpec().WithContainers(applyContainer("server", 8080),
					applyContainer("proxy", 9090)).
					WithVolumes(corev1ac.Volume().WithName("scratch").WithEmptyDir(corev1ac.EmptyDirVolumeSource())))))
}

func applyContainer(name string, port int32) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().WithName(name).WithImage("registry.example.com/bench/" + name + ":1.2.3").
		WithPorts(corev1ac.ContainerPort().WithName("http").WithContainerPort(port)).
		WithEnv(corev1ac.EnvVar().WithName("LEVEL").WithValue("info")).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("scratch").WithMountPath("/tmp")).
		WithReadinessProbe(corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithPath("/healthz").WithPort(intstr.FromInt32(port))))
}
