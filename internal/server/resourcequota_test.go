package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
)

const quotasPath = "/api/v1/namespaces/default/resourcequotas"

// createQuota creates a quota and writes the status that the controller would write: nothing is used yet.
func createQuota(t *testing.T, w *testPlane, name, spec, hard string) {
	t.Helper()
	var amounts map[string]string
	if err := json.Unmarshal([]byte(hard), &amounts); err != nil {
		t.Fatal(err)
	}
	for name := range amounts {
		amounts[name] = "0"
	}
	used := must(json.Marshal(amounts))(t)
	w.create(t, quotasPath, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"hard":%s%s}}`, name, hard, spec))
	w.send(t, http.MethodPatch, quotasPath+"/"+name+"/status",
		fmt.Sprintf(`{"status":{"hard":%s,"used":%s}}`, hard, used), "Content-Type", mergeType).want(t, http.StatusOK)
}

// wantUsed checks the used amounts of a quota: "name=amount ...", in the order of the names.
func wantUsed(t *testing.T, w *testPlane, name, want string) {
	t.Helper()
	q := must(w.clients.CoreV1().ResourceQuotas("default").Get(t.Context(), name, metav1.GetOptions{}))(t)
	for part := range strings.FieldsSeq(want) {
		resource, amount, _ := strings.Cut(part, "=")
		if used := q.Status.Used[corev1.ResourceName(resource)]; used.String() != amount {
			t.Errorf("quota %s: %s of %s are used, want %s", name, used.String(), resource, amount)
		}
	}
}

// quotaStep is a write, with its answer.
type quotaStep struct {
	method, path, body string
	code               int
	message            string // of an error, after "forbidden: "
	used               string // as wantUsed expects it
}

// quotaCase is a quota, and writes that are sent in order.
type quotaCase struct {
	spec, hard string
	steps      []quotaStep
}

// quotaCases returns the cases by name.
func quotaCases() map[string]quotaCase {
	const (
		post, put, patch, remove = http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
		services                 = "/api/v1/namespaces/default/services"
		claims                   = "/api/v1/namespaces/default/persistentvolumeclaims"
		deviceClaims             = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
	)
	pod := func(name, container, more string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"containers":[{"name":"c","image":"i"%s}]%s}}`, name,
			container, more)
	}
	deviceClaim := func(name, request string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"devices":{"requests":[{"name":"r",%s}]}}}`, name, request)
	}
	claim := func(name, size, class string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":%q,`+
			`"resources":{"requests":{"storage":%q}}}}`, name, class, size)
	}
	const limits = `,"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}`
	return map[string]quotaCase{
		"objects": {"", `{"configmaps":"2","count/secrets":"1"}`, []quotaStep{
			{post, configMaps, `{"metadata":{"name":"a"}}`, 201, "", "configmaps=1 count/secrets=0"},
			{post, configMaps + "?dryRun=All", `{"metadata":{"name":"b"}}`, 201, "", "configmaps=1"},
			{post, configMaps, `{"metadata":{"name":"a"}}`, 409, "", "configmaps=1"},
			{post, configMaps, `{"metadata":{"generateName":"b-"}}`, 201, "", "configmaps=2"},
			{post, configMaps, `{"metadata":{"name":"c"}}`, 403,
				"exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2", "configmaps=2"},
			{post, configMaps + "?dryRun=All", `{"metadata":{"name":"c"}}`, 403,
				"exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2", "configmaps=2"},
			{patch, configMaps + "/a", `{"data":{"a":"b"}}`, 200, "", "configmaps=2"},
			{remove, configMaps + "/a", ``, 200, "", "configmaps=2"}, // the controller subtracts it
			{post, "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"}}`, 201, "", "count/secrets=1"},
			{post, "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"t"}}`, 403,
				"exceeded quota: q, requested: count/secrets=1, used: count/secrets=1, limited: count/secrets=1", ""},
		}},
		"requests and limits": {"", `{"pods":"3","requests.cpu":"2","limits.cpu":"3"}`, []quotaStep{
			{post, podsPath, pod("a", "", ""), 403, "failed quota: q: must specify limits.cpu for: c; requests.cpu for: c", ""},
			{post, podsPath, pod("a", `,"resources":{"limits":{"cpu":"2"}}`, ""), 201, "",
				"pods=1 requests.cpu=2 limits.cpu=2"},
			{post, podsPath, pod("b", limits, ""), 403, "exceeded quota: q, requested: limits.cpu=2,requests.cpu=1, " +
				"used: limits.cpu=2,requests.cpu=2, limited: limits.cpu=3,requests.cpu=2", "pods=1"},
			{patch, podsPath + "/a", `{"metadata":{"labels":{"a":"b"}}}`, 200, "", "pods=1 requests.cpu=2"},
		}},
		"scopes": {`,"scopes":["Terminating"]`, `{"pods":"1"}`, []quotaStep{
			{post, podsPath, pod("a", "", ""), 201, "", "pods=0"},
			{post, podsPath, pod("b", "", `,"activeDeadlineSeconds":5`), 201, "", "pods=1"},
			{patch, podsPath + "/a", `{"spec":{"activeDeadlineSeconds":5}}`, 403,
				"exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1", "pods=1"},
		}},
		"priorities": {`,"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In",` +
			`"values":["system-node-critical"]}]}`, `{"count/pods":"0"}`, []quotaStep{
			{post, podsPath, pod("a", "", ""), 201, "", "count/pods=0"},
			{post, podsPath, pod("b", "", `,"priorityClassName":"system-node-critical"`), 403,
				"exceeded quota: q, requested: count/pods=1, used: count/pods=0, limited: count/pods=0", ""},
		}},
		"services": {"", `{"services":"2","services.nodeports":"1"}`, []quotaStep{
			{post, services, `{"metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}}`, 201, "",
				"services=1 services.nodeports=0"},
			{patch, services + "/a", `{"spec":{"type":"NodePort"}}`, 200, "", "services=1 services.nodeports=1"},
			{patch, services + "/a", `{"spec":{"type":"ClusterIP"}}`, 200, "", "services=1 services.nodeports=1"},
			{post, services, `{"metadata":{"name":"b"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`, 403,
				"exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=1, " +
					"limited: services.nodeports=1", "services=1"},
		}},
		"storage": {"", `{"requests.storage":"3Gi","gold.storageclass.storage.k8s.io/persistentvolumeclaims":"1"}`, []quotaStep{
			{post, claims, claim("a", "1Gi", "gold"), 201, "",
				"requests.storage=1Gi gold.storageclass.storage.k8s.io/persistentvolumeclaims=1"},
			{post, claims, claim("b", "2Gi", "tin"), 201, "", "requests.storage=3Gi"},
			{post, claims, claim("c", "1", "tin"), 403,
				"exceeded quota: q, requested: requests.storage=1, used: requests.storage=3Gi, limited: requests.storage=3Gi", ""},
		}},
		"devices": {"", `{"gold.deviceclass.resource.k8s.io/devices":"3","count/resourceclaims.resource.k8s.io":"9"}`, []quotaStep{
			{post, deviceClaims, deviceClaim("a", `"exactly":{"deviceClassName":"gold","count":2}`), 201, "",
				"gold.deviceclass.resource.k8s.io/devices=2 count/resourceclaims.resource.k8s.io=1"},
			{post, deviceClaims, deviceClaim("b", `"exactly":{"deviceClassName":"tin","count":9}`), 201, "",
				"gold.deviceclass.resource.k8s.io/devices=2 count/resourceclaims.resource.k8s.io=2"},
			{patch, deviceClaims + "/a", `{"metadata":{"labels":{"a":"b"}}}`, 200, "",
				"gold.deviceclass.resource.k8s.io/devices=2"},
			{post, deviceClaims, deviceClaim("c", `"firstAvailable":[{"name":"x","deviceClassName":"gold","count":1},`+
				`{"name":"y","deviceClassName":"gold","count":2}]`), 403, "exceeded quota: q, requested: " +
				"gold.deviceclass.resource.k8s.io/devices=2, used: gold.deviceclass.resource.k8s.io/devices=2, " +
				"limited: gold.deviceclass.resource.k8s.io/devices=3", "count/resourceclaims.resource.k8s.io=2"},
			{post, deviceClaims, deviceClaim("c", `"exactly":{"deviceClassName":"gold","allocationMode":"All"}`), 403,
				"exceeded quota: q, requested: gold.deviceclass.resource.k8s.io/devices=32, used: " +
					"gold.deviceclass.resource.k8s.io/devices=2, limited: gold.deviceclass.resource.k8s.io/devices=3", ""},
		}},
		"quotas": {"", `{"resourcequotas":"1"}`, []quotaStep{
			{post, quotasPath, `{"metadata":{"name":"q"}}`, 409, "", "resourcequotas=0"},
			{post, quotasPath, `{"metadata":{"name":"r"}}`, 201, "", "resourcequotas=1"},
			{post, quotasPath, `{"metadata":{"name":"q"}}`, 403,
				"exceeded quota: q, requested: resourcequotas=1, used: resourcequotas=1, limited: resourcequotas=1", ""},
		}},
		"another group of the same objects": {"", `{"count/ingresses.networking.k8s.io":"1"}`, []quotaStep{
			{post, "/apis/extensions/v1beta1/namespaces/default/ingresses",
				`{"metadata":{"name":"a"},"spec":{"backend":{"serviceName":"s","servicePort":80}}}`, 201, "",
				"count/ingresses.networking.k8s.io=1"},
			{post, "/apis/extensions/v1beta1/namespaces/default/ingresses",
				`{"metadata":{"name":"b"},"spec":{"backend":{"serviceName":"s","servicePort":80}}}`, 403,
				"exceeded quota: q, requested: count/ingresses.networking.k8s.io=1, " +
					"used: count/ingresses.networking.k8s.io=1, limited: count/ingresses.networking.k8s.io=1", ""},
		}},
		"a pod that is not initialized": {"", `{"requests.cpu":"2","pods":"9"}`, []quotaStep{
			{post, podsPath + "?includeUninitialized=true", `{"metadata":{"name":"a","initializers":{"pending":[{"name":` +
				`"a.example.com"}]}},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}`, 201, "",
				"pods=1 requests.cpu=1"},
			{put, podsPath + "/a?includeUninitialized=true", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c",` +
				`"image":"i","resources":{"requests":{"cpu":"3"}}}]}}`, 403, "exceeded quota: q, requested: requests.cpu=2, " +
				"used: requests.cpu=1, limited: requests.cpu=2", "requests.cpu=1"},
		}},
		"a quota of many bytes": {`,"scopes":["NotTerminating"]`, `{"pods":"2"}`, []quotaStep{
			{patch, quotasPath + "/q", `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 200_000) + `"}}}`, 200, "", ""},
			{post, podsPath, pod("a", "", ""), 403, "the objects that this write changes in its commit exceed " +
				"131072 bytes", "pods=0"},
		}},
		"several amounts at once, and another namespace": {"", `{"configmaps":"0"}`, []quotaStep{
			{post, "/api/v1/namespaces/kube-system/configmaps", `{"metadata":{"name":"a"}}`, 201, "", "configmaps=0"},
			{put, configMaps + "/a", `{"metadata":{"name":"a"}}`, 404, "", "configmaps=0"},
			{post, "/api/v1/namespaces/default/events", `{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}}`,
				201, "", ""},
		}},
	}
}

// TestQuotaChargesWrites sends writes to a plane with a quota, and checks the answers and what is used.
func TestQuotaChargesWrites(t *testing.T) {
	t.Parallel()
	for name, c := range quotaCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			createQuota(t, w, "q", c.spec, c.hard)
			for i, s := range c.steps {
				contentType := ""
				if s.method == http.MethodPatch {
					contentType = mergeType
				}
				r := w.send(t, s.method, s.path, s.body, "Content-Type", contentType)
				if r.code != s.code {
					t.Fatalf("step %d: answered %d %s, want %d", i, r.code, r.body, s.code)
				}
				if s.message != "" && !strings.Contains(string(r.body), "forbidden: "+s.message+`"`) {
					t.Errorf("step %d: answered %s, want %q", i, r.body, s.message)
				}
				wantUsed(t, w, "q", s.used)
			}
		})
	}
}

// A quota without a status limits nothing. If the status has a limit of an amount, but not its usage, writes that use
// it are rejected.
func TestQuotaWithoutStatus(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.create(t, quotasPath, `{"metadata":{"name":"q"},"spec":{"hard":{"configmaps":"0"}}}`)
	w.create(t, configMaps, `{"metadata":{"name":"a"}}`)
	w.send(t, http.MethodPatch, quotasPath+"/q/status", `{"status":{"hard":{"configmaps":"0"}}}`, "Content-Type",
		mergeType).want(t, http.StatusOK)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"b"}}`).wantError(t, http.StatusForbidden,
		metav1.StatusReasonForbidden, "status unknown for quota: q, resources: configmaps")
}

// Turned off, the plugin neither rejects nor charges.
func TestQuotaPluginIsOff(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *bowline.Options) { o.Admission = []string{"-ResourceQuota"} })
	createQuota(t, w, "q", "", `{"configmaps":"0"}`)
	w.create(t, configMaps, `{"metadata":{"name":"a"}}`)
	wantUsed(t, w, "q", "configmaps=0")
}

// A hundred writers race for the last ten of two quotas.
func TestQuotaIsExactForRacingWriters(t *testing.T) {
	t.Parallel()
	w := start(t)
	createQuota(t, w, "q", "", `{"configmaps":"10"}`)
	createQuota(t, w, "r", "", `{"count/configmaps":"11","secrets":"1"}`)
	var created, rejected atomic.Int64
	var writers sync.WaitGroup
	for i := range 100 {
		writers.Go(func() {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c-", i)}}
			_, err := w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{})
			switch {
			case err == nil:
				created.Add(1)
			case apierrors.IsForbidden(err):
				rejected.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if created.Load() != 10 || rejected.Load() != 90 {
		t.Errorf("%d were created and %d rejected, want 10 and 90", created.Load(), rejected.Load())
	}
	wantUsed(t, w, "q", "configmaps=10")
	wantUsed(t, w, "r", "count/configmaps=10 secrets=0")
}

// Clients in the process get a charged quota without decoding it. It equals what its bytes decode to.
func TestChargedQuotaEqualsItsEncoding(t *testing.T) {
	t.Parallel()
	w := start(t)
	createQuota(t, w, "q", "", `{"configmaps":"10","count/secrets":"5"}`)
	for _, name := range []string{"a", "b"} {
		w.create(t, configMaps, fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
	}
	quotas := schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}
	list := must(w.Source().List(t.Context(), quotas, client.Options{}))(t)
	if len(list.Items) != 1 {
		t.Fatalf("got %d quotas, want 1", len(list.Items))
	}
	shared, decoded := must(list.Items[0].Decoded(list.Codec))(t), must(list.Items[0].Decode(list.Codec))(t)
	if !equality.Semantic.DeepEqual(shared, decoded) {
		t.Errorf("got\n%v\nwant\n%v", shared, decoded)
	}
}

// A write is rejected if it would change quotas that are too large, because other writes would wait for it.
func TestLargeQuotasRejectWrites(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, name := range []string{"q", "r"} {
		hard := map[string]string{"configmaps": "10"}
		for i := range 500 {
			hard[fmt.Sprintf("count/r%d.example.com", i)] = "1"
		}
		createQuota(t, w, name, "", string(must(json.Marshal(hard))(t)))
	}
	w.create(t, "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"}}`)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).wantError(t, http.StatusForbidden,
		metav1.StatusReasonForbidden, "the objects that this write changes in its commit exceed 131072 bytes")
	w.send(t, http.MethodDelete, quotasPath+"/r", "").want(t, http.StatusOK)
	w.create(t, configMaps, `{"metadata":{"name":"a"}}`)
	wantUsed(t, w, "q", "configmaps=1")
}
