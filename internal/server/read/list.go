package read

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/wire"
)

// scanBatch is the number of objects between two checks whether the request was canceled.
const scanBatch = 4096

// List returns the selected objects of a resource.
func (r *Reader) List(req *request.Request) (*request.Result, error) {
	p, err := r.Page(req)
	if err != nil {
		return nil, err
	}
	return &request.Result{Page: p}, nil
}

// Page reads the objects that the request selects, for a list or a deletecollection.
func (r *Reader) Page(req *request.Request) (*request.Page, error) {
	req.Spans.At(stage.Read)
	o, err := req.ListOptions()
	if err != nil {
		return nil, err
	}
	selected, err := newSelection(req, o.Continue != "")
	if err != nil {
		return nil, err
	}
	if req.Info.Computed {
		return r.computedPage(req, selected)
	}
	at, from, err := position(o, selected)
	if err != nil {
		return nil, err
	}
	if err := r.warnDamage(req, selected); err != nil {
		return nil, err
	}
	snapshot, err := r.store.Snapshot(req.Context(), at)
	if err != nil {
		return nil, expiredPage(err, o)
	}
	limit := o.Limit
	if selected.single() {
		limit = 0
	}
	p := &request.Page{Meta: request.ListMeta{Revision: snapshot.Revision()}}
	if limit <= 0 && selected.everything() && from == "" {
		p.Items = make([]*object.Object, 0, snapshot.Remaining(selected.prefix, ""))
	}
	if err := selected.convert(req.Context(), snapshot, from); err != nil {
		return nil, err
	}
	var next object.Key
	seen, err := 0, req.Context().Err()
	selected.scan(snapshot, from, func(o *object.Object) bool {
		if seen++; seen%scanBatch == 0 {
			err = req.Context().Err()
		}
		switch {
		case err != nil:
			return false
		case !selected.matches(o):
		case limit > 0 && int64(len(p.Items)) == limit:
			next = o.Key
			return false
		default:
			p.Items = append(p.Items, o)
		}
		return true
	})
	if next == "" || err != nil {
		return p, err
	}
	last := strings.TrimPrefix(string(p.Items[len(p.Items)-1].Key), string(selected.parent))
	p.Meta.Next = continueToken{Revision: int64(snapshot.Revision()), Start: "/" + last + "\x00"}.String()
	if selected.everything() {
		left := int64(snapshot.Remaining(selected.prefix, next) - selected.hidden(snapshot, next))
		p.Meta.Remaining = &left
	}
	return p, nil
}

// position returns the snapshot and the key at which a list starts. It applies Kubernetes' rules for
// resourceVersion, resourceVersionMatch, limit and continue.
func position(o *internalversion.ListOptions,
	selected *selection) (which store.RevisionSelector, from object.Key, err error) {
	if o.Continue != "" && !selected.single() {
		token, err := parseContinue(o.Continue)
		if err != nil {
			return which, "", apierrors.NewBadRequest("invalid continue token: " + err.Error())
		}
		if o.ResourceVersion != "" && o.ResourceVersion != "0" {
			return which, "", apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
		}
		from := selected.parent + object.Key(strings.TrimPrefix(token.Start, "/"))
		if token.Revision < 0 {
			return store.Latest(), from, nil
		}
		return store.Exactly(object.Revision(token.Revision)), from, nil
	}
	if o.ResourceVersion == "" || o.ResourceVersion == "0" {
		return store.Latest(), "", nil
	}
	r, err := object.ParseRevision(o.ResourceVersion)
	if err != nil {
		return which, "", apierrors.NewBadRequest("invalid resource version: " + invalidRevision(o.ResourceVersion))
	}
	if o.ResourceVersionMatch == metav1.ResourceVersionMatchExact || o.ResourceVersionMatch == "" && o.Limit > 0 &&
		!selected.single() {
		return store.Exactly(r), "", nil
	}
	return store.AtLeast(r), "", nil
}

// warnDamage adds a Warning to a list that leaves out objects which the store cannot read (store.Options.AcceptDamage).
// If the list selects only such an object, it fails. In Kubernetes every such list fails.
func (r *Reader) warnDamage(req *request.Request, selected *selection) error {
	damaged := r.store.DamagedIn(selected.prefix)
	if len(damaged) == 0 {
		return nil
	}
	if selected.single() {
		return damaged[0]
	}
	const most = 3
	var names []string
	for _, d := range damaged[:min(len(damaged), most)] {
		names = append(names, status.Name(d.Key))
	}
	if more := len(damaged) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	req.Warn(fmt.Sprintf("%s%d of %s cannot be read and are left out: %s", wire.IncompleteList, len(damaged),
		req.Resource(), strings.Join(names, ", ")))
	return nil
}
