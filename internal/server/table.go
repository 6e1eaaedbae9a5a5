package server

import (
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// The kinds that a client may ask for instead of the objects.
const (
	asTable       = "Table"
	asPartial     = "PartialObjectMetadata"
	asPartialList = "PartialObjectMetadataList"
)

// metaVersion returns the apiVersion of the Table or PartialObjectMetadata that the client asked for.
func (c *call) metaVersion() string { return "meta.k8s.io/" + c.accept.version }

// answerTable writes objects as the rows of a table.
func (s *Server) answerTable(c *call, code int, items []*object.Object, m listMeta) error {
	include, err := c.includeObject()
	if err != nil {
		return err
	}
	table, err := c.table(items, include, true)
	if err != nil {
		return err
	}
	table.ListMeta = *m.shown()
	data, err := json.Marshal(table)
	if err != nil {
		return err
	}
	c.sendWarnings()
	writeBody(c.w, code, c.accept.name, data)
	return nil
}

// includeObject reads how much of each object its row carries.
func (c *call) includeObject() (metav1.IncludeObjectPolicy, error) {
	include := metav1.IncludeObjectPolicy(c.http.URL.Query().Get("includeObject"))
	if include == "" {
		include = metav1.IncludeMetadata
	}
	if errs := metavalidation.ValidateTableOptions(&metav1.TableOptions{IncludeObject: include}); len(errs) > 0 {
		return "",
			apierrors.NewBadRequest("Unable to convert to Table as requested: " +
				field.ErrorList(errs).ToAggregate().Error())
	}
	return include, nil
}

// table makes the rows. Only the first table of a watch has column definitions.
func (c *call) table(items []*object.Object, include metav1.IncludeObjectPolicy, columns bool) (*metav1.Table, error) {
	apiVersion := c.endpoint.APIVersion()
	t := &metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: asTable, APIVersion: c.metaVersion()},
		Rows:     make([]metav1.TableRow, 0, len(items)),
	}
	if columns {
		t.ColumnDefinitions = c.kind.Columns(apiVersion)
	}
	counted := time.Now()
	for _, o := range items {
		obj, err := read(c.kind, o)
		if err != nil {
			return nil, err
		}
		row, err := c.row(obj, counted)
		if err != nil {
			return nil, err
		}
		row.Object.Raw, err = c.rowObject(o, include)
		if err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// row returns the cells of one object.
func (c *call) row(obj kind.Object, counted time.Time) (row metav1.TableRow, err error) {
	row.Cells, err = c.kind.Row(obj, c.endpoint.APIVersion(), counted)
	return row, err
}

// rowObject returns the part of an object that its row carries.
func (c *call) rowObject(o *object.Object, include metav1.IncludeObjectPolicy) ([]byte, error) {
	switch include {
	case metav1.IncludeObject:
		e, err := o.Encoding(c.codec(), object.Form{APIVersion: c.endpoint.APIVersion()})
		if err != nil {
			return nil, err
		}
		return e.Bytes(), nil
	case metav1.IncludeMetadata:
		data, err := c.metadata(o, object.JSON)
		return c.appendPartial(nil, data), err
	}
	return nil, nil
}

// uncommittedBody encodes an object that is not stored, in the form that the client negotiated.
func (c *call) uncommittedBody(obj kind.Object) ([]byte, error) {
	switch c.accept.as {
	case asPartial:
		return kind.Marshal(c.accept.format(), partial(obj, c.metaVersion()))
	case asTable:
		return c.uncommittedTable(obj)
	}
	return c.kind.Encode(c.accept.form(c.endpoint.GroupVersion()), obj)
}

func (c *call) uncommittedTable(obj kind.Object) ([]byte, error) {
	include, err := c.includeObject()
	if err != nil {
		return nil, err
	}
	table, err := c.table(nil, include, true)
	if err != nil {
		return nil, err
	}
	row, err := c.row(obj, time.Now())
	if err != nil {
		return nil, err
	}
	switch include {
	case metav1.IncludeObject:
		row.Object.Raw, err = c.kind.Encode(object.Form{APIVersion: c.endpoint.APIVersion()}, obj)
	case metav1.IncludeMetadata:
		row.Object.Raw, err = kind.Marshal(object.JSON, partial(obj, c.metaVersion()))
	}
	if err != nil {
		return nil, err
	}
	table.Rows, table.ResourceVersion = append(table.Rows, row), obj.GetResourceVersion()
	return json.Marshal(table)
}

// shape returns a subresource's view in the form that the client negotiated.
func (c *call) shape(view runtime.Object) (runtime.Object, error) {
	obj, hasMeta := view.(kind.Object)
	switch {
	case c.accept.as == asPartial && hasMeta:
		return partial(obj, c.metaVersion()), nil
	case c.accept.as != asTable || c.sub.Row == nil:
		return view, nil
	}
	include, err := c.includeObject()
	if err != nil {
		return nil, err
	}
	row := metav1.TableRow{Cells: c.sub.Row(view, time.Now())}
	switch include {
	case metav1.IncludeObject:
		row.Object.Object = view
	case metav1.IncludeMetadata:
		row.Object.Object = partial(obj, c.metaVersion())
	}
	return &metav1.Table{
		TypeMeta:          metav1.TypeMeta{Kind: asTable, APIVersion: c.metaVersion()},
		ListMeta:          metav1.ListMeta{ResourceVersion: obj.GetResourceVersion()},
		ColumnDefinitions: c.sub.Columns, Rows: []metav1.TableRow{row},
	}, nil
}

// transformed encodes an object of a watch as a Table or metadata. first reports whether it is the first of
// the stream.
func (c *call) transformed(o *object.Object, first bool) ([]byte, error) {
	if c.accept.as == asPartial {
		return c.partialBody(o)
	}
	include, err := c.includeObject()
	if err != nil {
		return nil, err
	}
	t, err := c.table([]*object.Object{o}, include, first)
	if err != nil {
		return nil, err
	}
	t.ResourceVersion = o.Revision.String()
	return json.Marshal(t)
}

// transformedBookmark encodes the object of a bookmark as a Table or metadata.
func (c *call) transformedBookmark(obj kind.Object) ([]byte, error) {
	if c.accept.as == asPartial {
		return kind.Marshal(c.accept.format(), partial(obj, c.metaVersion()))
	}
	data, err := json.Marshal(partial(obj, c.metaVersion()))
	if err != nil {
		return nil, err
	}
	return json.Marshal(&metav1.Table{
		TypeMeta:          metav1.TypeMeta{Kind: asTable, APIVersion: c.metaVersion()},
		ListMeta:          metav1.ListMeta{ResourceVersion: obj.GetResourceVersion()},
		ColumnDefinitions: []metav1.TableColumnDefinition{},
		Rows:              []metav1.TableRow{{Cells: []any{}, Object: runtime.RawExtension{Raw: data}}},
	})
}
