package resource

import (
	"bytes"
	"encoding/json"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/api/resource/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind"
)

// legacy is the version whose structs differ from the hub's: a request has the fields of ExactDeviceRequest itself, a
// device has most fields in basic, and empty values stand for a slice's missing node. The JSON of all other parts is
// the same, and convert copies them. Device classes are the same in both versions.
const legacy = "resource.k8s.io/v1beta1"

func claimVersions() map[string]kind.Version[*resourcev1.ResourceClaim] {
	return map[string]kind.Version[*resourcev1.ResourceClaim]{legacy: {
		New: func() runtime.Object { return &v1beta1.ResourceClaim{} },
		ToHub: func(obj runtime.Object) (*resourcev1.ResourceClaim, error) {
			old := obj.(*v1beta1.ResourceClaim)
			c := &resourcev1.ResourceClaim{ObjectMeta: old.ObjectMeta}
			if err := claimSpecToHub(&old.Spec, &c.Spec); err != nil {
				return nil, err
			}
			return c, convert(&old.Status, &c.Status)
		},
		FromHub: func(c *resourcev1.ResourceClaim) (runtime.Object, error) {
			old := &v1beta1.ResourceClaim{ObjectMeta: *c.ObjectMeta.DeepCopy()}
			old.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind("ResourceClaim"))
			if err := claimSpecFromHub(&c.Spec, &old.Spec); err != nil {
				return nil, err
			}
			return old, convert(&c.Status, &old.Status)
		},
	}}
}

func claimTemplateVersions() map[string]kind.Version[*resourcev1.ResourceClaimTemplate] {
	return map[string]kind.Version[*resourcev1.ResourceClaimTemplate]{legacy: {
		New: func() runtime.Object { return &v1beta1.ResourceClaimTemplate{} },
		ToHub: func(obj runtime.Object) (*resourcev1.ResourceClaimTemplate, error) {
			old := obj.(*v1beta1.ResourceClaimTemplate)
			t := &resourcev1.ResourceClaimTemplate{ObjectMeta: old.ObjectMeta}
			t.Spec.ObjectMeta = old.Spec.ObjectMeta
			return t, claimSpecToHub(&old.Spec.Spec, &t.Spec.Spec)
		},
		FromHub: func(t *resourcev1.ResourceClaimTemplate) (runtime.Object, error) {
			old := &v1beta1.ResourceClaimTemplate{ObjectMeta: *t.ObjectMeta.DeepCopy()}
			old.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind("ResourceClaimTemplate"))
			old.Spec.ObjectMeta = *t.Spec.ObjectMeta.DeepCopy()
			return old, claimSpecFromHub(&t.Spec.Spec, &old.Spec.Spec)
		},
	}}
}

func sliceVersions() map[string]kind.Version[*resourcev1.ResourceSlice] {
	return map[string]kind.Version[*resourcev1.ResourceSlice]{legacy: {
		New: func() runtime.Object { return &v1beta1.ResourceSlice{} },
		ToHub: func(obj runtime.Object) (*resourcev1.ResourceSlice, error) {
			old := obj.(*v1beta1.ResourceSlice)
			s := &resourcev1.ResourceSlice{ObjectMeta: old.ObjectMeta}
			return s, sliceSpecToHub(&old.Spec, &s.Spec)
		},
		FromHub: func(s *resourcev1.ResourceSlice) (runtime.Object, error) {
			old := &v1beta1.ResourceSlice{ObjectMeta: *s.ObjectMeta.DeepCopy()}
			old.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind("ResourceSlice"))
			return old, sliceSpecFromHub(&s.Spec, &old.Spec)
		},
	}}
}

func claimSpecToHub(old *v1beta1.ResourceClaimSpec, spec *resourcev1.ResourceClaimSpec) error {
	others := *old
	others.Devices.Requests = nil
	if err := convert(&others, spec); err != nil || old.Devices.Requests == nil {
		return err
	}
	spec.Devices.Requests = make([]resourcev1.DeviceRequest, len(old.Devices.Requests))
	for i := range old.Devices.Requests {
		if err := requestToHub(old.Devices.Requests[i], &spec.Devices.Requests[i]); err != nil {
			return err
		}
	}
	return nil
}

// requestToHub sets exactly if the old request has any of its fields.
func requestToHub(old v1beta1.DeviceRequest, r *resourcev1.DeviceRequest) error {
	r.Name = old.Name
	if old.FirstAvailable != nil {
		if err := convert(old.FirstAvailable, &r.FirstAvailable); err != nil {
			return err
		}
	}
	if old.DeviceClassName == "" && old.Selectors == nil && old.AllocationMode == "" && old.Count == 0 &&
		old.AdminAccess == nil && old.Tolerations == nil && old.Capacity == nil && old.DerivedAttributes == nil {
		return nil
	}
	r.Exactly, old.FirstAvailable = &resourcev1.ExactDeviceRequest{}, nil
	return convert(&old, r.Exactly)
}

func claimSpecFromHub(spec *resourcev1.ResourceClaimSpec, old *v1beta1.ResourceClaimSpec) error {
	others := *spec
	others.Devices.Requests = nil
	if err := convert(&others, old); err != nil || spec.Devices.Requests == nil {
		return err
	}
	old.Devices.Requests = make([]v1beta1.DeviceRequest, len(spec.Devices.Requests))
	for i := range spec.Devices.Requests {
		r, to := &spec.Devices.Requests[i], &old.Devices.Requests[i]
		if r.Exactly != nil {
			if err := convert(r.Exactly, to); err != nil {
				return err
			}
		}
		to.Name = r.Name
		if r.FirstAvailable != nil {
			if err := convert(r.FirstAvailable, &to.FirstAvailable); err != nil {
				return err
			}
		}
	}
	return nil
}

func sliceSpecToHub(old *v1beta1.ResourceSliceSpec, spec *resourcev1.ResourceSliceSpec) error {
	others := *old
	others.Devices = nil
	if err := convert(&others, spec); err != nil || old.Devices == nil {
		return err
	}
	spec.Devices = make([]resourcev1.Device, len(old.Devices))
	for i := range old.Devices {
		d := &spec.Devices[i]
		if basic := old.Devices[i].Basic; basic != nil {
			if err := convert(basic, d); err != nil {
				return err
			}
		}
		d.Name = old.Devices[i].Name
	}
	return nil
}

func sliceSpecFromHub(spec *resourcev1.ResourceSliceSpec, old *v1beta1.ResourceSliceSpec) error {
	others := *spec
	others.Devices = nil
	if err := convert(&others, old); err != nil || spec.Devices == nil {
		return err
	}
	old.Devices = make([]v1beta1.Device, len(spec.Devices))
	for i := range spec.Devices {
		d := &spec.Devices[i]
		old.Devices[i] = v1beta1.Device{Name: d.Name, Basic: &v1beta1.BasicDevice{}}
		if err := convert(d, old.Devices[i].Basic); err != nil {
			return err
		}
	}
	return nil
}

// convert copies the fields that a struct of one version has in common with one of another, by their JSON. The two
// share no memory.
func convert(from, to any) error {
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false) // leave the parameters of configurations as they are
	err := e.Encode(from)
	if err == nil {
		err = json.Unmarshal(data.Bytes(), to)
	}
	if err != nil {
		return fmt.Errorf("converting %T: %w", from, err)
	}
	return nil
}
