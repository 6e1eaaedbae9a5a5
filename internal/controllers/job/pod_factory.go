package job

import (
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// podFactory builds the pods of a job.
type podFactory struct {
	job       *batchv1.Job
	spec      jobSpec
	observed  []*corev1.Pod          // the pods whose names are not used again
	nameTaken func(name string) bool // see Input.NameTaken
	names     map[string]bool        // names of observed; built on first use
}

// freeName returns the first name with a prefix, counting from n, that no other pod has. Of the job's own
// pods, only observed ones count, including pods being released. The name of a pod created since the
// observation is thus returned again, and creating that pod a second time fails harmlessly.
func (f *podFactory) freeName(prefix string, n int) (string, int) {
	if f.names == nil {
		f.names = map[string]bool{}
		for _, pod := range f.observed {
			f.names[pod.Name] = true
		}
	}
	for ; ; n++ {
		if name := pods.NameWithPrefix(prefix, f.job, n); !f.names[name] && !f.nameTaken(name) {
			return name, n
		}
	}
}

// newPod returns a pod with the tracking finalizer.
func (f *podFactory) newPod(name string) *corev1.Pod {
	pod := pods.New(&f.spec.Template, f.job, kind, name)
	if !isTracked(pod) {
		pod.Finalizers = append(pod.Finalizers, batchv1.JobTrackingFinalizer)
	}
	return pod
}

// indexedPod returns a pod for a completion index; last is its failed predecessor, or nil.
func (f *podFactory) indexedPod(prefix, name string, i int, last *corev1.Pod) *corev1.Pod {
	pod := f.newPod(name)
	pod.GenerateName = prefix
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, strconv.Itoa(i))
	metav1.SetMetaDataLabel(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, strconv.Itoa(i))
	pod.Spec.Hostname = fmt.Sprintf("%s-%d", f.job.Name, i)
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for c := range list {
			addIndexEnv(&list[c])
		}
	}
	if f.spec.BackoffLimitPerIndex != nil {
		annotateFailures(f.spec.PodFailurePolicy, pod, last)
	}
	return pod
}

// maxPrefix is the length of a generated name without its random suffix.
const maxPrefix = 58

// indexPrefix returns the prefix of the names of an index's pods.
func indexPrefix(job string, i int) string {
	end := fmt.Sprintf("-%d-", i)
	return job[:min(len(job), maxPrefix-len(end))] + end
}

// addIndexEnv adds the completion index to a container's environment.
func addIndexEnv(c *corev1.Container) {
	const name = "JOB_COMPLETION_INDEX"
	if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name }) {
		return
	}
	c.Env = append(c.Env, corev1.EnvVar{Name: name,
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
			FieldPath: "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']",
		}}})
}
