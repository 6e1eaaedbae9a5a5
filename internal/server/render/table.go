package render

import (
	"encoding/json"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stored"
)

// TableOptions parses the query parameter includeObject: how much of each object its row in a table carries.
func TableOptions(req *request.Request) (metav1.IncludeObjectPolicy, error) {
	include := metav1.IncludeObjectPolicy(req.Query.Get("includeObject"))
	if include == "" {
		include = metav1.IncludeMetadata
	}
	if errs := metavalidation.ValidateTableOptions(&metav1.TableOptions{IncludeObject: include}); len(errs) > 0 {
		return "", apierrors.NewBadRequest("Unable to convert to Table as requested: " +
			field.ErrorList(errs).ToAggregate().Error())
	}
	return include, nil
}

// table encodes stored objects as the rows of a table. columns reports whether it has column definitions; of the tables
// of a watch, only the first has.
func table(req *request.Request, include metav1.IncludeObjectPolicy, p *request.Page, columns bool) ([]byte, error) {
	apiVersion := req.Endpoint.APIVersion()
	t := &metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: request.AsTable, APIVersion: req.Accept.MetaVersion()},
		ListMeta: *p.Meta.Shown(), Rows: make([]metav1.TableRow, 0, len(p.Items)),
	}
	if columns {
		t.ColumnDefinitions = req.Kind.Columns(apiVersion)
	}
	items, err := inRowOrder(req, p.Items)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	for _, o := range items {
		if err := req.Context().Err(); err != nil {
			return nil, err
		}
		obj, err := stored.Read(req.Kind, o)
		if err != nil {
			return nil, err
		}
		var row metav1.TableRow
		if row.Cells, err = req.Kind.Row(obj, apiVersion, now); err != nil {
			return nil, err
		}
		switch include {
		case metav1.IncludeObject:
			e, err := o.Encoding(req.Codec(), object.Form{APIVersion: apiVersion})
			if err != nil {
				return nil, err
			}
			row.Object.Raw = e.Bytes()
		case metav1.IncludeMetadata:
			data, err := metadata(req, o, object.JSON)
			if err != nil {
				return nil, err
			}
			row.Object.Raw = appendPartial(nil, req.Accept.MetaVersion(), data)
		}
		t.Rows = append(t.Rows, row)
	}
	return json.Marshal(t)
}

// inRowOrder returns the items in the order of the rows of a table.
func inRowOrder(req *request.Request, items []*object.Object) ([]*object.Object, error) {
	compare := req.Info.CompareRows
	if compare == nil || len(items) < 2 {
		return items, nil
	}
	decoded := make(map[*object.Object]kind.Object, len(items))
	for _, o := range items {
		obj, err := stored.Read(req.Kind, o)
		if err != nil {
			return nil, err
		}
		decoded[o] = obj
	}
	return slices.SortedStableFunc(slices.Values(items), func(a, b *object.Object) int {
		return compare(decoded[a], decoded[b])
	}), nil
}

// pageTable encodes a page as a table.
func pageTable(req *request.Request, p *request.Page) ([]byte, error) {
	include, err := TableOptions(req)
	if err != nil {
		return nil, err
	}
	return table(req, include, p, true)
}

// stateTable encodes an object that is not stored as a table with one row.
func stateTable(req *request.Request, obj kind.Object) ([]byte, error) {
	include, err := TableOptions(req)
	if err != nil {
		return nil, err
	}
	apiVersion, metaVersion := req.Endpoint.APIVersion(), req.Accept.MetaVersion()
	columns := req.Kind.Columns(apiVersion)
	var row metav1.TableRow
	if row.Cells, err = req.Kind.Row(obj, apiVersion, time.Now()); err != nil {
		return nil, err
	}
	switch include {
	case metav1.IncludeObject:
		row.Object.Raw, err = req.Kind.Encode(object.Form{APIVersion: apiVersion}, obj)
	case metav1.IncludeMetadata:
		row.Object.Raw, err = kind.Marshal(object.JSON, partialState(req, obj))
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(&metav1.Table{
		TypeMeta:          metav1.TypeMeta{Kind: request.AsTable, APIVersion: metaVersion},
		ListMeta:          metav1.ListMeta{ResourceVersion: obj.GetResourceVersion()},
		ColumnDefinitions: columns, Rows: []metav1.TableRow{row},
	})
}

// view encodes what a subresource shows of an object: its own kind, a table or metadata made of it.
func view(req *request.Request, state kind.Object) ([]byte, error) {
	shown, err := req.Sub.View(state)
	if err != nil {
		return nil, err
	}
	shown.GetObjectKind().SetGroupVersionKind(req.Sub.Kind)
	obj, hasMeta := shown.(kind.Object)
	metaVersion := req.Accept.MetaVersion()
	switch {
	case req.Accept.As == request.AsPartial && hasMeta:
		shown = partial(obj, metaVersion)
	case req.Accept.As == request.AsTable && req.Sub.Row != nil:
		include, err := TableOptions(req)
		if err != nil {
			return nil, err
		}
		row := metav1.TableRow{Cells: req.Sub.Row(shown, time.Now())}
		switch include {
		case metav1.IncludeObject:
			row.Object.Object = shown
		case metav1.IncludeMetadata:
			row.Object.Object = partial(obj, metaVersion)
		}
		shown = &metav1.Table{
			TypeMeta:          metav1.TypeMeta{Kind: request.AsTable, APIVersion: metaVersion},
			ListMeta:          metav1.ListMeta{ResourceVersion: obj.GetResourceVersion()},
			ColumnDefinitions: req.Sub.Columns, Rows: []metav1.TableRow{row},
		}
	}
	return kind.Marshal(req.Accept.Format(), shown)
}

// bookmarkTable encodes the object of a bookmark as a table with one row without cells.
func bookmarkTable(req *request.Request, obj kind.Object) ([]byte, error) {
	metaVersion := req.Accept.MetaVersion()
	data, err := json.Marshal(partial(obj, metaVersion))
	if err != nil {
		return nil, err
	}
	return json.Marshal(&metav1.Table{
		TypeMeta:          metav1.TypeMeta{Kind: request.AsTable, APIVersion: metaVersion},
		ListMeta:          metav1.ListMeta{ResourceVersion: obj.GetResourceVersion()},
		ColumnDefinitions: []metav1.TableColumnDefinition{},
		Rows:              []metav1.TableRow{{Cells: []any{}, Object: runtime.RawExtension{Raw: data}}},
	})
}
