package server

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metascheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// deleteOptions reads the options of a delete from the body if there is one, otherwise from the query.
func (c *call) deleteOptions() (*metav1.DeleteOptions, error) {
	body, err := c.readBody()
	if err != nil {
		return nil, err
	}
	o := &metav1.DeleteOptions{}
	if len(body) > 0 {
		o, err = c.bodyOptions(body)
	} else {
		err = readOptions(c.http.URL.Query(), o, metav1.Convert_url_Values_To_v1_DeleteOptions)
	}
	if err != nil {
		return nil, err
	}
	if saysNothingOfDependents(o) {
		c.warn(c.endpoint.OrphanWarning)
	}
	return o, invalidOptions("DeleteOptions", metavalidation.ValidateDeleteOptions(o))
}

// bodyOptions decodes DeleteOptions of any group in JSON, YAML or protobuf with Kubernetes' codec. The kind
// is optional.
func (c *call) bodyOptions(body []byte) (*metav1.DeleteOptions, error) {
	info, ok := runtime.SerializerInfoForMediaType(metascheme.Codecs.SupportedMediaTypes(), bodyMedia(c.http))
	if !ok {
		return nil, unsupportedMedia(mediaTypes...)
	}
	o := &metav1.DeleteOptions{}
	as := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
	obj, _, err := metascheme.Codecs.DecoderToVersion(info.Serializer, as.GroupVersion()).Decode(body, &as, o)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if obj != o {
		return nil, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	return o, nil
}

// ignoresUnreadable reports whether a delete is only meant for an object that cannot be decoded (KEP-3926).
func ignoresUnreadable(o *metav1.DeleteOptions) bool {
	ignore := o.IgnoreStoreReadErrorWithClusterBreakingPotential
	return ignore != nil && *ignore
}

// removeUnreadable removes an object that cannot be decoded, without admission, preconditions and finalizers.
// It refuses an object that can be decoded. It requires a separate permission.
func (s *Server) removeUnreadable(c *call, current *object.Object, o *metav1.DeleteOptions) (*removed, error) {
	unsafe := *c.route
	unsafe.verb = "unsafe-delete-ignore-read-errors"
	if err := s.authorize(c.context(), unsafe, c.user); err != nil {
		return nil, err
	}
	if _, err := current.Decode(c.codec()); err == nil {
		return nil, apierrors.NewConflict(c.resource(), current.Key.Name(),
			errors.New("unsafe deletion is not allowed because the object is decodable from storage"))
	}
	if len(o.DryRun) > 0 {
		return &removed{uid: current.UID}, nil
	}
	_, err := s.store.Commit(c.context(), store.Change{Key: current.Key, Expect: store.At(current.Revision)})
	return &removed{uid: current.UID}, err
}
