package server_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestLabelSelectors(t *testing.T) {
	t.Parallel()
	w := start(t)
	for name, labels := range map[string]map[string]string{
		"plain": nil, "web": {"app": "web", "tier": "front"}, "db": {"app": "db", "tier": "back"},
		"both": {"app": "web", "tier": "back"},
	} {
		cm := configMap(name)
		cm.Labels = labels
		must(w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}))(t)
	}
	for selector, want := range map[string]string{
		"app=web":                  "both web",
		"app==web,tier!=front":     "both",
		"app in (web,db)":          "both db web",
		"app notin (web)":          "db plain",
		"!app":                     "plain",
		"tier":                     "both db web",
		"tier=back,app":            "both db",
		"app=nothing":              "",
		"app in (db),tier=back,!x": "db",
	} {
		if got := w.names(t, configMaps, "labelSelector", selector); got != want {
			t.Errorf("%q selects %q, want %q", selector, got, want)
		}
	}
	for _, broken := range []string{"app in", "=x", "a=b=c", "app in (", "a b"} {
		w.get(t, configMaps+"?labelSelector="+url.QueryEscape(broken)).wantError(t, http.StatusBadRequest,
			metav1.StatusReasonBadRequest, "")
	}
}

// names returns the sorted names in a list; query holds parameter names and values in turn.
func (w *testPlane) names(t testing.TB, path string, query ...string) string {
	t.Helper()
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	var list metav1.PartialObjectMetadataList
	w.get(t, path+"?"+q.Encode()).want(t, http.StatusOK).into(t, &list)
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestFieldSelectors(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.namespace(t, "other")
	w.createConfigMaps(t, "default", "a", "b")
	w.createConfigMaps(t, "other", "a", "c")
	define(t, w, widgets())
	w.create(t, widgetsPath, widget("a", `{"color":"red"}`))
	w.create(t, widgetsPath, widget("b", `{}`))
	for _, c := range []struct{ path, selector, want string }{
		{configMaps, "metadata.name=a", "a"},
		{configMaps, "metadata.name!=a", "b"},
		{configMaps, "metadata.name=", ""},
		{configMaps, "metadata.namespace=other", ""},
		{"/api/v1/configmaps", "metadata.name=a", "a a"},
		{"/api/v1/configmaps", "metadata.namespace=other", "a c"},
		{"/api/v1/configmaps", "metadata.namespace=other,metadata.name=c", "c"},
		{"/api/v1/configmaps", "metadata.namespace!=other,metadata.name!=b", "a"},
		{"/api/v1/namespaces", "metadata.name=other", "other"},
		{widgetsPath, "metadata.name=a", "a"},
		{widgetsPath, "spec.color=blue", "b"},
		{widgetsPath, "spec.color!=blue", "a"},
		{widgetsPath, "spec.color=red,metadata.name=b", ""},
	} {
		if got := w.names(t, c.path, "fieldSelector", c.selector); got != c.want {
			t.Errorf("%s: %q selects %q, want %q", c.path, c.selector, got, c.want)
		}
	}
}

// The selectable fields of every built-in kind are those of Kubernetes, from the AddFieldLabelConversionFunc
// calls of its API groups.
func TestSelectableFieldsOfBuiltInKinds(t *testing.T) {
	t.Parallel()
	w := start(t)
	selectable(t, w)
	for _, c := range []struct{ path, selector, want string }{
		{"/api/v1/pods", "spec.nodeName=n1", "p1"},
		{"/api/v1/pods", "spec.nodeName=", "p2"},
		{"/api/v1/pods", "status.phase=Running", "p1"},
		{"/api/v1/pods", "status.phase!=Running", "p2"},
		{"/api/v1/pods", "spec.restartPolicy=Never", "p2"},
		{"/api/v1/pods", "spec.schedulerName=mine", "p2"},
		{"/api/v1/pods", "spec.serviceAccountName=robot", "p1"},
		{"/api/v1/pods", "spec.hostNetwork=true", "p2"},
		{"/api/v1/pods", "spec.hostNetwork=false", "p1"},
		{"/api/v1/pods", "status.podIP=10.1.1.1", "p1"},
		{"/api/v1/pods", "status.nominatedNodeName=n2", "p1"},
		{"/api/v1/nodes", "spec.unschedulable=true", "n1"},
		{"/api/v1/nodes", "spec.unschedulable=false", "n2"},
		{"/api/v1/secrets", "type=Opaque", "s1"},
		{"/api/v1/secrets", "type=example.com/kind", "s2"},
		{"/api/v1/namespaces", "status.phase=Terminating", "going"},
		{"/api/v1/services", "spec.type=NodePort", "v2"},
		{"/api/v1/services", "spec.clusterIP=None", "v1"},
		{"/apis/apps/v1/replicasets", "status.replicas=0", "r1"},
		{"/apis/apps/v1/replicasets", "status.replicas=1", ""},
	} {
		if got := w.names(t, c.path, "fieldSelector", c.selector); got != c.want {
			t.Errorf("%s: %q selects %q, want %q", c.path, c.selector, got, c.want)
		}
	}
}

// selectable creates the objects that the test selects.
func selectable(t *testing.T, w *testPlane) {
	t.Helper()
	ctx, core := t.Context(), w.clients.CoreV1()
	create := metav1.CreateOptions{}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}, NodeName: "n1",
		ServiceAccountName: "robot"}
	must(core.Pods("default").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p1"}, Spec: spec},
		create))(t)
	status := `{"status":{"phase":"Running","podIP":"10.1.1.1","podIPs":[{"ip":"10.1.1.1"}],"nominatedNodeName":"n2"}}`
	must(core.Pods("default").Patch(ctx, "p1", types.MergePatchType, []byte(status), metav1.PatchOptions{},
		"status"))(t)
	spec = corev1.PodSpec{Containers: spec.Containers, RestartPolicy: corev1.RestartPolicyNever, SchedulerName: "mine",
		HostNetwork: true}
	must(core.Pods("default").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p2"}, Spec: spec},
		create))(t)
	must(core.Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Spec: corev1.NodeSpec{Unschedulable: true}}, create))(t)
	must(core.Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}, create))(t)
	must(core.Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s1"}}, create))(t)
	must(core.Secrets("default").Create(ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s2"}, Type: "example.com/kind"}, create))(t)
	w.namespace(t, "going")
	if err := core.Namespaces().Delete(ctx, "going", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	ports := []corev1.ServicePort{{Port: 80}}
	must(core.Services("default").Create(ctx,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "v1"},
			Spec: corev1.ServiceSpec{ClusterIP: "None", Ports: ports}}, create))(t)
	must(core.Services("default").Create(ctx,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "v2"},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: ports}}, create))(t)
	labels := map[string]string{"app": "r"}
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "r1"}}
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	rs.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{Containers: spec.Containers}}
	must(w.clients.AppsV1().ReplicaSets("default").Create(ctx, rs, create))(t)
}

func TestUnsupportedFieldSelectors(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	for path, selector := range map[string]string{
		configMaps: "data.k=1", "/api/v1/pods": "spec.nothing=1", widgetsPath: "spec.size=1",
		"/api/v1/nodes": "metadata.uid=1",
	} {
		for _, more := range []string{"", "&watch=true"} {
			w.get(t, path+"?fieldSelector="+url.QueryEscape(selector)+more).wantError(t, http.StatusBadRequest,
				metav1.StatusReasonBadRequest, strings.Split(selector, "=")[0])
		}
	}
	w.get(t, configMaps+"?fieldSelector=metadata.name").wantError(t, http.StatusBadRequest,
		metav1.StatusReasonBadRequest,
		"")
}

// A deletecollection deletes the selected objects only.
func TestDeleteCollectionBySelector(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a", "b", "c")
	w.send(t, http.MethodPatch, configMaps+"/b", `{"metadata":{"labels":{"go":"yes"}}}`, "Content-Type",
		mergeType).want(t, http.StatusOK)
	w.send(t, http.MethodDelete, configMaps+"?labelSelector=go%3Dyes", "").want(t, http.StatusOK)
	w.send(t, http.MethodDelete, configMaps+"?fieldSelector=metadata.name%3Da", "").want(t, http.StatusOK)
	if got := w.names(t, configMaps); got != "c" {
		t.Errorf("%q is left, want c", got)
	}
}
