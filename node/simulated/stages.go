package simulated

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Prefix is that of all annotations and labels of simulated nodes and their pods.
const Prefix = "simulated.bowline.dev/"

// Never, as Stages.Ready, is a container that is never ready.
const Never time.Duration = -1

// Stages are what a container does, and when. The zero value runs at once, is ready, and ends when it is asked to.
type Stages struct {
	// Pull is before the container is started for the first time, Start before each start, Ready after that.
	Pull, Start, Ready time.Duration
	// Ends says that it ends by itself, with ExitCode, after it has Run for so long: so many Times, or always when that is 0.
	Ends     bool
	Run      time.Duration
	ExitCode int32
	Times    int32
	// Stop is how long it takes to end when it is asked to. It is killed when its grace period is over.
	Stop time.Duration
	// Wrong is what is wrong with the pod's annotations. Such a container does not start.
	Wrong error
}

// stagesOf are those of one container of a pod.
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

// annotated are the stages with what a pod's annotations say. Those that name no container mean the pod's own containers, not
// its init containers.
func (s Stages) annotated(pod *corev1.Pod, container string, all bool) Stages {
	said := reading{pod: pod, container: container, all: all}
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
	s.Wrong = said.wrong
	return s
}

// reading reads the annotations about one container, and keeps what is first wrong.
type reading struct {
	pod       *corev1.Pod
	container string
	all       bool
	wrong     error
}

// of is an annotation about the container, or about all, with the key under which it was found; that is empty if there is none.
func (r *reading) of(what string) (value, key string) {
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

func (r *reading) duration(what string, into *time.Duration) bool {
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

func (r *reading) number(what string, into *int32) {
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

func (r *reading) refuse(key, value, want string) {
	if r.wrong == nil {
		r.wrong = fmt.Errorf("the annotation %s is %q: it must be %s", key, value, want)
	}
}
