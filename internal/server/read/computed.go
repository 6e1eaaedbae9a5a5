package read

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/status"
)

// Computed returns the current objects of a kind that is not stored (kind.Info.Computed), in the order of their names.
type Computed func(context.Context) ([]*object.Object, error)

// computedObject returns one object of a kind that is not stored.
func (r *Reader) computedObject(req *request.Request) (*request.Result, error) {
	objects, err := r.computed[req.Stored](req.Context())
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if o.Key.Name() == req.Name {
			o.Revision = r.store.Current()
			return &request.Result{Object: o}, nil
		}
	}
	// Kubernetes' error names the singular.
	return nil, status.NotFound(schema.GroupResource{Group: req.Stored.Group, Resource: req.Info.Singular}, req.Name)
}

// computedPage returns the selected objects of a kind that is not stored, on one page.
func (r *Reader) computedPage(req *request.Request, selected *selection) (*request.Page, error) {
	objects, err := r.computed[req.Stored](req.Context())
	if err != nil {
		return nil, err
	}
	p := &request.Page{Meta: request.ListMeta{Revision: r.store.Current()}}
	for _, o := range objects {
		if strings.HasPrefix(string(o.Key), string(selected.prefix)) && selected.matches(o) {
			o.Revision = p.Meta.Revision
			p.Items = append(p.Items, o)
		}
	}
	return p, nil
}
