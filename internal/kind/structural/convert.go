package structural

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Converter converts objects of a definition between its versions, for the conversion strategy Webhook.
type Converter interface {
	// Convert returns a new object in apiVersion for each object, which may have any version, or one error
	// for all. It must not modify the objects, and must be safe for concurrent use.
	Convert(objects []*unstructured.Unstructured, apiVersion string) ([]*unstructured.Unstructured, error)

	// Close releases idle resources. It is called when the definition is no longer served; readers of an
	// older state may still call Convert later.
	Close()
}

// CallsWebhook implements kind.Custom.
func (d *definition) CallsWebhook() bool { return d.converter != nil }

// Convert implements kind.Kind. As in Kubernetes, it drops fields that the other version's schema does not
// define, and applies no defaults: those of the storage version are applied when a stored object is decoded.
func (d *definition) Convert(obj runtime.Object, apiVersion string) (runtime.Object, error) {
	return d.latest().convertOne(obj.(*unstructured.Unstructured), apiVersion, true)
}

// Translate implements kind.Custom.
func (d *definition) Translate(obj runtime.Object, apiVersion string) (runtime.Object, error) {
	return d.latest().convertOne(obj.(*unstructured.Unstructured), apiVersion, false)
}

func (d *definition) convertOne(u *unstructured.Unstructured, apiVersion string, fit bool) (runtime.Object, error) {
	if u.GetAPIVersion() == apiVersion {
		return u, nil
	}
	v := d.defined(apiVersion)
	if v == nil {
		return nil, fmt.Errorf("request to convert CR to an invalid group/version: %s", apiVersion)
	}
	converted, err := d.convert([]*unstructured.Unstructured{u}, v, fit)
	if err != nil {
		return nil, err
	}
	return converted[0], nil
}

// convert converts objects to a version. Objects that have that version are returned unchanged. With fit, it
// drops the fields that the version does not define from the others.
func (d *definition) convert(objects []*unstructured.Unstructured, v *definedVersion,
	fit bool) ([]*unstructured.Unstructured, error) {
	out := make([]*unstructured.Unstructured, len(objects))
	var others []*unstructured.Unstructured
	var at []int
	for i, u := range objects {
		switch from := u.GetAPIVersion(); {
		case from == v.apiVersion:
			out[i] = u
			continue
		case d.defined(from) == nil:
			return nil, fmt.Errorf("request to convert CR from an invalid group/version: %s", from)
		}
		others, at = append(others, u), append(at, i)
	}
	if len(others) == 0 {
		return out, nil
	}
	converted, err := d.converted(others, v.apiVersion)
	if err != nil {
		return nil, err
	}
	for n, u := range converted {
		if fit {
			if _, err := d.fit(u, v, fitOptions{}); err != nil {
				return nil, err
			}
		}
		out[at[n]] = u
	}
	return out, nil
}

func (d *definition) converted(objects []*unstructured.Unstructured,
	apiVersion string) ([]*unstructured.Unstructured, error) {
	if d.converter != nil {
		return d.converter.Convert(objects, apiVersion)
	}
	out := make([]*unstructured.Unstructured, len(objects))
	for i, u := range objects {
		out[i] = u.DeepCopy()
		out[i].SetAPIVersion(apiVersion)
	}
	return out, nil
}
