package structural

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Converter takes objects of a definition to another of its versions, as the conversion strategy Webhook does.
type Converter interface {
	// Convert gives for each object, in whatever version it is, a new one in apiVersion, or an error for all. It changes
	// nothing of its argument, and must be safe for concurrent use.
	Convert(objects []*unstructured.Unstructured, apiVersion string) ([]*unstructured.Unstructured, error)

	// Close gives back what the converter holds between calls. It is called when its definition is no longer served; who
	// reads an older state may still ask for conversions.
	Close()
}

// Convert implements kind.Kind. As Kubernetes does, it leaves out what the other version's schema does not know, and sets no
// defaults: those of the version that an object is stored in are set when it is read.
func (d *definition) Convert(obj runtime.Object, apiVersion string) (runtime.Object, error) {
	return d.latest().convertOne(obj.(*unstructured.Unstructured), apiVersion, true)
}

// Translate implements kind.Translator.
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

// convert takes objects to a version: those that are in it already stay themselves, the others become new ones, which fit
// leaves without what the version does not know.
func (d *definition) convert(objects []*unstructured.Unstructured, v *definedVersion, fit bool) ([]*unstructured.Unstructured, error) {
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
			if _, err := d.fit(u, v, coercion{}); err != nil {
				return nil, err
			}
		}
		out[at[n]] = u
	}
	return out, nil
}

func (d *definition) converted(objects []*unstructured.Unstructured, apiVersion string) ([]*unstructured.Unstructured, error) {
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
