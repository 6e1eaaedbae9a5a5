package write

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/patch"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/server/stored"
)

// ownKind returns the kind that the body of a request should have.
func ownKind(req *request.Request) schema.GroupVersionKind {
	if req.Sub != nil && req.Sub.New != nil {
		return req.Sub.Kind
	}
	return req.GVK
}

// complete returns the kind and version of a body, and the own ones where the body has none.
func complete(header, own schema.GroupVersionKind) schema.GroupVersionKind {
	if header.Kind == "" {
		header.Kind = own.Kind
	}
	if header.Version == "" && header.Group == "" {
		header.Group = own.Group
	}
	if header.Version == "" && header.Group == own.Group {
		header.Version = own.Version
	}
	return header
}

// otherBody returns the 400 of a create or update whose body has another kind or version than the URL. As in
// Kubernetes, the body is decoded as what it says it is, and errors of that are reported first.
func otherBody(op *operation, header schema.GroupVersionKind, format object.Format, body, data []byte) error {
	own, shorter := ownKind(op.req), shownKind(header)
	if header.Version == "" {
		return badBody(op.req, shorter, body, runtime.NewMissingVersionErr(shown(string(body))))
	}
	if !registered(op.req, header) {
		return badBody(op.req, shorter, body, status.NotRegistered(own.Group, shorter))
	}
	if other, ok := stored.Named(op.Kinds.Kinds(), header); ok {
		form := object.Form{APIVersion: header.GroupVersion().String(), Format: format}
		_, unknown, err := other.Receive(form, data, op.Lenient())
		if err != nil {
			return badBody(op.req, shorter, body, err)
		}
		if header.Kind == own.Kind {
			if err := op.checkStrictness(header, unknown); err != nil {
				return err
			}
		}
	}
	if header.Kind != own.Kind {
		return badBody(op.req, shorter, body, noConversion(op.req, shorter))
	}
	return apierrors.NewBadRequest(fmt.Sprintf(
		"the API version in the data (%s) does not match the expected API version (%s)", shorter.GroupVersion(),
		own.GroupVersion()))
}

// shownKind returns a kind for an error, which would otherwise repeat all of a very long one.
func shownKind(of schema.GroupVersionKind) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: shown(of.Group), Version: shown(of.Version), Kind: shown(of.Kind)}
}

// registered reports whether kube-apiserver's scheme has a kind, in the group-version of the body. Kinds that only
// this server serves count as registered.
func registered(req *request.Request, gvk schema.GroupVersionKind) bool {
	info := req.Info
	return status.Registered(ownKind(req).Group, gvk) ||
		info.Builtin && info.Kind == gvk.Kind && info.Endpoint(gvk.GroupVersion()) != nil
}

// noConversion is kube-apiserver's error of a body whose kind is not that of the URL.
func noConversion(req *request.Request, from schema.GroupVersionKind) error {
	own := ownKind(req)
	group := own.Group
	if own == req.GVK {
		group = req.Info.Endpoints[0].Group
	}
	return fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion", from.Version, from.Kind,
		status.InternalGroup(group), own.Kind)
}

// patchedVersion returns the version in which the result of a patch is decoded. It returns the answer to a patch whose
// result has another kind, or a version that is not registered. As in Kubernetes, a strategic merge patch cannot change
// either, and the result of another patch may have any version of the kind.
func (p *patching) patchedVersion(header schema.GroupVersionKind, after []byte) (apiVersion string, err error) {
	own := ownKind(p.req)
	invalid := func(err error) error { return patch.DecodeError(p.t, p.body, after, nil, err) }
	if header.Kind == "" {
		header.Kind = own.Kind
	}
	gv := header.GroupVersion()
	switch {
	case header == own || p.t == types.StrategicMergePatchType:
		return own.GroupVersion().String(), nil
	case gv.Empty() && header.Kind == own.Kind: // the internal version, whose fields have no JSON names
		return "", undeterminableName(p.req)
	case gv.Empty():
		header.Group, header.Version = own.Group, runtime.APIVersionInternal
		return "", invalid(status.NotRegistered(own.Group, shownKind(header)))
	case gv.Version == "":
		return "", invalid(runtime.NewMissingVersionErr(shown(string(after))))
	case !registered(p.req, header):
		return "", invalid(status.NotRegistered(own.Group, shownKind(header)))
	case header.Kind == own.Kind && own == p.req.GVK && p.req.Info.Endpoint(gv) != nil:
		return gv.String(), nil
	case header.Kind == own.Kind:
		return own.GroupVersion().String(), nil
	}
	if other, ok := stored.Named(p.Kinds.Kinds(), header); ok {
		if _, _, err := other.Receive(object.Form{APIVersion: gv.String()}, after, true); err != nil {
			return "", invalid(err)
		}
	}
	return "", invalid(noConversion(p.req, header))
}
