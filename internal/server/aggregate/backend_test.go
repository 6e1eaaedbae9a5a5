package aggregate_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/auth/pki"
)

// plane is a plane with a socket.
type plane struct {
	*bowline.Plane
	clients  kubernetes.Interface
	services client.Resource[*apiregistrationv1.APIService]
	socket   *rest.Config
}

func start(t *testing.T, o bowline.Options) *plane {
	t.Helper()
	o.Controllers, o.Listen = []string{bowline.NoControllers}, "127.0.0.1:0"
	p, err := bowline.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("closing the plane: %v", err)
		}
	})
	c, err := client.New(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	socket, err := p.SocketConfig()
	if err != nil {
		t.Fatal(err)
	}
	return &plane{p, kubernetes.NewForConfigOrDie(p.RESTConfig()),
		client.Of[*apiregistrationv1.APIService](c, apiregistrationv1.SchemeGroupVersion.WithResource("apiservices")),
		socket}
}

// backend is an aggregated API server, which lists one resource, gadgets.
type backend struct {
	handler atomic.Pointer[http.HandlerFunc] // of everything but the list of resources
	lists   atomic.Pointer[http.HandlerFunc]
	port    int32
	keys    *pki.Keeper
}

var gadgets = metav1.APIResourceList{
	TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "gadgets.example.com/v1",
	APIResources: []metav1.APIResource{
		{Name: "gadgets", SingularName: "gadget", Namespaced: true, Kind: "Gadget", Verbs: []string{"get", "list", "watch"}},
		{Name: "gadgets/status", Namespaced: true, Kind: "Gadget", Verbs: []string{"get"}},
	},
}

func sendGadgets(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(&gadgets)
}

// newBackend starts a server with a certificate for the Service api in the namespace default. It verifies the
// certificates of clients with an authority in PEM.
func newBackend(t *testing.T, frontProxy string) *backend {
	t.Helper()
	keys, err := pki.New([]string{"api.default.svc"})
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{keys: keys}
	b.answer(http.NotFound)
	b.list(sendGadgets)
	config := keys.ServerConfig()
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	config.ClientCAs.AppendCertsFromPEM([]byte(frontProxy))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.port = int32(listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{TLSConfig: config, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis/gadgets.example.com/v1" {
			(*b.lists.Load())(w, r)
			return
		}
		(*b.handler.Load())(w, r)
	})}
	go server.ServeTLS(listener, "", "")
	t.Cleanup(func() { server.Close() })
	return b
}

func (b *backend) answer(h http.HandlerFunc) { b.handler.Store(&h) }
func (b *backend) list(h http.HandlerFunc)   { b.lists.Store(&h) }

// register creates the Service of a backend and its APIService.
func (p *plane) register(t *testing.T, b *backend) {
	t.Helper()
	_, err := p.clients.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "api"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.registerAt(t, b.port, b.keys.AuthorityPEM())
}

func (p *plane) registerAt(t *testing.T, port int32, authority []byte) {
	t.Helper()
	s := &apiregistrationv1.APIService{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService"},
		ObjectMeta: metav1.ObjectMeta{Name: "v1.gadgets.example.com"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "gadgets.example.com", Version: "v1", GroupPriorityMinimum: 2000, VersionPriority: 15,
			CABundle: authority,
			Service:  &apiregistrationv1.ServiceReference{Namespace: "default", Name: "api", Port: &port},
		},
	}
	if _, err := p.services.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// waitFor waits until the condition Available has a reason, and returns it.
func (p *plane) waitFor(t *testing.T, reason string) apiregistrationv1.APIServiceCondition {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	list, err := p.services.List(ctx, "", metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.services.Watch(ctx, "", metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var last apiregistrationv1.APIServiceCondition
	is := func(s *apiregistrationv1.APIService) bool {
		for _, c := range s.Status.Conditions {
			if s.Name == "v1.gadgets.example.com" && c.Type == apiregistrationv1.Available {
				last = c
				return c.Reason == reason
			}
		}
		return false
	}
	for _, s := range list.Items {
		if is(s) {
			return last
		}
	}
	for {
		_, s, err := w.Next()
		if err != nil {
			t.Fatalf("condition %+v does not get the reason %s: %v", last, reason, err)
		}
		if is(s) {
			return last
		}
	}
}

// frontProxy returns the authority with which aggregated servers verify the plane.
func (p *plane) frontProxy(t *testing.T) string {
	t.Helper()
	config, err := p.clients.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication",
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return config.Data["requestheader-client-ca-file"]
}

// get requests a path over the socket, and returns the code and the body.
func (p *plane) get(t *testing.T, path string, headers ...string) (int, string) {
	t.Helper()
	transport, err := rest.HTTPClientFor(p.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.socket.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := transport.Do(r)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer answer.Body.Close()
	body := make([]byte, 1<<20)
	n := 0
	for n < len(body) {
		m, err := answer.Body.Read(body[n:])
		n += m
		if err != nil {
			break
		}
	}
	return answer.StatusCode, string(body[:n])
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
