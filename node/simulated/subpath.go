package simulated

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// maxValue bounds the values that are computed: a file system accepts no longer path, and variables that contain one
// another twice would double with each.
const maxValue = 4096

// checkSubPaths returns the error with which a kubelet refuses to create a container because of a subPathExpr of its
// volume mounts: a variable has no value, or the path is absolute or contains "..". Variables whose values a simulated
// node does not know, such as those of ConfigMaps, are taken to be correct.
func checkSubPaths(pod *corev1.Pod, c *corev1.Container) error {
	hasExpr := func(m corev1.VolumeMount) bool { return m.SubPathExpr != "" }
	if !slices.ContainsFunc(c.VolumeMounts, hasExpr) {
		return nil
	}
	variables := variablesOf(pod, c)
	for i := range c.VolumeMounts {
		if m := &c.VolumeMounts[i]; hasExpr(*m) {
			if err := checkSubPath(m.SubPathExpr, variables); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkSubPath(expr string, variables variables) error {
	var missing []string
	at, known := expand(expr, func(name string) (string, bool) {
		value, declared := variables.lookup(name)
		if value.known && value.text == "" || !declared && !variables.more && !isServiceVariable(name) {
			missing = append(missing, name)
		}
		return value.text, value.known
	})
	switch slices.Sort(missing); {
	case len(missing) > 0:
		return fmt.Errorf("missing value for %s", strings.Join(slices.Compact(missing), ", "))
	case !known:
		return nil
	case path.IsAbs(at):
		return fmt.Errorf("error SubPath `%s` must not be an absolute path", at)
	case slices.Contains(strings.Split(at, "/"), ".."):
		return fmt.Errorf("unable to provision SubPath `%s`: must not contain '..'", at)
	}
	return nil
}

// isServiceVariable reports whether a kubelet may set a variable for a service, such as WEB_SERVICE_HOST.
func isServiceVariable(name string) bool {
	return strings.Contains(name, "_SERVICE_") || strings.Contains(name, "_PORT")
}

// variables are the environment variables that a container declares.
type variables struct {
	values map[string]value
	// more means that ConfigMaps or Secrets add others.
	more bool
}

// value is the value of a variable; the text is empty if a simulated node does not know the value.
type value struct {
	text  string
	known bool
}

func (v variables) lookup(name string) (value, bool) {
	found, declared := v.values[name]
	return found, declared
}

// variablesOf returns the variables of a container. As in a container, each may refer to those before it.
func variablesOf(pod *corev1.Pod, c *corev1.Container) variables {
	all := variables{values: make(map[string]value, len(c.Env)), more: len(c.EnvFrom) > 0}
	for i := range c.Env {
		switch v := &c.Env[i]; {
		case v.ValueFrom == nil:
			text, known := expand(v.Value, func(name string) (string, bool) {
				found, declared := all.lookup(name)
				if !declared && !all.more && !isServiceVariable(name) {
					return "$(" + name + ")", true
				}
				return found.text, found.known
			})
			all.values[v.Name] = value{text, known}
		case v.ValueFrom.FieldRef != nil:
			text, known := podField(pod, v.ValueFrom.FieldRef.FieldPath)
			all.values[v.Name] = value{text, known}
		default:
			all.values[v.Name] = value{}
		}
	}
	return all
}

// podField returns a field of a pod that the downward API offers and that does not change while the pod starts.
func podField(pod *corev1.Pod, field string) (text string, known bool) {
	switch field {
	case "metadata.name":
		return pod.Name, true
	case "metadata.namespace":
		return pod.Namespace, true
	case "metadata.uid":
		return string(pod.UID), true
	case "spec.nodeName":
		return pod.Spec.NodeName, true
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, true
	}
	name, key, _ := strings.Cut(strings.TrimSuffix(field, "']"), "['")
	switch name {
	case "metadata.annotations":
		return pod.Annotations[key], key != ""
	case "metadata.labels":
		return pod.Labels[key], key != ""
	}
	return "", false
}

// expand replaces each $(NAME) in a text by the variable's value, and $$ by $. It returns false if a value is unknown,
// or the result longer than maxValue.
func expand(text string, lookup func(name string) (value string, known bool)) (expanded string, known bool) {
	var b strings.Builder
	known = true
	for b.Len() <= maxValue {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String(), known && b.Len() <= maxValue
		}
		name, rest, closed := strings.Cut(after, ")")
		switch {
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			text = after[1:]
		case closed && strings.HasPrefix(name, "("):
			value, ok := lookup(name[1:])
			known = known && ok
			b.WriteString(value)
			text = rest
		default:
			b.WriteByte('$')
			text = after
		}
	}
	return "", false
}
