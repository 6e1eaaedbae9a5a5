package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// defined is the number of definitions; groupSize is the number in each API group.
const (
	defined   = 1_000
	groupSize = 20
)

// thousandDefinitions creates 1,000 definitions with schemas of 5 KB, and then an instance of each, which it
// reads back. The cost is the growth of the server's anonymous memory after a garbage collection.
func thousandDefinitions() measurement {
	return measurement{
		figures: []figure{
			{"1,000 CRDs with a schema of 5 KB: to create them", seconds, 10},
			{"1,000 CRDs with a schema of 5 KB: RssAnon of each, unused", kibibytes, 40},
			{"1,000 CRDs with a schema of 5 KB: RssAnon of each, with an instance", kibibytes, 300},
		},
		starts: true,
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			before, err := s.settledMemory(ctx, namespace)
			if err != nil {
				return nil, err
			}
			took, err := s.measure("crds", defined, func() error { return defineAll(ctx, s) })
			if err != nil {
				return nil, err
			}
			unused, err := s.settledMemory(ctx, namespace)
			if err != nil {
				return nil, err
			}
			if err := useAll(ctx, s, namespace); err != nil {
				return nil, err
			}
			used, err := s.settledMemory(ctx, namespace)
			each := func(mib float64) reading { return reading{Value: (mib - before) * 1024 / defined} }
			created := took.rate()
			created.Value = took.elapsed.Seconds()
			return []reading{created, each(unused), each(used)}, err
		}),
	}
}

// settledMemory returns the server's anonymous memory in MiB after a garbage collection and an idle period.
func (s *server) settledMemory(ctx context.Context, namespace string) (float64, error) {
	client, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return 0, err
	}
	if _, err := s.liveHeap(ctx, client, namespace); err != nil {
		return 0, err
	}
	select {
	case <-time.After(idle):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return s.process.anonymousMemory()
}

func defineAll(ctx context.Context, s *server) error {
	client, err := apiextensions.NewForConfig(s.config)
	if err != nil {
		return err
	}
	return drive(ctx, 16, defined, func(i int) error {
		_, err := client.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, wideDefinition(i),
			metav1.CreateOptions{})
		return err
	})
}

func useAll(ctx context.Context, s *server, namespace string) error {
	client, err := dynamic.NewForConfig(s.config)
	if err != nil {
		return err
	}
	return drive(ctx, 16, defined, func(i int) error {
		resource := client.Resource(wideResource(i)).Namespace(namespace)
		obj := hitch(0)
		obj.SetAPIVersion(wideResource(i).GroupVersion().String())
		obj.SetKind(fmt.Sprintf("Wide%04d", i))
		if err := createFirst(ctx, resource, obj); err != nil {
			return err
		}
		_, err := resource.Get(ctx, obj.GetName(), metav1.GetOptions{})
		return err
	})
}

func wideResource(i int) schema.GroupVersionResource {
	return schema.GroupVersionResource{
		Group: fmt.Sprintf("g%02d.bench.bowline.example.com", i/groupSize), Version: "v1",
		Resource: fmt.Sprintf("wide%04d", i),
	}
}

// wideDefinition returns a definition with the fields of hitches, without their rules and with descriptions,
// so that its schema is 5 KB of JSON.
func wideDefinition(i int) *apiextensionsv1.CustomResourceDefinition {
	crd := hitchDefinition()
	gvr := wideResource(i)
	crd.Name, crd.Spec.Group = gvr.GroupResource().String(), gvr.Group
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: gvr.Resource,
		Kind: fmt.Sprintf("Wide%04d", i)}
	root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	spec := root.Properties["spec"]
	spec.XValidations = nil
	for name, field := range spec.Properties {
		field.Description = strings.Repeat("What "+name+" means. ", 3)
		spec.Properties[name] = field
	}
	root.Properties["spec"] = spec
	return crd
}

// documents measures the documents through which clients learn of a new kind, each after a definition was
// created: the aggregated discovery of all groups, and the OpenAPI document of the kind's group.
func documents() measurement {
	const times = 10
	return measurement{
		figures: []figure{
			{"aggregated discovery after a CRD is added", milliseconds, 5},
			{"OpenAPI v3 of its group after a CRD is added", milliseconds, 20},
		},
		run: withServer(func(ctx context.Context, s *server, namespace string) ([]reading, error) {
			client, err := apiextensions.NewForConfig(s.config)
			if err != nil {
				return nil, err
			}
			crds := client.ApiextensionsV1().CustomResourceDefinitions()
			get := func(path, accept, has string) func() error {
				return func() error {
					data, err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", accept).DoRaw(ctx)
					if err == nil && !strings.Contains(string(data), has) {
						err = fmt.Errorf("%s does not contain %s", path, has)
					}
					return err
				}
			}
			var discovery, openapi spent
			for i := range times {
				crd := wideDefinition(i)
				if _, err := crds.Create(ctx, crd, metav1.CreateOptions{}); err != nil {
					return nil, err
				}
				s.cleanup = append(s.cleanup, func(ctx context.Context) error {
					return crds.Delete(ctx, crd.Name, metav1.DeleteOptions{})
				})
				kind, group := crd.Spec.Names.Kind, "/openapi/v3/apis/"+wideResource(i).GroupVersion().String()
				discovered, err := s.measure("discovery", 1, get("/apis", aggregated, kind))
				if err != nil {
					return nil, err
				}
				described, err := s.measure("openapi", 1, get(group, "application/json", kind))
				if err != nil {
					return nil, err
				}
				discovery, openapi = discovery.plus(discovered), openapi.plus(described)
			}
			return []reading{discovery.each(), openapi.each()}, nil
		}),
	}
}

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// plus adds two measurements.
func (s spent) plus(t spent) spent {
	return spent{s.elapsed + t.elapsed, s.client + t.client, s.server + t.server, s.requests + t.requests}
}
