package coordination_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/coordination"
	"github.com/bowline-dev/bowline/internal/object"
)

const apiVersion = "coordination.k8s.io/v1"

func leases() kind.Kind { return coordination.Kinds(object.NewCache(1 << 20))[0] }

func read(t *testing.T, body string) kind.Object {
	t.Helper()
	obj, strict, err := leases().DecodeRequest(object.Form{APIVersion: apiVersion}, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(err, strict)
	}
	return obj
}

// TestLeaseRules checks the rules of ValidateLeaseSpec (pkg/apis/coordination/validation).
func TestLeaseRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"anything", `{}`, nil},
		{"no duration", `{"spec":{"leaseDurationSeconds":0}}`,
			[]string{"spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"}},
		{"fewer than no transitions", `{"spec":{"leaseTransitions":-1}}`,
			[]string{"spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"}},
		{"no transitions", `{"spec":{"leaseTransitions":0}}`, nil},
		{"a strategy", `{"spec":{"strategy":"OldestEmulationVersion","preferredHolder":"a"}}`, nil},
		{"a strategy of one's own", `{"spec":{"strategy":"example.com/x"}}`, nil},
		{"an unknown strategy", `{"spec":{"strategy":"Odd"}}`,
			[]string{`spec.strategy.strategy: Unsupported value: "Odd": supported values: "OldestEmulationVersion"`}},
		{"a strategy of nobody", `{"spec":{"strategy":"/x"}}`,
			[]string{`spec.strategy.strategy: Invalid value: "/x": prefix part must be non-empty`}},
		{"a preference without a strategy", `{"spec":{"preferredHolder":"a"}}`,
			[]string{"spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, e := range leases().Validate(t.Context(), read(t, c.body), nil, "") {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCoordinationIsDropped checks that only a lease that has the fields for coordinated leader election keeps them.
func TestCoordinationIsDropped(t *testing.T) {
	t.Parallel()
	const coordinated = `{"spec":{"strategy":"OldestEmulationVersion","preferredHolder":"a"}}`
	for _, c := range []struct {
		name string
		old  kind.Object
		want bool
	}{
		{"a create", nil, false},
		{"an update of a lease without them", read(t, `{}`), false},
		{"an update of a lease with them", read(t, coordinated), true},
	} {
		lease := read(t, coordinated).(*coordinationv1.Lease)
		leases().Prepare(lease, c.old, "")
		if got := lease.Spec.Strategy != nil && lease.Spec.PreferredHolder != nil; got != c.want {
			t.Errorf("%s: fields are kept: %t, want %t", c.name, got, c.want)
		}
	}
}

// TestLeasesAnswerAsRecorded compares the object with kinds.json[60] and the table with kinds.json[61].
func TestLeasesAnswerAsRecorded(t *testing.T) {
	t.Parallel()
	steps := golden.Steps(t, "kinds.json")
	k, l := leases(), read(t, steps[60].Body)
	encoded, err := k.Encode(object.Form{APIVersion: apiVersion}, l)
	if err != nil {
		t.Fatal(err)
	}
	var got, want struct{ Spec map[string]any }
	if err := json.Unmarshal(encoded, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(steps[60].Response.Body, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spec (-recorded +got):\n%s", diff)
	}

	var table metav1.Table
	if err := json.Unmarshal(steps[61].Response.Body, &table); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	l.SetCreationTimestamp(metav1.NewTime(now))
	row, err := k.Row(l, apiVersion, now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(table.Rows[0].Cells, row); diff != "" {
		t.Errorf("cells (-recorded +got):\n%s", diff)
	}
	if diff := cmp.Diff(table.ColumnDefinitions, k.Columns(apiVersion)); diff != "" {
		t.Errorf("columns (-recorded +got):\n%s", diff)
	}
}
