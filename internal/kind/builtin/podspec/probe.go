package podspec

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validateProbes validates the hooks and probes of a container that keeps running.
func validateProbes(s *podScope, c *corev1.Container, path *field.Path) (errs field.ErrorList) {
	if c.Lifecycle != nil {
		errs = append(errs, validateLifecycle(s, c.Lifecycle, path.Child("lifecycle"))...)
	}
	if c.LivenessProbe != nil {
		errs = append(errs, validateLivenessProbe(s, c.LivenessProbe, path.Child("livenessProbe"))...)
	}
	if c.ReadinessProbe != nil {
		at := path.Child("readinessProbe")
		errs = append(errs, validateProbe(s, c.ReadinessProbe, at)...)
		if t := c.ReadinessProbe.TerminationGracePeriodSeconds; t != nil {
			errs = append(errs, field.Invalid(at.Child("terminationGracePeriodSeconds"), t,
				"must not be set for readinessProbes"))
		}
	}
	if c.StartupProbe != nil {
		errs = append(errs, validateLivenessProbe(s, c.StartupProbe, path.Child("startupProbe"))...)
	}
	return errs
}

// validateLivenessProbe validates a probe whose failure restarts the container. Its success threshold must be 1.
func validateLivenessProbe(s *podScope, probe *corev1.Probe, path *field.Path) field.ErrorList {
	errs := validateProbe(s, probe, path)
	if probe.SuccessThreshold != 1 {
		errs = append(errs, field.Invalid(path.Child("successThreshold"), probe.SuccessThreshold, "must be 1"))
	}
	return errs
}

func validateProbe(s *podScope, probe *corev1.Probe, path *field.Path) (errs field.ErrorList) {
	errs = validateHandler(s, handler{exec: probe.Exec, httpGet: probe.HTTPGet, tcpSocket: probe.TCPSocket,
		grpc: probe.GRPC}, path)
	errs = append(errs, fieldcheck.NonNegative(path.Child("initialDelaySeconds"), int64(probe.InitialDelaySeconds))...)
	errs = append(errs, fieldcheck.NonNegative(path.Child("timeoutSeconds"), int64(probe.TimeoutSeconds))...)
	errs = append(errs, fieldcheck.NonNegative(path.Child("periodSeconds"), int64(probe.PeriodSeconds))...)
	errs = append(errs, fieldcheck.NonNegative(path.Child("successThreshold"), int64(probe.SuccessThreshold))...)
	errs = append(errs, fieldcheck.NonNegative(path.Child("failureThreshold"), int64(probe.FailureThreshold))...)
	if t := probe.TerminationGracePeriodSeconds; t != nil && *t <= 0 {
		errs = append(errs, field.Invalid(path.Child("terminationGracePeriodSeconds"), *t, "must be greater than 0"))
	}
	return errs
}

func validateLifecycle(s *podScope, l *corev1.Lifecycle, path *field.Path) (errs field.ErrorList) {
	hooks := []struct {
		name string
		hook *corev1.LifecycleHandler
	}{{"postStart", l.PostStart}, {"preStop", l.PreStop}}
	for _, h := range hooks {
		if h.hook != nil {
			errs = append(errs, validateHandler(s, handler{
				exec: h.hook.Exec, httpGet: h.hook.HTTPGet, tcpSocket: h.hook.TCPSocket, sleep: h.hook.Sleep,
			}, path.Child(h.name))...)
		}
	}
	return errs
}

// handler is the action of a probe or a hook.
type handler struct {
	exec      *corev1.ExecAction
	httpGet   *corev1.HTTPGetAction
	tcpSocket *corev1.TCPSocketAction
	grpc      *corev1.GRPCAction
	sleep     *corev1.SleepAction
}

// validateHandler requires exactly one handler. If several are set, it validates the first, in this order,
// and rejects the others.
func validateHandler(s *podScope, h handler, path *field.Path) (errs field.ErrorList) {
	found := false
	check := func(name string, set bool, validate func(*field.Path) field.ErrorList) {
		switch {
		case !set:
		case found:
			errs = append(errs, field.Forbidden(path.Child(name), "may not specify more than 1 handler type"))
		default:
			found = true
			errs = append(errs, validate(path.Child(name))...)
		}
	}
	check("exec", h.exec != nil, func(at *field.Path) field.ErrorList {
		if len(h.exec.Command) == 0 {
			return field.ErrorList{field.Required(at.Child("command"), "")}
		}
		return nil
	})
	check("httpGet", h.httpGet != nil, func(at *field.Path) field.ErrorList { return validateHTTPGet(h.httpGet, at) })
	check("tcpSocket", h.tcpSocket != nil, func(at *field.Path) field.ErrorList {
		return fieldcheck.Port(at.Child("port"), h.tcpSocket.Port)
	})
	check("grpc", h.grpc != nil, func(at *field.Path) field.ErrorList { return validateGRPC(h.grpc, at) })
	check("sleep", h.sleep != nil, func(at *field.Path) field.ErrorList { return validateSleep(s, h.sleep, at) })
	if !found {
		errs = append(errs, field.Required(path, "must specify a handler type"))
	}
	return errs
}

func validateHTTPGet(get *corev1.HTTPGetAction, path *field.Path) (errs field.ErrorList) {
	errs = fieldcheck.Required(path.Child("path"), get.Path, "")
	errs = append(errs, fieldcheck.Port(path.Child("port"), get.Port)...)
	errs = append(errs, fieldcheck.OneOf(path.Child("scheme"), get.Scheme, corev1.URISchemeHTTP,
		corev1.URISchemeHTTPS)...)
	for _, header := range get.HTTPHeaders {
		errs = append(errs, fieldcheck.Invalid(path.Child("httpHeaders"), header.Name,
			validation.IsHTTPHeaderName(header.Name))...)
	}
	if get.Protocol != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("protocol"), *get.Protocol, corev1.HTTPProtocolHTTP1,
			corev1.HTTPProtocolHTTP2)...)
	}
	return errs
}

func validateGRPC(grpc *corev1.GRPCAction, path *field.Path) field.ErrorList {
	errs := fieldcheck.Port(path.Child("port"), intstr.FromInt32(grpc.Port))
	if grpc.Mode != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("mode"), *grpc.Mode, corev1.GRPCProbeModePlaintext,
			corev1.GRPCProbeModeTLS)...)
	}
	return errs
}

func validateSleep(s *podScope, sleep *corev1.SleepAction, path *field.Path) field.ErrorList {
	grace := s.spec.TerminationGracePeriodSeconds
	if grace == nil || sleep.Seconds >= 0 && sleep.Seconds <= *grace {
		return nil
	}
	return field.ErrorList{field.Invalid(path, sleep.Seconds,
		fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))}
}
