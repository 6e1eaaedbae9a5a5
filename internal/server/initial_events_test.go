package server_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// A streaming list sends the state, a bookmark that marks its end, then the changes.
func TestStreamingListEndsWithBookmark(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{jsonType, protobufType} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			w.createConfigMaps(t, "default", "a", "b")
			maps := typed(t, w.config, contentType).CoreV1().ConfigMaps("default")
			now := must(maps.List(t.Context(), metav1.ListOptions{}))(t).ResourceVersion
			yes := true
			s := must(maps.Watch(t.Context(), metav1.ListOptions{
				SendInitialEvents: &yes, AllowWatchBookmarks: true,
				ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
			}))(t)
			defer s.Stop()
			wantEvents(t, s, "ADDED a", "ADDED b")
			e := <-s.ResultChan()
			cm, ok := e.Object.(*corev1.ConfigMap)
			if e.Type != watch.Bookmark || !ok || cm.Annotations[metav1.InitialEventsAnnotationKey] != "true" ||
				cm.ResourceVersion != now {
				t.Errorf("%s %+v, want the bookmark that ends the state at %s", e.Type, e.Object, now)
			}
			w.createConfigMaps(t, "default", "c")
			wantEvents(t, s, "ADDED c")
		})
	}
}

// Some combinations of parameters are not a streaming list.
func TestStreamingListOptions(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, query := range []string{
		"watch=1&sendInitialEvents=true&allowWatchBookmarks=true",
		"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
		"watch=1&sendInitialEvents=true&resourceVersionMatch=Exact&allowWatchBookmarks=true",
		"watch=1&resourceVersionMatch=NotOlderThan",
	} {
		w.get(t, configMaps+"?"+query).wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			"resourceVersionMatch")
	}
	future := w.open(t,
		configMaps+
			"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=9999999999999999999")
	if e := future.want(t, "ERROR"); e.Object["code"] != float64(http.StatusGatewayTimeout) ||
		!strings.Contains(e.Object["message"].(string), "Too large resource version") {
		t.Errorf("a state that is not there yet: %v", e.Object)
	}
	// without initial events, only changes
	w.createConfigMaps(t, "default", "a")
	s := w.open(t,
		configMaps+"?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
	w.createConfigMaps(t, "default", "b")
	s.want(t, "ADDED b")
}

// recorder records the URLs of requests.
type recorder struct {
	next http.RoundTripper
	mu   sync.Mutex
	urls []string
}

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.urls = append(r.urls, q.URL.String())
	r.mu.Unlock()
	return r.next.RoundTrip(q)
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.urls...)
}

// client-go's informers fill their caches by one watch and never fall back to a list, with typed clients in
// JSON and protobuf, and with the dynamic and the metadata client.
func TestInformersUseStreamingLists(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{jsonType, protobufType, "dynamic", "metadata"} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			w.createConfigMaps(t, "default", "a", "b")
			seen := &recorder{}
			config := rest.CopyConfig(w.config)
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { seen.next = next; return seen })
			informer := configMapInformer(t, config, contentType)
			added := make(chan string, 10)
			informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
				added <- obj.(metav1.Object).GetName()
			}})
			go informer.Run(t.Context().Done())
			if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
				t.Fatal("the informer never synced")
			}
			w.createConfigMaps(t, "default", "c")
			for range 3 {
				<-added
			}
			urls := seen.all()
			if len(urls) != 1 || !strings.Contains(urls[0], "sendInitialEvents=true") ||
				!strings.Contains(urls[0], "watch=true") {
				t.Errorf("requests: %q, want one watch with initial events", urls)
			}
		})
	}
}

func configMapInformer(t *testing.T, config *rest.Config, contentType string) cache.SharedIndexInformer {
	t.Helper()
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	switch contentType {
	case "dynamic":
		client := must(dynamic.NewForConfig(config))(t)
		return dynamicinformer.NewFilteredDynamicInformer(client, resource, "default", 0, nil, nil).Informer()
	case "metadata":
		client := must(metadata.NewForConfig(config))(t)
		return metadatainformer.NewFilteredMetadataInformer(client, resource, "default", 0, nil, nil).Informer()
	}
	return informers.NewSharedInformerFactoryWithOptions(typed(t, config, contentType), 0,
		informers.WithNamespace("default")).Core().V1().ConfigMaps().Informer()
}

// The bookmark at the end of the state has the requested form.
func TestStreamingListOfTablesAndMetadata(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	for accept, kind := range map[string]string{tableType: "Table", partialType: "PartialObjectMetadata"} {
		s := w.open(t,
			configMaps+"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
			"Accept", accept)
		for _, want := range []string{"ADDED", "BOOKMARK"} {
			e, ok := s.next(t)
			if !ok || e.Type != want || e.Object["kind"] != kind || e.Object["apiVersion"] != "meta.k8s.io/v1" {
				t.Errorf("%s: %s %v, want %s", kind, e.Type, e.Object, want)
			}
			if want == "BOOKMARK" && valueAt(e.Object, "metadata", "resourceVersion") == nil {
				t.Errorf("%s: a bookmark without a revision: %v", kind, e.Object)
			}
		}
	}
}
