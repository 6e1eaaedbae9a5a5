package connect_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/auth/pki"
)

// plane is a plane with a socket and a node whose kubelet is that of the test.
type plane struct {
	*bowline.Plane
	config  *rest.Config
	clients kubernetes.Interface
}

// start starts a plane with the node "real" and the node "simulated". Each pod is on the node of its name's start.
func start(t *testing.T, k *kubelet, change ...func(*bowline.Options)) *plane {
	t.Helper()
	o := bowline.Options{Controllers: []string{bowline.NoControllers}, Listen: "127.0.0.1:0"}
	for _, c := range change {
		c(&o)
	}
	p, err := bowline.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("closing the plane: %v", err)
		}
	})
	config, err := p.SocketConfig()
	if err != nil {
		t.Fatal(err)
	}
	w := &plane{Plane: p, config: config, clients: kubernetes.NewForConfigOrDie(p.RESTConfig())}
	real := corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeExternalIP, Address: "192.0.2.1"}, {Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}}
	real.DaemonEndpoints.KubeletEndpoint.Port = k.port()
	w.addNode(t, "real", real)
	w.addNode(t, "simulated", corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{ContainerRuntimeVersion: "simulated://"}})
	w.addPod(t, "one", "real", "c")
	w.addPod(t, "two", "real", "a", "b", "moved", "starting")
	w.addPod(t, "pretended", "simulated", "c")
	w.addPod(t, "unbound", "", "c")
	return w
}

func (w *plane) addNode(t *testing.T, name string, status corev1.NodeStatus) {
	t.Helper()
	_, err := w.clients.CoreV1().Nodes().Create(t.Context(),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: status}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *plane) addPod(t *testing.T, name, node string, containers ...string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: node}}
	for _, c := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: c, Image: "i"})
	}
	if _, err := w.clients.CoreV1().Pods("default").Create(context.Background(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// overSocket returns clients that use the socket.
func (w *plane) overSocket(t *testing.T) kubernetes.Interface {
	t.Helper()
	client, err := rest.HTTPClientFor(w.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return kubernetes.NewForConfigOrDie(w.config)
}

// verifies makes a plane verify the certificates of kubelets with an authority that signed none, and gives it a client
// certificate.
func verifies(o *bowline.Options) {
	keys, err := pki.New(nil)
	if err != nil {
		panic(err)
	}
	o.Kubelets = keys.KubeletConfig()
	o.Kubelets.RootCAs = keys.Roots()
}
