package simulated_test

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/node/simulated"
)

// A container that a kubelet would not create waits, until its pod is corrected.
func TestBlockedContainersStartWhenTheirPodIsCorrected(t *testing.T) {
	t.Parallel()
	mounted := bound("mounted", nil)
	mounted.Spec.Volumes = []corev1.Volume{{Name: "work",
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	c := &mounted.Spec.Containers[0]
	c.Env = []corev1.EnvVar{{Name: "DIR", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['dir']"}}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "work", MountPath: "/work", SubPathExpr: "$(DIR)"}}
	ready := simulated.Prefix + "ready"
	for _, c := range []struct {
		pod                *corev1.Pod
		message, corrected string
	}{
		{bound("annotated", map[string]string{ready: "soon"}),
			`invalid annotation ` + ready + ` "soon": must be a duration such as 500ms, 10s or 2m`,
			`{"metadata":{"annotations":{"` + ready + `":"0s"}}}`},
		{mounted, "missing value for DIR", `{"metadata":{"annotations":{"dir":"logs"}}}`},
	} {
		bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
			create(t, p, c.pod)
			pods := bowlinetest.Client[*corev1.Pod](t, p)
			state := func() corev1.ContainerState {
				pod, err := pods.Get(t.Context(), "default", c.pod.Name)
				if err != nil || len(pod.Status.ContainerStatuses) != 1 {
					t.Fatalf("got %+v (%v), want a pod with a status", pod, err)
				}
				return pod.Status.ContainerStatuses[0].State
			}
			if got := state().Waiting; got == nil || got.Reason != "CreateContainerConfigError" || got.Message != c.message {
				t.Errorf("pod %s: the container waits for %+v, want %q", c.pod.Name, got, c.message)
			}
			if _, err := pods.Patch(t.Context(), "default", c.pod.Name, "", types.MergePatchType, []byte(c.corrected),
				metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := state(); got.Running == nil {
				t.Errorf("pod %s: the container is %+v after the correction, want it running", c.pod.Name, got)
			}
		}, nodes(1, 0))
	}
}
