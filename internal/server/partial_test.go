package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// The metadata of an object is equal in every form: written as JSON or protobuf, or a custom resource, which
// is stored as JSON only; read as JSON, protobuf or YAML, alone or in a list, in both versions.
func TestPartialMetadataMatchesObject(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	full := metav1.ObjectMeta{
		Name: "json", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"q": "\"quoted\" <&> ü"},
		Finalizers:      []string{"example.com/f"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u"}},
	}
	for name, contentType := range map[string]string{"json": jsonType, "protobuf": protobufType} {
		cm := configMap(name, "k", "v")
		cm.ObjectMeta = full
		cm.Name = name
		must(typed(t, w.config, contentType).CoreV1().ConfigMaps("default").Create(t.Context(), cm,
			metav1.CreateOptions{}))(t)
	}
	w.create(t, widgetsPath,
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"custom","labels":{"a":"b"},"finalizers":["example.com/f"]},"spec":{}}`)
	for _, path := range []string{configMaps + "/json", configMaps + "/protobuf", widgetsPath + "/custom"} {
		var whole struct{ Metadata metav1.ObjectMeta }
		w.get(t, path).want(t, http.StatusOK).into(t, &whole)
		for _, media := range []string{jsonType, protobufType, yamlType} {
			for _, version := range []string{"v1", "v1beta1"} {
				as := media + ";as=PartialObjectMetadata;g=meta.k8s.io;v=" + version
				got := decodePartial(t, w.get(t, path, "Accept", as).want(t, http.StatusOK), media,
					&metav1.PartialObjectMetadata{}).(*metav1.PartialObjectMetadata)
				if diff := cmp.Diff(whole.Metadata, got.ObjectMeta); diff != "" ||
					got.APIVersion != "meta.k8s.io/"+version {
					t.Errorf("%s as %s in %s: %s", path, as, got.APIVersion, diff)
				}
				list := strings.Replace(as, asPartial, asPartial+"List", 1)
				parent, name := path[:strings.LastIndexByte(path, '/')], path[strings.LastIndexByte(path, '/')+1:]
				r := w.get(t, parent+"?fieldSelector=metadata.name%3D"+name, "Accept", list).want(t, http.StatusOK)
				var items []metav1.PartialObjectMetadata
				if version == "v1" {
					items = decodePartial(t, r, media,
						&metav1.PartialObjectMetadataList{}).(*metav1.PartialObjectMetadataList).Items
				} else {
					items = decodePartial(t, r, media,
						&metav1beta1.PartialObjectMetadataList{}).(*metav1beta1.PartialObjectMetadataList).Items
				}
				if len(items) != 1 {
					t.Fatalf("%s as %s: %+v", parent, list, items)
				}
				if diff := cmp.Diff(whole.Metadata, items[0].ObjectMeta); diff != "" {
					t.Errorf("%s as %s: %s", parent, list, diff)
				}
			}
		}
	}
}

// The annotation of daemonsets that stands for a field of older versions is in the whole object, and in no metadata
// alone, as in Kubernetes.
func TestMetadataWithoutFieldAnnotation(t *testing.T) {
	t.Parallel()
	w := start(t)
	const path = "/apis/apps/v1/namespaces/default/daemonsets"
	body := `{"metadata":{"name":"%s","annotations":{"a":"b"}},"spec":{"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`
	created := w.send(t, http.MethodPost, path, fmt.Sprintf(body, "d")).want(t, http.StatusCreated)
	dry := w.send(t, http.MethodPost, path+"?dryRun=All", fmt.Sprintf(body, "e"), "Accept", partialType).
		want(t, http.StatusCreated)
	const annotation = appsv1.DeprecatedTemplateGeneration
	if valueAt(created.object(t), "metadata", "annotations", annotation) != "1" {
		t.Errorf("the object is %s", created.body)
	}
	check := func(what string, meta metav1.ObjectMeta) {
		t.Helper()
		if len(meta.Annotations) != 1 || meta.Annotations["a"] != "b" || len(meta.ManagedFields) == 0 {
			t.Errorf("%s has the annotations %v and %d managed fields", what, meta.Annotations, len(meta.ManagedFields))
		}
	}
	for _, media := range []string{jsonType, protobufType} {
		r := w.get(t, path+"/d", "Accept", media+";as=PartialObjectMetadata;g=meta.k8s.io;v=v1").want(t, http.StatusOK)
		check(media, decodePartial(t, r, media, &metav1.PartialObjectMetadata{}).(*metav1.PartialObjectMetadata).ObjectMeta)
	}
	check("a dry run", decodePartial(t, dry, jsonType, &metav1.PartialObjectMetadata{}).(*metav1.PartialObjectMetadata).ObjectMeta)
	var table metav1.Table
	w.get(t, path, "Accept", tableType).want(t, http.StatusOK).into(t, &table)
	var row metav1.PartialObjectMetadata
	if err := json.Unmarshal(table.Rows[0].Object.Raw, &row); err != nil {
		t.Fatal(err)
	}
	check("a row", row.ObjectMeta)
	if after := w.get(t, path+"/d"); valueAt(after.object(t), "metadata", "annotations", annotation) != "1" {
		t.Errorf("afterwards the object is %s", after.body)
	}
}

const asPartial = "PartialObjectMetadata"

func decodePartial(t *testing.T, r response, media string, into runtime.Object) runtime.Object {
	t.Helper()
	format, data := object.JSON, r.body
	switch media {
	case protobufType:
		format = object.Protobuf
		header := must(kind.ProtobufHeader(data))(t)
		into.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(header.Kind))
		defer func() {
			gvk := into.GetObjectKind().GroupVersionKind()
			gvk.Group, gvk.Version, _ = strings.Cut(header.APIVersion, "/")
			into.GetObjectKind().SetGroupVersionKind(gvk)
		}()
	case yamlType:
		data = must(yaml.YAMLToJSON(data))(t)
	}
	if err := kind.Unmarshal(format, data, into); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	return into
}
