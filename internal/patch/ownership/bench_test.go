package ownership_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/patch/ownership"
)

// kinds maps names to the built-in kinds.
var kinds = sync.OnceValue(func() map[string]kind.Kind {
	all := map[string]kind.Kind{}
	for _, k := range builtin.Kinds(object.NewCache(0)) {
		all[k.Info().Kind] = k
	}
	return all
})

// cpu reports the CPU time of a loop, because wall time varies on a busy machine.
func cpu(b *testing.B, op func()) {
	op() // BenchmarkFirstWrite measures the first write
	b.ReportAllocs()
	begin := used()
	for b.Loop() {
		op()
	}
	b.ReportMetric(float64(used()-begin)/float64(b.N), "cpu-ns/op")
}

func used() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func configMap() *corev1.ConfigMap {
	cm := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, Data: map[string]string{}}
	cm.Name, cm.Namespace, cm.UID, cm.CreationTimestamp = "c", "default", "u", metav1.Now()
	cm.Labels = map[string]string{"app": "bench"}
	for i := range 4 {
		cm.Data[fmt.Sprint("key-", i)] = string(make([]byte, 250))
	}
	return cm
}

// pod decodes a pod as the server does, with defaults.
func pod(b testing.TB) kind.Object {
	body := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default","labels":{"app":"web","tier":"front"}},"spec":{` +
		`"containers":[`
	for i := range 3 {
		if i > 0 {
			body += ","
		}
		body += fmt.Sprintf(`{"name":"c%d","image":"nginx:1","ports":[{"containerPort":8%d,"name":"http%d"}],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"},`+
			`{"name":"C","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":"1","memory":"1Gi"}},`+
			`"livenessProbe":{"httpGet":{"path":"/h","port":80}},"volumeMounts":[{"name":"v","mountPath":"/v"}]}`, i, i,
			i)
	}
	body += `],"volumes":[{"name":"v","emptyDir":{}},{"name":"w","configMap":{"name":"x"}}],"nodeSelector":{"disk":"ssd"},"tolerations":[{"key":"a","operator":"Exists"}]}}`
	obj, _, err := kinds()["Pod"].DecodeRequest(object.Form{APIVersion: "v1"}, []byte(body), true)
	if err != nil {
		b.Fatal(err)
	}
	return obj
}

func deployment(b testing.TB) *appsv1.Deployment {
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"}}
	d.Name, d.Namespace = "d", "default"
	d.Labels = map[string]string{"app": "web"}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: d.Labels}
	d.Spec.Template.Labels = d.Labels
	d.Spec.Template.Spec = pod(b).(*corev1.Pod).Spec
	return d
}

func BenchmarkCreateConfigMap(b *testing.B) {
	o := ownership.New(kinds()["ConfigMap"])
	cm := configMap()
	cpu(b, func() {
		cm.ManagedFields = nil
		o.Update("v1", "", nil, cm, "bench")
	})
	if len(cm.ManagedFields) != 1 {
		b.Fatal(cm.ManagedFields)
	}
}

func BenchmarkUpdateConfigMap(b *testing.B) {
	o := ownership.New(kinds()["ConfigMap"])
	cm := configMap()
	o.Update("v1", "", nil, cm, "bench")
	next := cm.DeepCopy()
	next.Data["key-1"] = "x"
	cpu(b, func() {
		next.ManagedFields = cm.ManagedFields
		o.Update("v1", "", cm, next, "other")
	})
	if len(next.ManagedFields) != 2 {
		b.Fatal(next.ManagedFields)
	}
}

func BenchmarkCreatePod(b *testing.B) {
	o := ownership.New(kinds()["Pod"])
	p := pod(b)
	cpu(b, func() {
		p.SetManagedFields(nil)
		o.Update("v1", "", nil, p, "bench")
	})
	if len(p.GetManagedFields()) != 1 {
		b.Fatal(p.GetManagedFields())
	}
}

func BenchmarkUpdatePodStatus(b *testing.B) {
	o := ownership.New(kinds()["Pod"])
	p := pod(b).(*corev1.Pod)
	p.UID = "u"
	o.Update("v1", "", nil, p, "bench")
	next := p.DeepCopy()
	next.Status.Phase = corev1.PodRunning
	cpu(b, func() {
		next.ManagedFields = p.ManagedFields
		o.Update("v1", "status", p, next, "node")
	})
	if len(next.ManagedFields) != 2 {
		b.Fatal(next.ManagedFields)
	}
}

func document(b testing.TB, obj any) *unstructured.Unstructured {
	data, err := json.Marshal(obj)
	if err != nil {
		b.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		b.Fatal(err)
	}
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(u.Object, "metadata", "uid")
	unstructured.RemoveNestedField(u.Object, "status")
	return u
}

func apply(b testing.TB, o *ownership.Owners, gvk schema.GroupVersionKind, live kind.Object,
	doc *unstructured.Unstructured) kind.Object {
	out, err := o.Apply(gvk.GroupVersion().String(), "", live, doc, nil, "one", false)
	if err != nil {
		b.Fatal(err)
	}
	u, ok := out.(*unstructured.Unstructured)
	if !ok {
		return out.(kind.Object)
	}
	data, err := json.Marshal(u.Object)
	if err != nil {
		b.Fatal(err)
	}
	obj, _, err := kinds()[gvk.Kind].DecodeRequest(object.Form{APIVersion: gvk.GroupVersion().String()}, data, true)
	if err != nil {
		b.Fatal(err)
	}
	return obj
}

func BenchmarkApply(b *testing.B) {
	for _, c := range []struct {
		name string
		obj  kind.Object
		edit []string
	}{
		{"ConfigMap", configMap(), []string{"data", "key-1"}},
		{"Deployment", deployment(b), []string{"metadata", "labels", "app"}},
	} {
		gvk := c.obj.GetObjectKind().GroupVersionKind()
		o := ownership.New(kinds()[gvk.Kind])
		doc := document(b, c.obj)
		live := apply(b, o, gvk, nil, doc)
		live.SetUID("u")
		b.Run(c.name+"/no change", func(b *testing.B) {
			cpu(b, func() {
				apply(b, o, gvk, live, doc)
			})
		})
		b.Run(c.name+"/one field", func(b *testing.B) {
			changed := doc.DeepCopy()
			if err := unstructured.SetNestedField(changed.Object, "other", c.edit...); err != nil {
				b.Fatal(err)
			}
			cpu(b, func() {
				apply(b, o, gvk, live, changed)
			})
		})
	}
}
func BenchmarkFirstWrite(b *testing.B) {
	for _, k := range []string{"ConfigMap", "Pod", "Deployment"} {
		b.Run(k, func(b *testing.B) {
			own := kinds()[k]
			cpu(b, func() {
				o := ownership.New(own)
				obj := own.New()
				o.Update(own.Info().Endpoints[0].APIVersion(), "", nil, obj, "bench")
			})
		})
	}
}
