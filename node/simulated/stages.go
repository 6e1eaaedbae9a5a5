package simulated

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Prefix is the prefix of all annotations and labels of simulated nodes and their pods.
const Prefix = "simulated.bowline.dev/"

// Never is the value of Stages.Ready for a container that never becomes ready.
const Never time.Duration = -1

// Stages define what a container does, and when. With the zero value, it starts immediately, is ready, and
// ends when it is stopped.
type Stages struct {
	// Pull is the time before the first start, Start the duration of each start, and Ready the time from then
	// until the container is ready.
	Pull, Start, Ready time.Duration
	// Ends makes the container exit with ExitCode after it has run for Run. Times limits how often that
	// happens; 0 means always.
	Ends     bool
	Run      time.Duration
	ExitCode int32
	Times    int32
	// Stop is the time that the container takes to end when it is stopped. It is killed when its grace period
	// is over.
	Stop time.Duration
	// invalid is what is wrong with the pod's annotations. Such a container does not start.
	invalid error
}

// stagesOf returns the stages of a container.
func (r *runtime) stagesOf(pod *corev1.Pod, container string) Stages {
	s := r.options.Stages
	if c := initContainer(pod, container); c != nil {
		s.Ends, s.Run, s.ExitCode, s.Times = c.RestartPolicy == nil, 0, 0, 0
		return s.annotated(pod, container, false)
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "Job" && !s.Ends {
		s.Ends, s.Run = true, r.options.Job
	}
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == container && c.ReadinessProbe != nil && s.Ready >= 0 {
			s.Ready = max(s.Ready, time.Duration(c.ReadinessProbe.InitialDelaySeconds)*time.Second)
		}
	}
	return s.annotated(pod, container, true)
}

func initContainer(pod *corev1.Pod, name string) *corev1.Container {
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == name {
			return &pod.Spec.InitContainers[i]
		}
	}
	return nil
}

// annotated applies a pod's annotations. Annotations without a container name apply to the regular containers
// only, not to init containers.
func (s Stages) annotated(pod *corev1.Pod, container string, all bool) Stages {
	said := annotationReader{pod: pod, container: container, all: all}
	said.duration("pull", &s.Pull)
	said.duration("start", &s.Start)
	said.duration("stop", &s.Stop)
	if value, key := said.of("ready"); value == "never" {
		s.Ready = Never
	} else if key != "" {
		said.duration("ready", &s.Ready)
	}
	if said.duration("complete-after", &s.Run) {
		s.Ends, s.ExitCode = true, 0
	}
	if said.duration("crash-after", &s.Run) {
		s.Ends, s.ExitCode = true, 1
	}
	said.number("exit-code", &s.ExitCode)
	said.number("crashes", &s.Times)
	s.invalid = said.wrong
	return s
}

// annotationReader reads the annotations for a container, and records the first error.
type annotationReader struct {
	pod       *corev1.Pod
	container string
	all       bool
	wrong     error
}

// of returns the annotation for the container, or else for all containers, and the key under which it was
// found, which is empty if there is none.
func (r *annotationReader) of(what string) (value, key string) {
	if len(r.pod.Annotations) == 0 {
		return "", ""
	}
	key = Prefix + what + "." + r.container
	if value, ok := r.pod.Annotations[key]; ok {
		return strings.TrimSpace(value), key
	}
	key = Prefix + what
	if value, ok := r.pod.Annotations[key]; ok && r.all {
		return strings.TrimSpace(value), key
	}
	return "", ""
}

func (r *annotationReader) duration(what string, into *time.Duration) bool {
	value, key := r.of(what)
	if key == "" {
		return false
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		r.refuse(key, value, "a duration such as 500ms, 10s or 2m")
		return false
	}
	*into = d
	return true
}

func (r *annotationReader) number(what string, into *int32) {
	value, key := r.of(what)
	if key == "" {
		return
	}
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		r.refuse(key, value, "a number")
		return
	}
	*into = int32(n)
}

func (r *annotationReader) refuse(key, value, want string) {
	if r.wrong == nil {
		r.wrong = fmt.Errorf("invalid annotation %s %q: must be %s", key, value, want)
	}
}
