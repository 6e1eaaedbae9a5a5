package connect

import (
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/request"
)

// decodeOptions returns the options of a request, from the parameters of its URL. Those of a proxy have its path.
func decodeOptions(req *request.Request) (options runtime.Object, err error) {
	q := parameters{req.Query}
	switch req.Sub.Kind.Kind {
	case "PodExecOptions":
		return &corev1.PodExecOptions{Stdin: q.flag("stdin"), Stdout: q.flag("stdout"), Stderr: q.flag("stderr"),
			TTY: q.flag("tty"), Container: q.Get("container"), Command: q.Values["command"]}, nil
	case "PodAttachOptions":
		return &corev1.PodAttachOptions{Stdin: q.flag("stdin"), Stdout: q.flag("stdout"), Stderr: q.flag("stderr"),
			TTY: q.flag("tty"), Container: q.Get("container")}, nil
	case "PodPortForwardOptions":
		o := &corev1.PodPortForwardOptions{}
		for _, text := range q.Values["ports"] {
			port, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			o.Ports = append(o.Ports, int32(port))
		}
		return o, nil
	case "PodProxyOptions":
		return &corev1.PodProxyOptions{Path: req.Below}, nil
	case "NodeProxyOptions":
		return &corev1.NodeProxyOptions{Path: req.Below}, nil
	case "ServiceProxyOptions":
		return &corev1.ServiceProxyOptions{Path: req.Below}, nil
	}
	return decodeLogOptions(req.Name, q)
}

// decodeLogOptions returns the options of a log, which have no kind in discovery documents.
func decodeLogOptions(name string, q parameters) (runtime.Object, error) {
	o := &corev1.PodLogOptions{Container: q.Get("container"), Follow: q.flag("follow"), Previous: q.flag("previous"),
		Timestamps:                   q.flag("timestamps"),
		InsecureSkipTLSVerifyBackend: q.flag("insecureSkipTLSVerifyBackend")}
	for name, into := range map[string]**int64{
		"sinceSeconds": &o.SinceSeconds, "tailLines": &o.TailLines, "limitBytes": &o.LimitBytes,
	} {
		if values := q.Values[name]; len(values) > 0 {
			n, err := strconv.ParseInt(values[0], 10, 64)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			*into = &n
		}
	}
	if values := q.Values["sinceTime"]; len(values) > 0 {
		o.SinceTime = &metav1.Time{}
		if err := o.SinceTime.UnmarshalQueryParameter(values[0]); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if values := q.Values["stream"]; len(values) > 0 {
		o.Stream = &values[0]
	}
	if errs := validateLogOptions(o); len(errs) > 0 {
		return nil, kind.NewInvalid(schema.GroupKind{Kind: "PodLogOptions"}, name, errs)
	}
	return o, nil
}

func validateLogOptions(o *corev1.PodLogOptions) (errs field.ErrorList) {
	if n := o.TailLines; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(field.NewPath("tailLines"), *n, "must be greater than or equal to 0"))
	}
	if n := o.LimitBytes; n != nil && *n < 1 {
		errs = append(errs, field.Invalid(field.NewPath("limitBytes"), *n, "must be greater than 0"))
	}
	switch n := o.SinceSeconds; {
	case n != nil && o.SinceTime != nil:
		errs = append(errs, field.Forbidden(field.NewPath(""),
			"at most one of `sinceTime` or `sinceSeconds` may be specified"))
	case n != nil && *n < 1:
		errs = append(errs, field.Invalid(field.NewPath("sinceSeconds"), *n, "must be greater than 0"))
	}
	if o.Stream != nil { // the feature PodLogsQuerySplitStreams is off by default
		errs = append(errs, field.Forbidden(field.NewPath("stream"), "may not be specified"))
	}
	return errs
}

// parameters are those of a URL; nil if there are none.
type parameters struct{ url.Values }

func (p parameters) flag(name string) bool { return request.Flag(p.Values, name) }

// admit passes the options to the plugins as an object, and takes over their changes.
func admit(plugins func(*request.Request, kind.Object) error, req *request.Request, options runtime.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(options)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(req.Sub.Kind)
	if err := plugins(req, u); err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, options); err != nil {
		return apierrors.NewInternalError(err)
	}
	return nil
}
