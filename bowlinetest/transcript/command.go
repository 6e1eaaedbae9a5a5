package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/bowline-dev/bowline/client"
)

const namespace = "default"

// do executes a command.
func (s *stage) do(command string) error {
	verb, rest, _ := strings.Cut(command, " ")
	first, second, _ := strings.Cut(rest, " ")
	switch verb {
	case "apply":
		return s.apply(first)
	case "patch":
		return s.patch(first, "", second)
	case "status":
		return s.patch(first, "status", second)
	case "delete":
		return s.delete(first, second)
	case "run":
		return s.run(s.generatedName(first))
	case "evict":
		return s.evict(first)
	case "wait":
		d, err := time.ParseDuration(first)
		time.Sleep(d)
		return err
	}
	return fmt.Errorf("unknown command %q", verb)
}

// apply applies the objects of a file.
func (s *stage) apply(file string) error {
	data, ok := s.files[file]
	if !ok {
		return fmt.Errorf("the transcript has no file %s", file)
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(s.filled(data)), 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := documents.Decode(obj); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.applyObject(obj); err != nil {
			return err
		}
	}
}

// uid matches references to the UIDs of existing objects in a file.
var uid = regexp.MustCompile(`\$uid\(([^)]*)\)`)

// filled replaces the references to UIDs in a file. An object that does not exist gets a UID of zeros.
func (s *stage) filled(data []byte) []byte {
	return uid.ReplaceAllFunc(data, func(match []byte) []byte {
		kind, name, _ := strings.Cut(string(uid.FindSubmatch(match)[1]), "/")
		for id, obj := range s.observed {
			if id == kind+"/"+namespace+"/"+s.generatedName(name) || id == kind+"//"+name || id == kind+"/"+name {
				return []byte(obj.GetUID())
			}
		}
		return []byte("00000000-0000-0000-0000-000000000000")
	})
}

func (s *stage) applyObject(obj *unstructured.Unstructured) error {
	gvr, namespaced, err := s.served(obj.GroupVersionKind())
	if err != nil {
		return err
	}
	if namespaced && obj.GetNamespace() == "" {
		obj.SetNamespace(namespace)
	}
	_, err = s.resourceClient(gvr).ApplyObject(context.Background(), obj,
		metav1.ApplyOptions{FieldManager: "user", Force: true})
	return err
}

// served returns the resource of a kind, and whether it is namespaced.
func (s *stage) served(kind schema.GroupVersionKind) (schema.GroupVersionResource, bool, error) {
	list, err := s.lists.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err != nil {
		return schema.GroupVersionResource{}, false, err
	}
	for _, r := range list.APIResources {
		if r.Kind == kind.Kind && !strings.Contains(r.Name, "/") {
			return kind.GroupVersion().WithResource(r.Name), r.Namespaced, nil
		}
	}
	return schema.GroupVersionResource{}, false, fmt.Errorf("%s is not served", kind)
}

// named resolves KIND/NAME to a resource, namespace and name.
func (s *stage) named(ref string) (schema.GroupVersionResource, string, string, error) {
	kind, name, _ := strings.Cut(ref, "/")
	gvr, err := s.resource(kind)
	if err != nil {
		return gvr, "", "", err
	}
	if !s.kinds()[gvr].Namespaced {
		return gvr, "", s.generatedName(name), nil
	}
	return gvr, namespace, s.generatedName(name), nil
}

func (s *stage) patch(ref, subresource, patch string) error {
	gvr, namespace, name, err := s.named(ref)
	if err != nil {
		return err
	}
	body := []byte(patch)
	if subresource != "" {
		body = fmt.Appendf(nil, `{%q:%s}`, subresource, patch)
	}
	names := []string{name}
	if name == "*" {
		if names, err = s.allOf(gvr, namespace); err != nil {
			return err
		}
	}
	for _, name := range names {
		_, err := s.resourceClient(gvr).Patch(context.Background(), namespace, name, subresource, types.MergePatchType,
			body,
			metav1.PatchOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

// allOf returns the names of a resource's objects.
func (s *stage) allOf(gvr schema.GroupVersionResource, namespace string) (names []string, err error) {
	page, err := s.resourceClient(gvr).List(context.Background(), namespace, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, obj := range page.Items {
		names = append(names, obj.GetName())
	}
	return names, nil
}

func (s *stage) delete(ref, policy string) error {
	gvr, namespace, name, err := s.named(ref)
	if err != nil {
		return err
	}
	var options metav1.DeleteOptions
	if policy != "" {
		propagation := metav1.DeletionPropagation(policy)
		options.PropagationPolicy = &propagation
	}
	return s.resourceClient(gvr).Delete(context.Background(), namespace, name, options)
}

// run simulates nodes: one pending pod, or all of them, become running and ready.
func (s *stage) run(only string) error {
	pods := client.Of[*corev1.Pod](s.client, schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	page, err := pods.List(context.Background(), "", metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, pod := range page.Items {
		if pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil || only != "" && pod.Name != only {
			continue
		}
		now := metav1.Now()
		body, err := json.Marshal(map[string]any{"status": corev1.PodStatus{
			Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
				LastTransitionTime: now}},
		}})
		if err != nil {
			return err
		}
		if _, err := pods.PatchStatus(context.Background(), pod.Namespace, pod.Name, types.MergePatchType, body,
			metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}
