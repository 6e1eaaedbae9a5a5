package main

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// pod returns a Pod as a Deployment of two containers creates it. With defaults it is 3.3 KB of JSON, without
// managedFields.
func pod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:        fmt.Sprintf("bench-%06d", i),
			Labels:      map[string]string{"app": "bench", "pod-template-hash": "6d4cf56db6", "tier": "front"},
			Annotations: map[string]string{"example.com/config": strings.Repeat("0123456789abcdef", 23)},
		},
		Spec: corev1.PodSpec{
			Containers:         []corev1.Container{container("server", 8080), container("proxy", 9090)},
			NodeSelector:       map[string]string{"kubernetes.io/os": "linux"},
			ServiceAccountName: "default",
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "bench-config"}}}},
				{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		},
	}
}

func container(name string, port int32) corev1.Container {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz",
		Port: intstr.FromInt32(port)}}}
	return corev1.Container{
		Name: name, Image: "registry.example.com/bench/" + name + ":1.2.3",
		Args:  []string{"--listen", fmt.Sprintf(":%d", port), "--config", "/etc/bench/config.yaml"},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port}},
		Env: []corev1.EnvVar{
			{Name: "LEVEL", Value: "info"},
			{Name: "NODE",
				ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"),
				corev1.ResourceMemory: resource.MustParse("64Mi")},
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/bench"},
			{Name: "scratch", MountPath: "/tmp"}},
		ReadinessProbe: probe, LivenessProbe: probe.DeepCopy(),
	}
}

// speaking returns a typed client that sends and requests one content type.
func speaking(config *rest.Config, contentType string) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = contentType, contentType
	return kubernetes.NewForConfig(config)
}

func createPod(ctx context.Context, client kubernetes.Interface, namespace string) func(i int) error {
	return func(i int) error {
		_, err := client.CoreV1().Pods(namespace).Create(ctx, pod(i), metav1.CreateOptions{})
		return err
	}
}

func createPods(form, contentType string, target float64) measurement {
	return rate(fmt.Sprintf("create Pod of 3.3 KB as %s, 16 clients", form), "create-pod-"+form, 16, 8_000, target,
		func(ctx context.Context, s *server, namespace string) (func(i int) error, error) {
			client, err := speaking(s.config, contentType)
			if err != nil {
				return nil, err
			}
			return createPod(ctx, client, namespace), nil
		})
}

// listPods writes Pods as JSON and lists them as JSON, and then as protobuf, the first time and repeatedly.
func listPods() measurement {
	return measurement{
		figures: []figure{
			{"list 10,000 Pods: JSON, written as JSON", milliseconds, 90},
			{"list 10,000 Pods: asked for as protobuf, cold", milliseconds, 1_200},
			{"list 10,000 Pods: protobuf, warm", milliseconds, 60},
		},
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			client, err := speaking(s.config, runtime.ContentTypeJSON)
			if err != nil {
				return nil, err
			}
			if err := drive(ctx, 16, listed, createPod(ctx, client, namespace)); err != nil {
				return nil, err
			}
			list := func(media string) *rest.Request {
				return client.CoreV1().RESTClient().Get().Namespace(namespace).Resource("pods").SetHeader("Accept",
					media)
			}
			asJSON, err := timeList(ctx, s, "list-pods-json", 1, repeats, listed*3_000, func() *rest.Request {
				return list(runtime.ContentTypeJSON)
			})
			if err != nil {
				return nil, err
			}
			protobuf := func() *rest.Request { return list(runtime.ContentTypeProtobuf) }
			cold, err := timeList(ctx, s, "list-pods-protobuf-cold", 0, 1, listed*1_000, protobuf)
			if err != nil {
				return nil, err
			}
			warm, err := timeList(ctx, s, "list-pods-protobuf-warm", 0, repeats, listed*1_000, protobuf)
			return []reading{asJSON, cold, warm}, err
		}),
	}
}
