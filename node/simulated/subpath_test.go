package simulated

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSubPathExprsAreChecked(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "default", UID: "u",
		Annotations: map[string]string{"dir": "logs", "root": "/tmp"}, Labels: map[string]string{"app": "web"}}}
	ref := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	env := []corev1.EnvVar{
		{Name: "UP", Value: ".."}, {Name: "ABS", Value: "/tmp"}, {Name: "EMPTY"}, {Name: "TWICE", Value: "$(UP)/$(UP)"},
		ref("NAME", "metadata.name"), ref("APP", "metadata.labels['app']"), ref("DIR", "metadata.annotations['dir']"),
		ref("ROOT", "metadata.annotations['root']"), ref("GONE", "metadata.annotations['gone']"),
		ref("IP", "status.podIP"), {Name: "AT", Value: "$(IP)/x"}, {Name: "LATER", Value: "$(LAST)"},
		{Name: "CONFIG", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "k"}}},
		{Name: "LAST", Value: "last"},
	}
	for i := range 40 { // the last one would have 2^40 bytes
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("D%d", i+1), Value: fmt.Sprintf("$(D%d)$(D%[1]d)", i)})
	}
	for _, c := range []struct{ expr, want string }{
		{"logs", ""}, {"$(NAME)", ""}, {"$(DIR)/$(APP)", ""}, {"$(IP)", ""}, {"$(AT)/..", ""}, {"$(CONFIG)", ""},
		{"$(WEB_SERVICE_HOST)", ""}, {"$$(UP)", ""}, {"$(NAME", ""}, {"$", ""}, {"a..b", ""}, {"$(LATER)", ""}, {"$(D40)", ""},
		{"$(UP)", "unable to provision SubPath `..`: must not contain '..'"},
		{"a/$(TWICE)", "unable to provision SubPath `a/../..`: must not contain '..'"},
		{"$(ABS)", "error SubPath `/tmp` must not be an absolute path"},
		{"$(ROOT)/x", "error SubPath `/tmp/x` must not be an absolute path"},
		{"$(GONE)/$(NAME)", "missing value for GONE"},
		{"$(NONE)/$(EMPTY)/$(NONE)", "missing value for EMPTY, NONE"},
	} {
		container := &corev1.Container{Env: env, VolumeMounts: []corev1.VolumeMount{{SubPath: "a"}, {SubPathExpr: c.expr}}}
		got := ""
		if err := checkSubPaths(pod, container); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("subPathExpr %q: got the error %q, want %q", c.expr, got, c.want)
		}
	}
	container := &corev1.Container{EnvFrom: make([]corev1.EnvFromSource, 1),
		VolumeMounts: []corev1.VolumeMount{{SubPathExpr: "$(ANY)"}}}
	if err := checkSubPaths(pod, container); err != nil {
		t.Errorf("a container with envFrom: got the error %q, want none", err)
	}
}
