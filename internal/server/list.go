package server

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// page is the answer to a list: selected objects of one snapshot.
type page struct {
	items []*object.Object
	meta  listMeta
}

// listMeta is the metadata of a list.
type listMeta struct {
	revision  object.Revision
	next      string // the continue token; empty on the last page
	remaining *int64
}

// shown returns the metadata as lists of typed kinds, tables and lists of metadata carry it.
func (m listMeta) shown() *metav1.ListMeta {
	return &metav1.ListMeta{ResourceVersion: m.revision.String(), Continue: m.next, RemainingItemCount: m.remaining}
}

// list answers with the selected objects of a resource.
func (s *Server) list(c *call) error {
	if err := c.negotiate(asTable, asPartialList); err != nil {
		return err
	}
	p, err := s.page(c)
	if err != nil {
		return err
	}
	c.spans.at(stageAnswer)
	return s.answerPage(c, p)
}

// answerPage writes a list in the form that the client negotiated.
func (s *Server) answerPage(c *call, p *page) error {
	switch c.accept.as {
	case asTable:
		return s.answerTable(c, http.StatusOK, p.items, p.meta)
	case asPartialList:
		return s.answerPartialList(c, p)
	}
	return c.answerList(p)
}

// page reads the objects that the request selects.
func (s *Server) page(c *call) (*page, error) {
	c.spans.at(stageRead)
	q := c.http.URL.Query()
	o, err := c.listOptions(q)
	if err != nil {
		return nil, err
	}
	selected, err := c.selectionOf(q, o.Continue != "")
	if err != nil {
		return nil, err
	}
	at, from, err := position(o, selected)
	if err != nil {
		return nil, err
	}
	if err := s.tellDamage(c, selected); err != nil {
		return nil, err
	}
	snapshot, err := s.store.Snapshot(c.context(), at)
	if err != nil {
		return nil, expiredPage(err, o)
	}
	return collect(c, snapshot, selected, from, o.Limit)
}

// position returns the snapshot and the key at which a list starts. It applies Kubernetes' rules for
// resourceVersion, resourceVersionMatch, limit and continue.
func position(o *internalversion.ListOptions, selected *selection) (which store.Which, from object.Key, err error) {
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

// invalidRevision is Kubernetes' text for a resourceVersion that is not a number.
func invalidRevision(v string) string {
	_, err := strconv.ParseUint(v, 10, 64)
	return fmt.Sprintf("resourceVersion: Invalid value: %q: %v", v, err)
}

// scanned is the number of objects between two checks whether the request was canceled.
const scanned = 4096

// collect reads the selected objects of a snapshot, at most limit of them.
func collect(c *call, snapshot *store.Snapshot, selected *selection, from object.Key, limit int64) (*page, error) {
	p := &page{meta: listMeta{revision: snapshot.Revision()}}
	if selected.single() {
		limit = 0
	}
	if limit <= 0 && selected.everything() && from == "" {
		p.items = make([]*object.Object, 0, snapshot.Remaining(selected.prefix, ""))
	}
	if err := c.convert(snapshot, selected, from); err != nil {
		return nil, err
	}
	var next object.Key
	seen, err := 0, c.context().Err()
	selected.scan(snapshot, from, func(o *object.Object) bool {
		if seen++; seen%scanned == 0 {
			err = c.context().Err()
		}
		switch {
		case err != nil:
			return false
		case !selected.matches(o):
		case limit > 0 && int64(len(p.items)) == limit:
			next = o.Key
			return false
		default:
			p.items = append(p.items, o)
		}
		return true
	})
	if next == "" || err != nil {
		return p, err
	}
	last := strings.TrimPrefix(string(p.items[len(p.items)-1].Key), string(selected.parent))
	p.meta.next = continueToken{Revision: int64(snapshot.Revision()), Start: "/" + last + "\x00"}.String()
	if selected.everything() {
		left := int64(snapshot.Remaining(selected.prefix, next) - selected.hidden(snapshot, next))
		p.meta.remaining = &left
	}
	return p, nil
}

// hidden estimates how many of the next objects are uninitialized, which the client does not see. It looks at
// no more than scanned objects with that mark, and counts none of the others.
func (s *selection) hidden(snapshot *store.Snapshot, from object.Key) (n int) {
	if s.uninitialized {
		return 0
	}
	seen := 0
	may := func(mark object.Mark) bool {
		seen++
		return seen > scanned || mark.MayHave(object.UninitializedMark)
	}
	snapshot.Select(s.prefix, from, may, func(o *object.Object) bool {
		if o.Uninitialized() {
			n++
		}
		return seen <= scanned
	})
	return n
}

// continueToken is the position at which a page ended: the list continues at Start, in the snapshot of
// Revision, or in the latest one if that is negative. Its wire form is Kubernetes': it is opaque to clients,
// but tools decode it.
type continueToken struct {
	Version  string `json:"v"`
	Revision int64  `json:"rv"`
	Start    string `json:"start"`
}

// latestRevision continues a list in the latest state.
const latestRevision = -1

func (t continueToken) String() string {
	t.Version = "meta.k8s.io/v1"
	data, _ := json.Marshal(t) // a struct of strings and a number always marshals
	return base64.RawURLEncoding.EncodeToString(data)
}

// parseContinue parses a token. The error has Kubernetes' text.
func parseContinue(text string) (continueToken, error) {
	var t continueToken
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return t, fmt.Errorf("continue key is not valid: %v", err)
	}
	if err := json.Unmarshal(data, &t); err != nil {
		return t, fmt.Errorf("continue key is not valid: %v", err)
	}
	key := "/" + strings.TrimPrefix(t.Start, "/")
	switch {
	case t.Version != "meta.k8s.io/v1":
		return t, fmt.Errorf("continue key is not valid: server does not recognize this encoded version %s", t.Version)
	case t.Revision == 0:
		return t,
			errors.New("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	case t.Start == "":
		return t, errors.New("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
	case path.Clean(key) != key: // it must not climb out of the list
		return t, fmt.Errorf("continue key is not valid: %s", t.Start)
	}
	return t, nil
}

// expiredPage returns the 410 of a list whose snapshot was compacted. If the client was paging, it carries a
// token that continues in the latest state.
func expiredPage(err error, o *internalversion.ListOptions) error {
	if _, gone := err.(*store.CompactedError); !gone || o.Continue == "" {
		return err
	}
	expired := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.")
	token, parseErr := parseContinue(o.Continue)
	if parseErr != nil {
		return err
	}
	token.Revision = latestRevision
	expired.ErrStatus.ListMeta.Continue = token.String()
	return expired
}
