package main

import (
	"context"
	"errors"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var knots = schema.GroupVersionResource{Group: "bench.bowline.example.com", Version: "v1", Resource: "knots"}

// customResource measures the time from the creation of a definition to its first instance. If the server
// serves the new resource only some time later, the create is repeated until it succeeds.
func customResource() measurement {
	return measurement{
		figures: []figure{
			{"CRD create to first instance created", milliseconds, 20},
			{"the same, first on the server with rules in CEL", milliseconds, 100},
		},
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			definitions, err := apiextensions.NewForConfig(s.config)
			if err != nil {
				return nil, err
			}
			instances, err := dynamic.NewForConfig(s.config)
			if err != nil {
				return nil, err
			}
			crds := definitions.ApiextensionsV1().CustomResourceDefinitions()
			s.cleanup = append(s.cleanup, func(ctx context.Context) error {
				return errors.Join(crds.Delete(ctx, knotDefinition().Name, metav1.DeleteOptions{}),
					crds.Delete(ctx, hitchDefinition().Name, metav1.DeleteOptions{}))
			})
			first, err := s.measure("crd", 1, func() error {
				if _, err := crds.Create(ctx, knotDefinition(), metav1.CreateOptions{}); err != nil {
					return err
				}
				return createFirst(ctx, instances.Resource(knots).Namespace(namespace), knot)
			})
			if err != nil {
				return nil, err
			}
			ruled, err := s.measure("crd-rules", 1, func() error {
				if _, err := crds.Create(ctx, hitchDefinition(), metav1.CreateOptions{}); err != nil {
					return err
				}
				return createFirst(ctx, instances.Resource(hitches).Namespace(namespace), hitch(0))
			})
			if err != nil {
				return nil, err
			}
			return []reading{first.each(), ruled.each()}, nil
		}),
	}
}

var knot = &unstructured.Unstructured{Object: map[string]any{
	"apiVersion": "bench.bowline.example.com/v1", "kind": "Knot",
	"metadata": map[string]any{"name": "first"},
	"spec":     map[string]any{"loops": int64(1)},
}}

// createFirst retries until the resource is served.
func createFirst(ctx context.Context, resource dynamic.ResourceInterface, obj *unstructured.Unstructured) error {
	for {
		_, err := resource.Create(ctx, obj, metav1.CreateOptions{})
		if !apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

func knotDefinition() *apiextensionsv1.CustomResourceDefinition {
	object := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
	}
	spec := object(map[string]apiextensionsv1.JSONSchemaProps{"loops": {Type: "integer"}})
	root := object(map[string]apiextensionsv1.JSONSchemaProps{"spec": spec})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: knots.GroupResource().String()},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: knots.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: knots.Resource, Singular: "knot", Kind: "Knot", ListKind: "KnotList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: knots.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root},
			}},
		},
	}
}
