package write

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
)

// answerReview answers the create of a review (kind.Info.Review). The review is not stored, so it has no name, uid or
// revision.
func answerReview(op *operation) (*request.Result, error) {
	req := op.req
	clearSystemMetadata(op.obj)
	op.own()
	if err := op.admit(); err != nil {
		return nil, err
	}
	req.Spans.At(stage.Validate)
	if errs := req.Kind.Validate(req.Context(), op.obj, nil, ""); len(errs) > 0 {
		return nil, kind.NewInvalid(schema.GroupKind{Group: req.GVR.Group}, "", errs) // Kubernetes names no kind either
	}
	answer, err := op.Reviews.Prepare(req, op.obj)
	if err != nil {
		return nil, err
	}
	if err := op.callPlugins("validate", op.attributes()); err != nil {
		return nil, err
	}
	if op.obj, err = answer(); err != nil {
		return nil, err
	}
	return &request.Result{Code: http.StatusCreated, State: op.obj}, nil
}
