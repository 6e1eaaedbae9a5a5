package aggregation

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
)

var (
	wardle      = schema.GroupVersion{Group: "wardle.example.com", Version: "v1alpha1"}
	apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// fixture is a Bowline server with a sample API server behind it.
type fixture struct {
	testing.TB
	config   *rest.Config
	typed    kubernetes.Interface
	objects  dynamic.Interface
	flunders dynamic.NamespaceableResourceInterface
	address  string   // of the sample server
	sample   []string // its arguments
}

// TestSampleServer uses a sample API server through Bowline.
func TestSampleServer(t *testing.T) {
	f := newFixture(t)
	kill := start(t, "sample-apiserver", f.sample...)
	f.awaitAvailable(metav1.ConditionTrue)
	t.Run("verbs", func(t *testing.T) { f.in(t).useVerbs() })
	t.Run("discovery", func(t *testing.T) { f.in(t).discover() })
	t.Run("identities", func(t *testing.T) { f.in(t).useOwnIdentity() })
	t.Run("deletions", func(t *testing.T) { f.in(t).deleteNamespaceAndOwner() })
	t.Run("outage", func(t *testing.T) { f.in(t).survive(kill) })
}

// in returns the fixture for a subtest.
func (f fixture) in(t *testing.T) fixture {
	f.TB = t
	return f
}

// newFixture starts etcd and Bowline, and registers a sample server that is not running yet.
func newFixture(t testing.TB) fixture {
	folder, peer, clients, own := t.TempDir(), freeAddress(t), freeAddress(t), freeAddress(t)
	start(t, "etcd", "--data-dir", filepath.Join(folder, "etcd"), "--listen-client-urls", "http://"+clients,
		"--advertise-client-urls", "http://"+clients, "--listen-peer-urls", "http://"+peer,
		"--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster", "default=http://"+peer)
	kubeconfig := filepath.Join(folder, "kubeconfig")
	start(t, "bowline", "up", "--ephemeral", "--listen", "127.0.0.1:0", "--kubeconfig", kubeconfig)
	awaitFile(t, kubeconfig)
	f := fixture{TB: t, address: own}
	f.config = must[*rest.Config](t)(clientcmd.BuildConfigFromFlags("", kubeconfig))
	f.config.QPS = -1
	f.config.WarningHandler = rest.NoWarnings{} // the sample server says in each answer that flunders are deprecated
	f.typed, f.objects = kubernetes.NewForConfigOrDie(f.config), dynamic.NewForConfigOrDie(f.config)
	f.flunders = f.objects.Resource(wardle.WithResource("flunders"))

	certificate, key, err := cert.GenerateSelfSignedCertKey("wardle.default.svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, port, _ := net.SplitHostPort(own)
	f.sample = []string{"--etcd-servers", "http://" + clients, "--bind-address", "127.0.0.1", "--secure-port", port,
		"--tls-cert-file", filepath.Join(folder, "tls.crt"), "--tls-private-key-file", filepath.Join(folder, "tls.key"),
		"--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig}
	f.create(f.objects.Resource(corev1.SchemeGroupVersion.WithResource("services")).Namespace("default"),
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"wardle"},
		"spec":{"type":"ExternalName","externalName":"localhost"}}`)
	f.create(f.objects.Resource(apiServices), fmt.Sprintf(`{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService",
		"metadata":{"name":"v1alpha1.wardle.example.com"},"spec":{"group":"wardle.example.com","version":"v1alpha1",
		"groupPriorityMinimum":1000,"versionPriority":15,"caBundle":%q,
		"service":{"namespace":"default","name":"wardle","port":%s}}}`, base64.StdEncoding.EncodeToString(certificate), port))
	return f
}

func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// create creates an object from JSON.
func (f fixture) create(in dynamic.ResourceInterface, text string) *unstructured.Unstructured {
	f.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(text)); err != nil {
		f.Fatal(err)
	}
	return must[*unstructured.Unstructured](f.TB)(in.Create(f.Context(), object, metav1.CreateOptions{}))
}

// flunder returns a flunder with more metadata, which starts with a comma.
func flunder(name, more string) string {
	return `{"apiVersion":"wardle.example.com/v1alpha1","kind":"Flunder","metadata":{"name":"` + name + `"` + more +
		`},"spec":{"reference":"other"}}`
}

// await watches an object, which exists, until reached returns true for it; nil stands for an object that is deleted.
func (f fixture) await(in dynamic.ResourceInterface, name string, reached func(*unstructured.Unstructured) bool) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 2*time.Minute)
	defer cancel()
	only := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
	for ctx.Err() == nil {
		list, err := in.List(ctx, only)
		if err != nil {
			f.Fatal(err)
		}
		if len(list.Items) == 0 && reached(nil) || len(list.Items) == 1 && reached(&list.Items[0]) {
			return
		}
		since := only
		since.ResourceVersion = list.GetResourceVersion()
		events, err := in.Watch(ctx, since)
		if err != nil {
			f.Fatal(err)
		}
		for e := range events.ResultChan() {
			object, ok := e.Object.(*unstructured.Unstructured)
			if e.Type == "DELETED" {
				object = nil
			}
			if ok && reached(object) {
				events.Stop()
				return
			}
		}
	}
	f.Fatalf("%s is not as expected after two minutes", name)
}

// isGone reports whether an object is deleted.
func isGone(object *unstructured.Unstructured) bool { return object == nil }

// awaitAvailable waits until the condition Available of the APIService has a status.
func (f fixture) awaitAvailable(want metav1.ConditionStatus) {
	f.Helper()
	f.await(f.objects.Resource(apiServices), "v1alpha1.wardle.example.com", func(s *unstructured.Unstructured) bool {
		conditions, _, _ := unstructured.NestedSlice(s.Object, "status", "conditions")
		for _, c := range conditions {
			if c := c.(map[string]any); c["type"] == "Available" {
				return c["status"] == string(want)
			}
		}
		return false
	})
}

// useVerbs sends a request for each verb.
func (f fixture) useVerbs() {
	ctx, in := f.Context(), f.flunders.Namespace("default")
	created := f.create(in, flunder("a", `,"labels":{"color":"red"}`))
	watched := must[*unstructured.UnstructuredList](f.TB)(in.List(ctx, metav1.ListOptions{LabelSelector: "color=red"}))
	if len(watched.Items) != 1 {
		f.Errorf("list: got %d flunders, want one", len(watched.Items))
	}
	patched := must[*unstructured.Unstructured](f.TB)(in.Patch(ctx, "a", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"color":"blue"}}}`), metav1.PatchOptions{}))
	if patched.GetUID() != created.GetUID() || patched.GetLabels()["color"] != "blue" {
		f.Errorf("patch: got %v", patched.Object)
	}
	patched.SetManagedFields(nil)
	applied := must[*unstructured.Unstructured](f.TB)(in.Apply(ctx, "a", patched.DeepCopy(), metav1.ApplyOptions{
		FieldManager: "test", Force: true}))
	applied.SetAnnotations(map[string]string{"updated": "yes"})
	must[*unstructured.Unstructured](f.TB)(in.Update(ctx, applied, metav1.UpdateOptions{}))
	if _, err := in.Update(ctx, created, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		f.Errorf("update of an old version: got error %v, want a conflict", err)
	}
	if err := in.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		f.Error(err)
	}
	f.await(in, "a", isGone)
	if _, err := in.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		f.Errorf("get after delete: got error %v, want NotFound", err)
	}
	table, err := f.typed.CoreV1().RESTClient().Get().AbsPath("/apis", wardle.String(), "flunders").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if err != nil || !strings.Contains(string(table), "columnDefinitions") {
		f.Errorf("list as a table: got %s, error %v", table, err)
	}
}

// discover reads the discovery and OpenAPI documents.
func (f fixture) discover() {
	_, lists, err := f.typed.Discovery().ServerGroupsAndResources()
	if err != nil {
		f.Fatal(err)
	}
	var found []string
	for _, list := range lists {
		for _, r := range list.APIResources {
			if list.GroupVersion == wardle.String() {
				found = append(found, r.Name)
			}
		}
	}
	if got := strings.Join(found, " "); got != "fischers flunders flunders/status" && got != "fischers flunders" {
		f.Errorf("discovery has the resources %q", got)
	}
	document, err := openapi3.NewRoot(f.typed.Discovery().OpenAPIV3()).GVSpec(wardle)
	if err != nil {
		f.Fatal(err)
	}
	if path := "/apis/" + wardle.String() + "/namespaces/{namespace}/flunders/{name}"; document.Paths.Paths[path] == nil {
		f.Errorf("OpenAPI v3 lacks %s", path)
	}
}

// useOwnIdentity sends a request as a service account, about whose rights the sample server asks Bowline.
func (f fixture) useOwnIdentity() {
	accounts := f.typed.CoreV1().ServiceAccounts("default")
	if _, err := accounts.Create(f.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}},
		metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	token, err := accounts.CreateToken(f.Context(), "reader", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
	as := rest.AnonymousClientConfig(f.config)
	as.BearerToken = token.Status.Token
	_, err = dynamic.NewForConfigOrDie(as).Resource(wardle.WithResource("flunders")).Namespace("default").List(f.Context(),
		metav1.ListOptions{})
	const user = `User "system:serviceaccount:default:reader" cannot list resource "flunders"`
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), user) {
		f.Errorf("list by an account without rights: got error %v", err)
	}
}

// deleteNamespaceAndOwner checks that flunders are deleted with their namespace and with their owner.
func (f fixture) deleteNamespaceAndOwner() {
	ctx, namespaces := f.Context(), f.objects.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	f.create(namespaces, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"doomed"}}`)
	f.create(f.flunders.Namespace("doomed"), flunder("inside", ""))
	if err := namespaces.Delete(ctx, "doomed", metav1.DeleteOptions{}); err != nil {
		f.Fatal(err)
	}
	f.await(namespaces, "doomed", isGone)
	f.await(f.flunders.Namespace("doomed"), "inside", isGone)

	maps := f.objects.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
	owner := f.create(maps, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"owner"}}`)
	f.create(f.flunders.Namespace("default"), flunder("owned", fmt.Sprintf(
		`,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":%q}]`, owner.GetUID())))
	if err := maps.Delete(ctx, "owner", metav1.DeleteOptions{}); err != nil {
		f.Fatal(err)
	}
	f.await(f.flunders.Namespace("default"), "owned", isGone)
}

// survive kills the sample server and starts it again.
func (f fixture) survive(kill func()) {
	f.create(f.flunders.Namespace("default"), flunder("kept", ""))
	kill()
	_, err := f.flunders.Namespace("default").Get(f.Context(), "kept", metav1.GetOptions{})
	if !apierrors.IsServiceUnavailable(err) {
		f.Errorf("get while the server is down: got error %v, want ServiceUnavailable", err)
	}
	f.awaitAvailable(metav1.ConditionFalse)
	if _, err := f.typed.CoreV1().Pods("default").List(f.Context(), metav1.ListOptions{}); err != nil {
		f.Errorf("list of pods while the server is down: %v", err)
	}
	start(f.TB, "sample-apiserver", f.sample...)
	f.awaitAvailable(metav1.ConditionTrue)
	must[*unstructured.Unstructured](f.TB)(f.flunders.Namespace("default").Get(f.Context(), "kept", metav1.GetOptions{}))
}
