package client_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline/client"
)

// The config that Load returns works with client-go's RESTClient, ClientSet, DynamicClient and DiscoveryClient. Each
// reads the object that another one wrote.
func TestClientGoAcceptsLoadedConfig(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	cert, key := ca.user("root", "system:masters", time.Hour)
	config := load(t,
		kubeconfigFor(t, clientcmdapi.Cluster{Server: startTLSPlane(t, ca.server(time.Hour)),
			CertificateAuthorityData: ca.pem()},
			clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}))
	ctx := t.Context()
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"},
		Data: map[string]string{"k": "v"}}
	if object, err = client.For[*corev1.ConfigMap](c).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	sees := func(who string, uid types.UID, err error) {
		t.Helper()
		if err != nil || uid != object.UID {
			t.Errorf("%s: got %s, %v", who, uid, err)
		}
	}
	set, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{})
	sees("the clientset", set.UID, err)
	untyped, err := dynamic.NewForConfigOrDie(config).Resource(configmaps).Namespace("default").Get(ctx, "a",
		metav1.GetOptions{})
	sees("the dynamic client", untyped.GetUID(), err)
	sees("the REST client", restClientGets(ctx, t, config).UID, nil)
	resources, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerResourcesForGroupVersion("v1")
	if err != nil || !slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool {
		return r.Name == "configmaps"
	}) {
		t.Errorf("discovery client: got %v, %v", resources, err)
	}
}

// restClientGets gets the object by the client of one group and version, verb by verb.
func restClientGets(ctx context.Context, t *testing.T, config *rest.Config) *corev1.ConfigMap {
	t.Helper()
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion, config.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion,
		scheme.Codecs.WithoutConversion()
	one, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	into := &corev1.ConfigMap{}
	if err := one.Get().Namespace("default").Resource("configmaps").Name("a").Do(ctx).Into(into); err != nil {
		t.Error(err)
	}
	return into
}

// For supports for every kind the calls that a clientset has for built-in kinds.
func TestForWrites(t *testing.T) {
	t.Parallel()
	c := connected(t)
	defineWidgets(t, c)
	ctx := t.Context()
	all := client.For[*Widget](c)
	made, err := all.Create(ctx,
		&Widget{widget{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Spec: widgetSpec{Size: 1}}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Spec.Size = 2
	if made, err = all.Update(ctx, made, metav1.UpdateOptions{}); err != nil || made.Spec.Size != 2 ||
		made.Generation != 2 {
		t.Errorf("Update: got %+v, %v", made, err)
	}
	patch := []byte(`{"spec":{"size":3}}`)
	if made, err = all.Patch(ctx, "default", "a", "", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil ||
		made.Spec.Size != 3 {
		t.Errorf("Patch: got %+v, %v", made, err)
	}
	list, err := all.List(ctx, "default", metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Spec.Size != 3 || list.ResourceVersion == "" {
		t.Errorf("List: got %+v, %v", list, err)
	}
	if err := all.DeleteCollection(ctx, "default", metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	if list, err := all.List(ctx, "default", metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("List after DeleteCollection: got %+v, %v", list, err)
	}
}

// tokens is a server that records the bearer token of each request.
type tokens struct{ received []string }

func (s *tokens) RoundTrip(r *http.Request) (*http.Response, error) {
	s.received = append(s.received, r.Header.Get("Authorization"))
	return nil, fmt.Errorf("no answer")
}

// The client reads the token file of a pod again, since the token in it is renewed.
func TestTokenFileIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := write(t, "token", []byte("first"))
		config := load(t, kubeconfigFor(t, clientcmdapi.Cluster{Server: "https://server"},
			clientcmdapi.AuthInfo{TokenFile: file}))
		s := &tokens{}
		config.Transport = s
		c, err := client.New(config)
		if err != nil {
			t.Fatal(err)
		}
		ask := func() { client.Of[*corev1.ConfigMap](c, configmaps).Get(t.Context(), "default", "a") }
		ask()
		if err := os.WriteFile(file, []byte("second"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		ask()
		if want := []string{"Bearer first", "Bearer second"}; !slices.Equal(slices.Compact(s.received), want) {
			t.Errorf("got user agents %q, want %q", s.received, want)
		}
	})
}
