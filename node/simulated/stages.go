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

// Stages defines what a container does, and when. With the zero value, it starts and becomes ready immediately, and
// runs until it is stopped.
type Stages struct {
	// Pull is the time before the first start, Start the duration of each start, and Ready the time from the end of the
	// start until the container is ready, or Never.
	Pull, Start, Ready time.Duration
	// Ends makes the container exit with ExitCode after it has run for Run. Times is the maximum number of such exits;
	// 0 means no limit.
	Ends     bool
	Run      time.Duration
	ExitCode int32
	Times    int32
	// Stop is the time that the container takes to exit when it is stopped. It is killed at the end of its grace
	// period.
	Stop time.Duration
	// invalid is the error of an invalid annotation of the pod, or of a subPathExpr. The container then does not start.
	invalid error
	// image is the container's image, and missing why it cannot be pulled, empty if it can. never means that the pod
	// does not allow it to be pulled.
	image, missing string
	never          bool
	// stopCode is the exit code of a container that exits because it is stopped.
	stopCode int32
}

// stagesOf returns the stages of a container: the defaults, changed by the pod's kind, and by the container's command
// and probes, and by annotations.
func (r *runtime) stagesOf(pod *corev1.Pod, container string) Stages {
	s := r.options.Stages
	c, initial := named(pod.Spec.InitContainers, container), true
	if c == nil {
		c, initial = ephemeral(pod, container), false
	}
	if c != nil {
		s.Ends, s.Run, s.ExitCode, s.Times = initial && c.RestartPolicy == nil, 0, 0, 0
		s.command(c)
		return s.annotated(pod, c, false, r.images)
	}
	c = named(pod.Spec.Containers, container)
	if c == nil { // an update removed it from the pod
		return s
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if !s.Ends && !s.command(c) && owner != nil && owner.Kind == "Job" {
		s.Ends, s.Run = true, r.options.Job
	}
	if c.ReadinessProbe != nil && s.Ready >= 0 {
		s.Ready = max(s.Ready, time.Duration(c.ReadinessProbe.InitialDelaySeconds)*time.Second)
	}
	return s.annotated(pod, c, true, r.images)
}

func named(containers []corev1.Container, name string) *corev1.Container {
	for i := range containers {
		if containers[i].Name == name {
			return &containers[i]
		}
	}
	return nil
}

// ephemeral returns an ephemeral container of a pod as a container, or nil.
func ephemeral(pod *corev1.Pod, name string) *corev1.Container {
	for i := range pod.Spec.EphemeralContainers {
		if c := &pod.Spec.EphemeralContainers[i].EphemeralContainerCommon; c.Name == name {
			return (*corev1.Container)(c)
		}
	}
	return nil
}

// command sets the run time and the exit code of a container with a simple command, and reports whether the command is
// simple. Such a container exits with code 143 if its pod is deleted before that time; pause and other containers then
// exit with code 0.
func (s *Stages) command(c *corev1.Container) bool {
	end, simple := endingOf(c)
	if !simple {
		return false
	}
	s.Ends, s.Run, s.ExitCode = end.after != Never, max(end.after, 0), end.code
	if !end.pauses {
		s.stopCode = terminatedCode
	}
	return true
}

// annotated applies a pod's annotations for a container, and decides whether its image exists. general includes the
// annotations without a container name, which apply to the regular containers and not to init containers.
func (s Stages) annotated(pod *corev1.Pod, c *corev1.Container, general bool, all images) Stages {
	annotations := annotationReader{pod: pod, container: c.Name, general: general}
	annotations.duration("pull", &s.Pull)
	annotations.duration("start", &s.Start)
	annotations.duration("stop", &s.Stop)
	if value, key := annotations.lookup("ready"); value == "never" {
		s.Ready = Never
	} else if key != "" {
		annotations.duration("ready", &s.Ready)
	}
	if annotations.duration("complete-after", &s.Run) {
		s.Ends, s.ExitCode = true, 0
	}
	if annotations.duration("crash-after", &s.Run) {
		s.Ends, s.ExitCode = true, 1
	}
	annotations.number("exit-code", &s.ExitCode)
	annotations.number("crashes", &s.Times)
	s.setImage(c, all, &annotations)
	if s.invalid = annotations.err; s.invalid == nil {
		s.invalid = checkSubPaths(pod, c)
	}
	return s
}

// annotationReader parses the annotations for a container and records the first error.
type annotationReader struct {
	pod       *corev1.Pod
	container string
	general   bool
	err       error
}

// lookup returns the annotation for the container, or else the general one, and its key, which is empty if there is
// none.
func (r *annotationReader) lookup(what string) (value, key string) {
	if len(r.pod.Annotations) == 0 {
		return "", ""
	}
	key = Prefix + what + "." + r.container
	if value, ok := r.pod.Annotations[key]; ok {
		return strings.TrimSpace(value), key
	}
	key = Prefix + what
	if value, ok := r.pod.Annotations[key]; ok && r.general {
		return strings.TrimSpace(value), key
	}
	return "", ""
}

func (r *annotationReader) duration(what string, into *time.Duration) bool {
	value, key := r.lookup(what)
	if key == "" {
		return false
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		r.reject(key, value, "a duration such as 500ms, 10s or 2m")
		return false
	}
	*into = d
	return true
}

func (r *annotationReader) number(what string, into *int32) {
	value, key := r.lookup(what)
	if key == "" {
		return
	}
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		r.reject(key, value, "a non-negative number")
		return
	}
	*into = int32(n)
}

func (r *annotationReader) reject(key, value, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("invalid annotation %s %q: must be %s", key, value, want)
	}
}
