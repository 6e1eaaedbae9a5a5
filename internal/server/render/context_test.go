package render

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stored"
)

// TestRenderingEndsWithRequest checks that no answer is made of many objects for a client that has left.
func TestRenderingEndsWithRequest(t *testing.T) {
	t.Parallel()
	kinds := kind.NewRegistry(builtin.Kinds(object.NewCache(1 << 20))...)
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	entry, _ := kinds.Find(gvr)
	cm := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	o, err := stored.Encode(entry.Kind, cm, object.Form{APIVersion: "v1", Format: object.Protobuf})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Stamp(7); err != nil {
		t.Fatal(err)
	}
	for _, accept := range []string{request.JSON, "application/json;as=Table;g=meta.k8s.io;v=v1",
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"} {
		for _, left := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			if left {
				cancel()
			}
			req := request.New(ctx, &request.Route{GVR: gvr, Verb: "list"}, entry, auth.NewUser("a"))
			if err := req.Negotiate(accept, request.AsTable, request.AsPartialList); err != nil {
				t.Fatal(err)
			}
			again, err := o.At(8) // without cached encodings
			if err != nil {
				t.Fatal(err)
			}
			_, err = Result(req, accept, &request.Result{Page: &request.Page{Items: []*object.Object{again}}})
			if left != errors.Is(err, context.Canceled) || !left && err != nil {
				t.Errorf("%s: client has left: %t; got error %v", accept, left, err)
			}
			cancel()
		}
	}
}
