package structural

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/kind"
)

// TestRow checks each type of column, with valid values, missing values, and values of other types.
func TestRow(t *testing.T) {
	t.Parallel()
	k := newKind(t, widget)
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		rule, fields string
		row          []any
	}{
		{"all values",
			`"spec":{"size":"large","replicas":3,"load":2,"on":true,"since":"2026-01-01T23:58:00Z","tags":["a","b"]},"status":{"conditions":[{"type":"Ready","status":"True"}]}`,
			[]any{"w", "large", int64(3), float64(2), true, "2m", `["a","b"]`, "True"}},
		{"no values", `"spec":{}`, []any{"w", "small", nil, nil, nil, nil, nil, nil}},
		{"values of other types", `"spec":{"size":1,"replicas":1.5,"load":"x","on":"x","since":"soon","tags":7}`,
			[]any{"w", "1", int64(1), nil, nil, "<invalid>", "7", nil}},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			row, err := k.Row(widgetWith(t, k, test.fields), exampleV1.APIVersion, now)
			if err != nil || !slices.Equal(row, test.row) {
				t.Errorf("\nwant %#v\ngot  %#v, %v", test.row, row, err)
			}
		})
	}
}

// TestColumns checks that a version without columns shows the age, and that descriptions and priorities are
// the definition's.
func TestColumns(t *testing.T) {
	t.Parallel()
	k := newKind(t, widget)
	plain := k.(kind.Custom).In("example.com/v1alpha1").Columns("example.com/v1alpha1")
	if len(plain) != 2 || plain[0].Name != "Name" || plain[1].Name != "Age" || plain[1].Type != "date" {
		t.Errorf("a version without columns shows %+v, want the name and the age", plain)
	}
	columns := k.Columns(exampleV1.APIVersion)
	if columns[1].Description != "how large" || columns[5].Priority != 1 ||
		columns[6].Description != "Custom resource definition column (in JSONPath format): .spec.tags" {
		t.Errorf("descriptions or priorities are not the definition's: %+v", columns)
	}
}

// TestFields checks that a missing selectable field is empty.
func TestFields(t *testing.T) {
	t.Parallel()
	k := newKind(t, widget)
	got := k.Fields(widgetWith(t, k, `"spec":{"replicas":3}`))
	if !maps.Equal(got, map[string]string{"spec.size": "small", "spec.replicas": "3"}) {
		t.Errorf("fields of an object: %v", got)
	}
	if got := k.Fields(k.New()); !maps.Equal(got, map[string]string{"spec.size": "", "spec.replicas": ""}) {
		t.Errorf("fields of an empty object: %v", got)
	}
	if got := newKind(t, gadget).Fields(k.New()); got != nil {
		t.Errorf("a kind without selectable fields has %v", got)
	}
}

// TestScale checks that the Scale shows and sets the replicas at the definition's paths.
func TestScale(t *testing.T) {
	t.Parallel()
	k := newKind(t, widget)
	scale := k.Info().Subresource("scale")
	obj := widgetWith(t, k, `"spec":{"replicas":2},"status":{"replicas":1,"selector":"a=b"}`)
	shown, err := scale.View(obj)
	if err != nil {
		t.Fatal(err)
	}
	view := shown.(*autoscalingv1.Scale)
	if view.Name != "w" || view.Spec.Replicas != 2 ||
		view.Status != (autoscalingv1.ScaleStatus{Replicas: 1, Selector: "a=b"}) ||
		view.APIVersion != "autoscaling/v1" {
		t.Errorf("the Scale of the object is %+v", view)
	}
	view.Spec.Replicas = 5
	if err := scale.Apply(obj, view); err != nil {
		t.Fatal(err)
	}
	if shown, _ := scale.View(obj); shown.(*autoscalingv1.Scale).Spec.Replicas != 5 {
		t.Errorf("after scaling to 5: %v", obj.Object)
	}
	_, err = scale.View(widgetWith(t, k, `"spec":{}`))
	if !apierrors.IsInternalError(err) ||
		!strings.Contains(err.Error(), `the spec replicas field ".spec.replicas" does not exist`) {
		t.Errorf("Scale of an object without spec.replicas: %v", err)
	}
}
