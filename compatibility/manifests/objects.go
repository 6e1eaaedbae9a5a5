package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// decode returns the objects of a YAML text, with those of lists.
func decode(text []byte) (objects []*unstructured.Unstructured, err error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(obj)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(obj.Object) == 0: // only comments
			continue
		case obj.IsList():
			if err := obj.EachListItem(func(item runtime.Object) error {
				objects = append(objects, item.(*unstructured.Unstructured))
				return nil
			}); err != nil {
				return nil, err
			}
		default:
			objects = append(objects, obj)
		}
	}
}

// inspector looks objects up, independently of the programs that have written them.
type inspector struct {
	client    dynamic.Interface
	mapper    meta.ResettableRESTMapper
	namespace string // of objects that name none
}

func newInspector(config *rest.Config, namespace string) (*inspector, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	return &inspector{client: client, mapper: mapper, namespace: namespace}, nil
}

// exists reports whether an object exists. An object of a kind that is not served does not.
func (i *inspector) exists(ctx context.Context, obj *unstructured.Unstructured) (bool, error) {
	gvk := obj.GroupVersionKind()
	mapping, err := i.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var objects dynamic.ResourceInterface = i.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := obj.GetNamespace()
		if namespace == "" {
			namespace = i.namespace
		}
		objects = i.client.Resource(mapping.Resource).Namespace(namespace)
	}
	_, err = objects.Get(ctx, obj.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	return true, nil
}
