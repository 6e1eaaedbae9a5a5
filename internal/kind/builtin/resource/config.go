package resource

import (
	"encoding/json"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkConfig checks a configuration of devices. stored reports whether the old object had it; then its parameters may
// exceed the limit for new ones.
func checkConfig(c *resourcev1.DeviceConfiguration, stored bool, path *field.Path) (f findings) {
	at := path.Child("opaque")
	if c.Opaque == nil {
		f.write(field.Required(at, ""))
		return f
	}
	f.declare(declaredDriverName(at.Child("driver"), c.Opaque.Driver)...)
	most := resourcev1.OpaqueParametersMaxLength
	if stored {
		most = len(c.Opaque.Parameters.Raw)
	}
	f.write(jsonObject(at.Child("parameters"), c.Opaque.Parameters.Raw, most)...)
	return f
}

// jsonObject requires a JSON object; most is its maximum size in bytes.
func jsonObject(path *field.Path, data []byte, most int) field.ErrorList {
	if len(data) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(data) > most {
		return field.ErrorList{field.TooLong(path, "", most)}
	}
	const omitted = "<value omitted>"
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return field.ErrorList{field.Invalid(path, omitted, "error parsing data as JSON: "+err.Error())}
	}
	switch value.(type) {
	case nil:
		return field.ErrorList{field.Required(path, "")}
	case map[string]any:
		return nil
	}
	return field.ErrorList{field.Invalid(path, omitted, "must be a valid JSON object")}
}
