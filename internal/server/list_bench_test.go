package server_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/bowline-dev/bowline"
)

// BenchmarkListPods lists 10,000 pods of 3 KB over TLS, and counts the bytes.
func BenchmarkListPods(b *testing.B) {
	w := benchTLS(b)
	pods := typed(b, w.config, jsonType).CoreV1().Pods("default")
	for i := range 10_000 {
		must(pods.Create(b.Context(), benchPod(i), metav1.CreateOptions{}))(b)
	}
	const path = "/api/v1/namespaces/default/pods"
	benchList(b, w, "JSON", path, jsonType)
	benchList(b, w, "protobuf", path, protobufType)
	benchList(b, w, "YAML", path+"?limit=500", yamlType)
	benchList(b, w, "Table", path, tableType)
	benchList(b, w, "metadata", path, partialList)
	benchList(b, w, "metadata protobuf", path,
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
	benchList(b, w, "gzip", path, jsonType, "Accept-Encoding", "gzip")
}

// BenchmarkListCustomResources lists 10,000 of them.
func BenchmarkListCustomResources(b *testing.B) {
	w := benchTLS(b)
	w.create(b, definitionsPath, widgetDefinition)
	objects := w.dynamic.Resource(widgetsResource).Namespace("default")
	for i := range 10_000 {
		body := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
			"spec": map[string]any{"size": int64(i%9 + 1), "color": "red"}}
		obj := &unstructured.Unstructured{Object: body}
		obj.SetName(fmt.Sprintf("w-%05d", i))
		obj.SetLabels(map[string]string{"app": "bench", "shard": fmt.Sprint(i % 10)})
		must(objects.Create(b.Context(), obj, metav1.CreateOptions{}))(b)
	}
	benchList(b, w, "JSON", widgetsPath, jsonType)
	benchList(b, w, "label", widgetsPath+"?labelSelector=shard%3D1", jsonType)
	benchList(b, w, "metadata", widgetsPath, partialList)
}

// BenchmarkListSome lists 1,000 of 100,000 config maps of 1 KiB, selected by namespace and by label.
func BenchmarkListSome(b *testing.B) {
	w := benchTLS(b)
	client := typed(b, w.config, jsonType).CoreV1()
	data := string(make([]byte, 0, 1024))
	for range 1024 {
		data += "x"
	}
	for n := range 100 {
		w.namespace(b, fmt.Sprintf("n-%02d", n))
		maps := client.ConfigMaps(fmt.Sprintf("n-%02d", n))
		for i := range 1000 {
			cm := configMap(fmt.Sprintf("m-%04d", i), "k", data)
			cm.Labels = map[string]string{"app": "bench", "shard": fmt.Sprint(i % 100), "tier": "back"}
			must(maps.Create(b.Context(), cm, metav1.CreateOptions{}))(b)
		}
	}
	benchList(b, w, "namespace", "/api/v1/namespaces/n-50/configmaps", jsonType)
	benchList(b, w, "label", "/api/v1/configmaps?labelSelector=shard%3D42", jsonType)
	benchList(b, w, "labels", "/api/v1/configmaps?labelSelector=app%3Dbench,shard+in+(41,42)&limit=1000", jsonType)
	benchList(b, w, "absent", "/api/v1/configmaps?labelSelector=nobody%3Dhas", jsonType)
	benchList(b, w, "page", "/api/v1/configmaps?limit=500", jsonType)
}

// benchTLS is a plane with a socket and no rate limit on its clients, filled in process.
func benchTLS(b *testing.B) *testPlane {
	w := startPlane(b, bowline.Options{Controllers: []string{bowline.NoControllers}, Listen: "127.0.0.1:0"}, nil)
	socket := must(w.SocketConfig())(b)
	socket.DisableCompression = true
	w.connect(b, w.RESTConfig())
	config := w.config
	w.connect(b, socket)
	w.config = config // for the clients that create the objects
	w.dynamic = must(dynamic.NewForConfig(config))(b)
	return w
}

func benchList(b *testing.B, w *testPlane, name, path, accept string, headers ...string) {
	b.Run(name, func(b *testing.B) {
		var n int64
		for b.Loop() {
			req := must(http.NewRequestWithContext(b.Context(), http.MethodGet, w.host+path, nil))(b)
			req.Header.Set("Accept", accept)
			for i := 0; i+1 < len(headers); i += 2 {
				req.Header.Set(headers[i], headers[i+1])
			}
			resp := must(w.wire.Do(req))(b)
			n = must(io.Copy(io.Discard, resp.Body))(b)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				b.Fatalf("answered %d", resp.StatusCode)
			}
		}
		b.ReportMetric(float64(n)/1e6, "MB")
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
	})
}

// benchPod has 3 KB, as pods have.
func benchPod(i int) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("pod-%05d", i), Labels: map[string]string{"app": "bench", "shard": fmt.Sprint(i % 10)},
	}}
	for c := range 2 {
		container := corev1.Container{
			Name: fmt.Sprintf("c%d", c), Image: "registry.example.com/team/service:v1.2.3",
			Args:  []string{"--listen=:8080", "--log-level=info", "--config=/etc/service/config.yaml"},
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9090}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
				Limits:   corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("512Mi")},
			},
		}
		for e := range 8 {
			container.Env = append(container.Env,
				corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", e), Value: "some value that is not too short"})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
	}
	return pod
}
