package job

import (
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// freeName is the first name with a prefix, from the n-th on, that no pod has. Of the job's own pods only those count that were
// seen, and be it that they are let go: one that has come since then is one of those that are to be made.
func (d *Decision) freeName(prefix string, n int) (string, int) {
	if d.names == nil {
		d.names = map[string]bool{}
		for _, pod := range d.Pods {
			d.names[pod.Name] = true
		}
	}
	for ; ; n++ {
		if name := pods.NameAfter(prefix, d.Job, n); !d.names[name] && !d.Taken(name) {
			return name, n
		}
	}
}

// newPod makes a pod, which will be counted.
func (d *Decision) newPod(name string) *corev1.Pod {
	pod := pods.New(&d.spec.Template, d.Job, kind, name)
	if !isTracked(pod) {
		pod.Finalizers = append(pod.Finalizers, batchv1.JobTrackingFinalizer)
	}
	return pod
}

// indexedPod makes a pod that does a certain part of the work.
func (d *Decision) indexedPod(prefix, name string, i int) *corev1.Pod {
	pod := d.newPod(name)
	pod.GenerateName = prefix
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, strconv.Itoa(i))
	metav1.SetMetaDataLabel(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, strconv.Itoa(i))
	pod.Spec.Hostname = fmt.Sprintf("%s-%d", d.Job.Name, i)
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for c := range list {
			tellIndex(&list[c])
		}
	}
	if d.spec.BackoffLimitPerIndex != nil {
		d.noteFailures(pod, d.delayed[i])
	}
	return pod
}

// longest is how long the generated part of a name leaves what it begins with.
const longest = 58

// indexPrefix is what the names of the pods of an index begin with.
func indexPrefix(job string, i int) string {
	end := fmt.Sprintf("-%d-", i)
	return job[:min(len(job), longest-len(end))] + end
}

// tellIndex has a container find its index in its environment.
func tellIndex(c *corev1.Container) {
	const name = "JOB_COMPLETION_INDEX"
	if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name }) {
		return
	}
	c.Env = append(c.Env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
		FieldPath: "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']",
	}}})
}
