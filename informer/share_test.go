package informer_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// Objects of a list over the network share equal parts, unless the informer has a Transform or detects mutations.
func TestListedObjectsShareEqualParts(t *testing.T) {
	t.Parallel()
	plane, err := bowline.Start(t.Context(), bowline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	for _, name := range []string{"a", "b"} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"key": "value"}}
		if _, err := kubernetes.NewForConfigOrDie(plane.RESTConfig()).CoreV1().ConfigMaps("default").Create(t.Context(),
			cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	identity := func(obj *corev1.ConfigMap) (*corev1.ConfigMap, error) { return obj, nil }
	for name, test := range map[string]struct {
		options
		share bool
	}{
		"as they are":         {options{}, true},
		"transformed":         {options{Transform: identity}, false},
		"looked after":        {options{Mutations: informer.DetectMutations(t)}, false},
		"decoded when needed": {options{Lazy: true}, false},
	} {
		test.Namespace = "default"
		i := informer.New(client.NewSource(c), configmaps, test.options)
		stop := run(i)
		<-i.Synced()
		a, _ := i.Indexer().Get(informer.Key{Namespace: "default", Name: "a"})
		b, _ := i.Indexer().Get(informer.Key{Namespace: "default", Name: "b"})
		if shared := reflect.ValueOf(a.Data).Pointer() == reflect.ValueOf(b.Data).Pointer(); shared != test.share ||
			b.Data["key"] != "value" {
			t.Errorf("%s: the objects share their data: %t; %v", name, shared, b.Data)
		}
		stop()
	}
}

// In the server's own process objects also share equal parts. An informer that detects mutations holds
// unshared copies, in which a mutation changes only one object.
func TestInProcessObjectsShareEqualParts(t *testing.T) {
	t.Parallel()
	plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	config := rest.CopyConfig(plane.RESTConfig())
	config.ContentType = runtime.ContentTypeProtobuf
	clients := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	for i := range 30 {
		cm := &corev1.ConfigMap{Data: map[string]string{"key": "value"}}
		cm.Name = fmt.Sprint("a", i)
		if _, err := clients.Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	r := &recorder{}
	for _, mutations := range []*informer.Mutations{nil, informer.DetectMutations(r)} {
		i := informer.New(plane.Source(), configmaps, options{Namespace: "default", Mutations: mutations})
		stop := run(i)
		<-i.Synced()
		addresses := map[uintptr]int{}
		for _, cm := range i.Indexer().List() {
			addresses[reflect.ValueOf(cm.Data).Pointer()]++
		}
		if shared := len(addresses) < 20; shared != (mutations == nil) {
			t.Errorf("with detection: %t; got %d copies of the data of 30 objects", mutations != nil, len(addresses))
		}
		if mutations != nil {
			cm, _ := i.Indexer().Get(informer.Key{Namespace: "default", Name: "a20"})
			cm.Data["key"] = "mine"
		}
		stop()
	}
	r.cleanup()
	if len(r.failures) != 1 || !strings.Contains(r.failures[0], "default/a20 was changed") {
		t.Errorf("the mutation was reported as %q", r.failures)
	}
}
