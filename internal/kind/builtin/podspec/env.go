package podspec

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

func validateEnv(vars []corev1.EnvVar, path *field.Path) (errs field.ErrorList) {
	for i := range vars {
		at := path.Index(i)
		if vars[i].Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		} else {
			errs = append(errs, fieldcheck.Invalid(at.Child("name"), vars[i].Name,
				validation.IsRelaxedEnvVarName(vars[i].Name))...)
		}
		if vars[i].ValueFrom != nil {
			errs = append(errs, validateValueFrom(&vars[i], at.Child("valueFrom"))...)
		}
	}
	return errs
}

func validateValueFrom(v *corev1.EnvVar, path *field.Path) (errs field.ErrorList) {
	from, sources := v.ValueFrom, 0
	if r := from.FieldRef; r != nil {
		sources++
		errs = append(errs, validateFieldRef(r, envFieldPaths, path.Child("fieldRef"))...)
	}
	if r := from.ResourceFieldRef; r != nil {
		sources++
		errs = append(errs, validateResourceFieldRef(r, path.Child("resourceFieldRef"), false)...)
	}
	if r := from.ConfigMapKeyRef; r != nil {
		sources++
		errs = append(errs, validateKeyRef(r.Name, r.Key, path.Child("configMapKeyRef"))...)
	}
	if r := from.SecretKeyRef; r != nil {
		sources++
		errs = append(errs, validateKeyRef(r.Name, r.Key, path.Child("secretKeyRef"))...)
	}
	if r := from.FileKeyRef; r != nil {
		sources++
		errs = append(errs, validateFileKeyRef(r, path.Child("fileKeyRef"))...)
	}
	switch {
	case sources == 0:
		errs = append(errs, field.Invalid(path, "",
			"must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	case v.Value != "":
		errs = append(errs, field.Invalid(path, "", "may not be specified when `value` is not empty"))
	case sources > 1:
		errs = append(errs, field.Invalid(path, "", "may not have more than one field specified at a time"))
	}
	return errs
}

func validateKeyRef(name, key string, path *field.Path) (errs field.ErrorList) {
	errs = fieldcheck.ObjectName(path.Child("name"), name, false)
	if key == "" {
		return append(errs, field.Required(path.Child("key"), ""))
	}
	return append(errs, fieldcheck.Invalid(path.Child("key"), key, validation.IsConfigMapKey(key))...)
}

// validateFileKeyRef validates a reference to a file in a volume of the pod (API reference, FileKeySelector).
func validateFileKeyRef(r *corev1.FileKeySelector, path *field.Path) (errs field.ErrorList) {
	if r.Key == "" {
		errs = append(errs, field.Required(path.Child("key"), ""))
	} else {
		errs = append(errs, fieldcheck.Invalid(path.Child("key"), r.Key, validation.IsRelaxedEnvVarName(r.Key))...)
	}
	if r.VolumeName == "" {
		errs = append(errs, field.Required(path.Child("volumeName"), ""))
	} else {
		errs = append(errs, fieldcheck.LabelName(path.Child("volumeName"), r.VolumeName)...)
	}
	errs = append(errs, fieldcheck.Required(path.Child("path"), r.Path, "")...)
	return append(errs, fieldcheck.NoBacksteps(path.Child("path"), r.Path)...)
}

// validateFileKeyVolumes checks that the volumes of environment files are emptyDirs of the pod. Kubernetes reports
// these errors after all others.
func validateFileKeyVolumes(s *podScope, path *field.Path) (errs field.ErrorList) {
	eachContainer(s.spec, path, func(c *corev1.Container, at *field.Path) {
		for i := range c.Env {
			from := c.Env[i].ValueFrom
			if from == nil || from.FileKeyRef == nil {
				continue
			}
			of, name := at.Child("env").Index(i).Child("valueFrom", "fileKeyRef", "volumeName"), from.FileKeyRef.VolumeName
			if v, ok := s.volumes[name]; !ok {
				errs = append(errs, field.NotFound(of, name))
			} else if v.EmptyDir == nil {
				errs = append(errs, field.Invalid(of, name, "referenced volume must be of type emptyDir"))
			}
		}
	})
	return errs
}

func validateEnvFrom(sources []corev1.EnvFromSource, path *field.Path) (errs field.ErrorList) {
	for i := range sources {
		from, at, found := &sources[i], path.Index(i), 0
		if from.Prefix != "" {
			errs = append(errs, fieldcheck.Invalid(at.Child("prefix"), from.Prefix,
				validation.IsRelaxedEnvVarName(from.Prefix))...)
		}
		if r := from.ConfigMapRef; r != nil {
			found++
			errs = append(errs, validateEnvFromName(r.Name, at.Child("configMapRef"))...)
		}
		if r := from.SecretRef; r != nil {
			found++
			errs = append(errs, validateEnvFromName(r.Name, at.Child("secretRef"))...)
		}
		switch {
		case found == 0:
			errs = append(errs, field.Invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
		case found > 1:
			errs = append(errs, field.Invalid(path, "", "may not have more than one field specified at a time"))
		}
	}
	return errs
}

func validateEnvFromName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path.Child("name"), "")}
	}
	return fieldcheck.ObjectName(path.Child("name"), name, true)
}

// The fields of a pod that a container may refer to; files may also refer to maps.
var (
	envFieldPaths = []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
		"spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}
	fileFieldPaths = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
		"metadata.uid"}
	// knownFieldPaths are all field paths that the API can convert.
	knownFieldPaths = append([]string{"metadata.annotations", "metadata.labels", "spec.restartPolicy",
		"spec.schedulerName", "status.phase"}, envFieldPaths...)
)

// validateFieldRef validates a reference to a field of the pod, such as metadata.labels['app'].
func validateFieldRef(r *corev1.ObjectFieldSelector, supported []string, path *field.Path) field.ErrorList {
	if r.APIVersion == "" {
		return field.ErrorList{field.Required(path.Child("apiVersion"), "")}
	}
	if r.FieldPath == "" {
		return field.ErrorList{field.Required(path.Child("fieldPath"), "")}
	}
	if r.APIVersion != "v1" {
		return field.ErrorList{field.Invalid(path.Child("fieldPath"), r.FieldPath,
			"error converting fieldPath: unsupported pod version: "+r.APIVersion)}
	}
	if name, key, ok := splitSubscript(r.FieldPath); ok {
		return validateSubscript(name, key, path)
	}
	fieldPath := r.FieldPath
	if fieldPath == "spec.host" {
		fieldPath = "spec.nodeName"
	}
	if !slices.Contains(knownFieldPaths, fieldPath) {
		return field.ErrorList{field.Invalid(path.Child("fieldPath"), r.FieldPath,
			"error converting fieldPath: field label not supported: "+r.FieldPath)}
	}
	return fieldcheck.OneOf(path.Child("fieldPath"), fieldPath, supported...)
}

// splitSubscript parses name['key'].
func splitSubscript(fieldPath string) (name, key string, ok bool) {
	rest, ok := strings.CutSuffix(fieldPath, "']")
	if !ok {
		return "", "", false
	}
	name, key, ok = strings.Cut(rest, "['")
	return name, key, ok && name != ""
}

func validateSubscript(name, key string, path *field.Path) field.ErrorList {
	switch name {
	case "metadata.annotations":
		return fieldcheck.QualifiedName(path, strings.ToLower(key))
	case "metadata.labels":
		return fieldcheck.QualifiedName(path, key)
	}
	label := name + "['" + key + "']"
	return field.ErrorList{field.Invalid(path.Child("fieldPath"), label,
		"error converting fieldPath: field label does not support subscript: "+label)}
}

var containerFieldPaths = []string{"limits.cpu", "limits.ephemeral-storage", "limits.memory",
	"requests.cpu", "requests.ephemeral-storage", "requests.memory"}

func isHugePageField(resource string) bool {
	return strings.HasPrefix(resource, "requests.hugepages-") || strings.HasPrefix(resource, "limits.hugepages-")
}

// validateResourceFieldRef validates a reference to a container's requests or limits. In a volume it must
// name the container.
func validateResourceFieldRef(r *corev1.ResourceFieldSelector, path *field.Path, inVolume bool) (errs field.ErrorList) {
	switch {
	case inVolume && r.ContainerName == "":
		errs = append(errs, field.Required(path.Child("containerName"), ""))
	case r.Resource == "":
		errs = append(errs, field.Required(path.Child("resource"), ""))
	case !isHugePageField(r.Resource):
		errs = append(errs, fieldcheck.OneOf(path.Child("resource"), r.Resource, containerFieldPaths...)...)
	}
	return append(errs, validateDivisor(r, path.Child("divisor"))...)
}

const byteDivisors = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"

func validateDivisor(r *corev1.ResourceFieldSelector, path *field.Path) field.ErrorList {
	if r.Divisor.IsZero() {
		return nil
	}
	refuse := func(values, resource string) field.ErrorList {
		return field.ErrorList{field.Invalid(path, r.Resource,
			"only divisor's values "+values+" are supported with the "+resource+" resource")}
	}
	divisor := r.Divisor.String()
	bytes := slices.Contains(strings.Split(byteDivisors, ", "), divisor)
	list, resource, _ := strings.Cut(r.Resource, ".")
	switch {
	case list != "limits" && list != "requests":
	case resource == "cpu" && divisor != "1m" && divisor != "1":
		return refuse("1m and 1", "cpu")
	case resource == "memory" && !bytes:
		return refuse(byteDivisors, "memory")
	case resource == "ephemeral-storage" && !bytes:
		return refuse(byteDivisors, "local ephemeral storage")
	case isHugePageField(r.Resource) && !bytes:
		return refuse(byteDivisors, "hugepages")
	}
	return nil
}
