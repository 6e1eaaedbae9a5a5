package aggregate_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
)

var gadgetResource = schema.GroupVersionResource{Group: "gadgets.example.com", Version: "v1", Resource: "gadgets"}

// TestForwards checks that requests arrive at the aggregated server as the user who sent them, and answers at the
// client.
func TestForwards(t *testing.T) {
	t.Parallel()
	p := start(t, bowline.Options{})
	b := newBackend(t, p.frontProxy(t))
	type seen struct {
		path, user, name, authorization string
		groups                          []string
	}
	requests := make(chan seen, 10)
	b.answer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi/v3" {
			http.NotFound(w, r)
			return
		}
		requests <- seen{r.URL.RequestURI(), r.Header.Get("X-Remote-User"), r.TLS.PeerCertificates[0].Subject.CommonName,
			r.Header.Get("Authorization"), r.Header.Values("X-Remote-Group")}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"gadgets.example.com/v1","kind":"GadgetList","metadata":{"resourceVersion":"7"},"items":[`+
			`{"apiVersion":"gadgets.example.com/v1","kind":"Gadget","metadata":{"name":"a","namespace":"default","resourceVersion":"7"}}]}`)
	})
	p.register(t, b)
	p.waitFor(t, "Passed")

	list, err := dynamic.NewForConfigOrDie(p.RESTConfig()).Resource(gadgetResource).Namespace("default").
		List(t.Context(), metav1.ListOptions{LabelSelector: "a=b"})
	if err != nil || len(list.Items) != 1 || list.Items[0].GetName() != "a" {
		t.Fatalf("list: %v %v", list, err)
	}
	got := <-requests
	objects, err := p.Source().List(t.Context(), gadgetResource, client.Options{})
	if <-requests; err != nil || len(objects.Items) != 1 {
		t.Errorf("the source of controllers: %v %v", objects, err)
	}
	if got.path != "/apis/gadgets.example.com/v1/namespaces/default/gadgets?labelSelector=a%3Db" ||
		got.user != "bowline-admin" || got.name != "front-proxy-client" ||
		strings.Join(got.groups, ",") != "system:masters,system:authenticated" {
		t.Errorf("the server saw %+v", got)
	}
	// Headers of a client must not make it another user.
	code, _ := p.get(t, "/apis/gadgets.example.com/v1/gadgets", "X-Remote-User", "eve", "X-Remote-Group", "kings",
		"X-Remote-Extra-Scopes", "all", "Authorization", "Basic eDp5")
	if got = <-requests; code != http.StatusOK || got.user != "bowline-admin" || got.authorization != "" ||
		strings.Contains(strings.Join(got.groups, ","), "kings") {
		t.Errorf("%d, the server saw %+v", code, got)
	}
	other, err := p.IssueClient("mallory")
	if err != nil {
		t.Fatal(err)
	}
	_, err = dynamic.NewForConfigOrDie(other).Resource(gadgetResource).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || len(requests) > 0 {
		t.Errorf("a user without rights: %v", err)
	}
}

// TestDocuments checks that discovery lists what the aggregated server lists.
func TestDocuments(t *testing.T) {
	t.Parallel()
	p := start(t, bowline.Options{})
	b := newBackend(t, p.frontProxy(t))
	b.answer(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.RequestURI() {
		case "/openapi/v3":
			io.WriteString(w, `{"paths":{"apis/gadgets.example.com/v1":{"serverRelativeURL":`+
				`"/openapi/v3/apis/gadgets.example.com/v1?hash=AB"},"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=lie"}}}`)
		case "/openapi/v3/apis/gadgets.example.com/v1?hash=AB":
			if r.Header.Get("X-Remote-User") != "bowline-admin" {
				t.Errorf("OpenAPI was requested as %q", r.Header.Get("X-Remote-User"))
			}
			io.WriteString(w, `{"openapi":"3.0.0","info":{"title":"gadgets"}}`)
		default:
			http.NotFound(w, r)
		}
	})
	p.register(t, b)
	p.waitFor(t, "Passed")

	resources, err := p.clients.Discovery().ServerResourcesForGroupVersion("gadgets.example.com/v1")
	if err != nil || len(resources.APIResources) != 2 {
		t.Errorf("resources: %+v, %v", resources, err)
	}
	groups, lists, err := p.clients.Discovery().ServerGroupsAndResources() // the aggregated form
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, g := range groups {
		at[g.Name] = i
	}
	if at["gadgets.example.com"] != at["storagemigration.k8s.io"]+1 {
		t.Errorf("order of groups: %v", at)
	}
	found := false
	for _, list := range lists {
		found = found || list.GroupVersion == "gadgets.example.com/v1" && len(list.APIResources) == 2 &&
			list.APIResources[0].Namespaced && list.APIResources[1].Name == "gadgets/status"
	}
	if !found {
		t.Errorf("the aggregated documents lack gadgets: %+v", lists)
	}
	paths, err := p.clients.Discovery().OpenAPIV3().Paths()
	if err != nil || paths["apis/gadgets.example.com/v1"] == nil {
		t.Fatalf("OpenAPI: %v, %v", paths, err)
	}
	document, err := paths["apis/gadgets.example.com/v1"].Schema("application/json")
	if err != nil || !strings.Contains(string(document), "gadgets") {
		t.Errorf("OpenAPI document: %s, %v", document, err)
	}
	if _, body := p.get(t, "/openapi/v3"); strings.Contains(body, "hash=lie") {
		t.Error("a server changed the document of another group")
	}
	// The group disappears with its APIService.
	if err := p.services.Delete(t.Context(), "", "v1.gadgets.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		_, body := p.get(t, "/apis")
		if !strings.Contains(body, "gadgets") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("/apis still lists the group")
		}
	}
	if code, _ := p.get(t, "/apis/gadgets.example.com/v1/gadgets"); code != http.StatusNotFound {
		t.Errorf("after the delete: %d", code)
	}
}

// TestAvailability follows the condition through what can be wrong with a server.
func TestAvailability(t *testing.T) {
	t.Parallel()
	p := start(t, bowline.Options{})
	b := newBackend(t, p.frontProxy(t))
	p.registerAt(t, b.port, b.keys.AuthorityPEM())
	if c := p.waitFor(t, "ServiceNotFound"); c.Status != "False" || c.Message != `service/api in "default" is not present` {
		t.Errorf("without a Service: %+v", c)
	}
	code, body := p.get(t, "/apis/gadgets.example.com/v1/gadgets")
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "ServiceNotFound") {
		t.Errorf("without a Service: %d %s", code, body)
	}
	if err := p.services.Delete(t.Context(), "", "v1.gadgets.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.list(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	p.register(t, b)
	if c := p.waitFor(t, "FailedDiscoveryCheck"); !strings.Contains(c.Message, "bad status from https://localhost:"+
		itoa(b.port)+"/apis/gadgets.example.com/v1: 418") {
		t.Errorf("an error: %+v", c)
	}
	b.list(sendGadgets)
	if c := p.waitFor(t, "Passed"); c.Status != "True" || c.Message != "all checks passed" {
		t.Errorf("a server that recovered: %+v", c)
	}
	if err := p.clients.CoreV1().Services("default").Delete(t.Context(), "api", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.waitFor(t, "ServiceNotFound")
}

// TestHangsAndLies checks that a bad server harms its own group only.
func TestHangsAndLies(t *testing.T) {
	t.Parallel()
	for name, lists := range map[string]http.HandlerFunc{
		"hangs":             func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"sends without end": func(w http.ResponseWriter, r *http.Request) { io.Copy(w, endless{}) },
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://192.0.2.1/", http.StatusFound)
		},
		"aborts": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"sends a million values": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"resources":[`+strings.Repeat("{},", 300_000)+`{}]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, bowline.Options{})
			b := newBackend(t, p.frontProxy(t))
			b.list(lists)
			p.register(t, b)
			p.waitFor(t, "FailedDiscoveryCheck")
			began := time.Now()
			code, body := p.get(t, "/apis")
			if code != http.StatusOK || !strings.Contains(body, "gadgets.example.com") || !strings.Contains(body, "apps") ||
				time.Since(began) > 2*time.Second {
				t.Errorf("/apis: %d after %v", code, time.Since(began))
			}
			if code, _ := p.get(t, "/apis/gadgets.example.com/v1/gadgets"); code != http.StatusServiceUnavailable {
				t.Errorf("the group: %d", code)
			}
			if _, err := p.clients.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// TestAnswers checks what clients get for the answers of a server.
func TestAnswers(t *testing.T) {
	t.Parallel()
	p := start(t, bowline.Options{})
	b := newBackend(t, p.frontProxy(t))
	p.register(t, b)
	p.waitFor(t, "Passed")
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		code   int
		text   string
	}{
		"an error of the server": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			io.WriteString(w, "as it is")
		}, http.StatusConflict, "as it is"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://192.0.2.1/", http.StatusFound)
		}, http.StatusBadGateway, "the backend attempted to redirect this request, which is not permitted"},
		"an abort": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			http.StatusServiceUnavailable, "error trying to reach the server of APIService v1.gadgets.example.com"},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			http.StatusGatewayTimeout, "the server of APIService v1.gadgets.example.com did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			b.answer(c.answer)
			code, body := p.get(t, "/apis/gadgets.example.com/v1/gadgets/a?timeout=1s")
			if code != c.code || !strings.Contains(body, c.text) {
				t.Errorf("%d %s", code, body)
			}
		})
	}
}

// TestStreams checks that events of an aggregated server arrive as it sends them, and that an upgrade is forwarded.
func TestStreams(t *testing.T) {
	t.Parallel()
	p := start(t, bowline.Options{})
	b := newBackend(t, p.frontProxy(t))
	next := make(chan string)
	b.answer(func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("watch") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		http.NewResponseController(w).Flush()
		for {
			select {
			case name := <-next:
				fmt.Fprintf(w, `{"type":"ADDED","object":{"apiVersion":"gadgets.example.com/v1","kind":"Gadget",`+
					`"metadata":{"name":%q}}}`+"\n", name)
				http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	p.register(t, b)
	p.waitFor(t, "Passed")
	for _, config := range []string{"in process", "socket"} {
		c := p.RESTConfig()
		if config == "socket" {
			c = p.socket
		}
		w, err := dynamic.NewForConfigOrDie(c).Resource(gadgetResource).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatalf("%s: %v", config, err)
		}
		for _, name := range []string{"a", "b"} {
			next <- name
			event := <-w.ResultChan()
			if object, _ := event.Object.(metav1.Object); object == nil || object.GetName() != name {
				t.Errorf("%s: event %+v", config, event)
			}
		}
		w.Stop()
	}
	b.answer(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "echo" || r.Header.Get("X-Remote-User") != "bowline-admin" {
			http.Error(w, "no upgrade", http.StatusBadRequest)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		io.Copy(conn, conn)
	})
	conn := dialUpgrade(t, p, "/apis/gadgets.example.com/v1/namespaces/default/gadgets/a/console")
	io.WriteString(conn, "hello\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); line != "hello\n" {
		t.Errorf("echo: %q, %v", line, err)
	}
}

// TestLocalServices checks that each group version of this server has an APIService, and only those.
func TestLocalServices(t *testing.T) {
	t.Parallel()
	p := start(t, bowline.Options{})
	definitions := apiextensions.NewForConfigOrDie(p.RESTConfig()).ApiextensionsV1().CustomResourceDefinitions()
	names := func() map[string]string {
		list, err := p.services.List(t.Context(), "", metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, s := range list.Items {
			all[s.Name] = s.Labels["kube-aggregator.kubernetes.io/automanaged"] + " " + s.Status.Conditions[0].Reason
		}
		return all
	}
	if got := names(); got["v1."] != "onstart Local" || got["v2.autoscaling"] != "onstart Local" ||
		got["v1.apiregistration.k8s.io"] != "" {
		t.Errorf("at the start: %v", got)
	}
	keep := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &keep}}}},
		},
	}
	if _, err := definitions.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := names()["v1.example.com"]; got != "true Local" {
		t.Errorf("after a definition was created: %q", got)
	}
	if err := definitions.Delete(t.Context(), crd.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, still := names()["v1.example.com"]; still {
		t.Errorf("after the definition was deleted: %q", got)
	}
}
