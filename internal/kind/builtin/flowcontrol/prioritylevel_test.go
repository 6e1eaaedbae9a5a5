package flowcontrol

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// limitedTo returns a limited level with these fields.
func limitedTo(fields string) string { return `{"spec":{"type":"Limited","limited":{` + fields + `}}}` }

const rejecting = `"limitResponse":{"type":"Reject"}`

func queued(fields string) string {
	return `"limitResponse":{"type":"Queue","queuing":{` + fields + `}}`
}

// TestLevelRules checks the rules of ValidatePriorityLevelConfiguration (pkg/apis/flowcontrol/validation).
func TestLevelRules(t *testing.T) {
	t.Parallel()
	const shares = "nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer"
	const percent = "must be between 0 and 100, inclusive"
	check(t, levelKind(object.NewCache(1)), []rule{
		{name: "rejecting", body: limitedTo(rejecting)},
		{name: "queuing", body: limitedTo(queued(""))},
		{name: "an unknown type", body: `{"spec":{"type":"x"}}`,
			want: []string{`spec.type: Unsupported value: "x": supported values: "Exempt", "Limited"`}},
		{name: "exempt with another name", body: `{"spec":{"type":"Exempt"}}`,
			want: []string{"spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'"}},
		{name: "negative numbers", body: limitedTo(`"nominalConcurrencyShares":-1,"lendablePercent":-1,` +
			`"borrowingLimitPercent":-1,` + rejecting), want: []string{
			"spec.limited." + shares,
			"spec.limited.lendablePercent: Invalid value: -1: " + percent,
			"spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer"}},
		{name: "zero and large numbers", body: limitedTo(`"nominalConcurrencyShares":0,"lendablePercent":100,` +
			`"borrowingLimitPercent":1000,` + rejecting)},
		{name: "an unknown response", body: limitedTo(`"lendablePercent":101,"limitResponse":{"type":"x"}`), want: []string{
			`spec.limited.limitResponse.type: Unsupported value: "x": supported values: "Queue", "Reject"`,
			"spec.limited.lendablePercent: Invalid value: 101: " + percent}},
		{name: "negative queues", body: limitedTo(queued(`"queues":-1,"handSize":-1,"queueLengthLimit":-1`)), want: []string{
			"spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive",
			"spec.limited.limitResponse.queuing.queues: Invalid value: -1: must be positive",
			"spec.limited.limitResponse.queuing.handSize: Invalid value: -1: must be positive"}},
		{name: "a hand that is larger than the deck", body: limitedTo(queued(`"queues":3,"handSize":4`)),
			want: []string{"spec.limited.limitResponse.queuing.handSize: Invalid value: 4: should not be greater than queues (3)"}},
		{name: "a hand that needs more than a hash", body: limitedTo(queued(`"queues":10000001,"handSize":3`)), want: []string{
			"spec.limited.limitResponse.queuing.queues: Invalid value: 10000001: must not be greater than 10000000",
			"spec.limited.limitResponse.queuing.handSize: Invalid value: 3: required entropy bits of deckSize 10000001 " +
				"and handSize 3 should not be greater than 60"}},
		{name: "an annotation of v1beta3",
			body: `{"metadata":{"annotations":{"` + preserveZero + `":""}},"spec":{"type":"Limited","limited":{` + rejecting + `}}}`,
			want: []string{"metadata.annotations: Forbidden: annotation '" + preserveZero + "' is forbidden"}},
		{name: "conditions", sub: statusSub, old: `{}`, body: `{"status":{"conditions":[{"type":"A"},{"type":"A"},{}]}}`,
			want: []string{`status.conditions[1].type: Duplicate value: "A"`, "status.conditions[2].type: Required value"}},
		{name: "the exempt level with other shares",
			body: `{"metadata":{"name":"exempt"},"spec":{"type":"Exempt","exempt":{"nominalConcurrencyShares":7}}}`},
		{name: "the exempt level with bad shares",
			body: `{"metadata":{"name":"exempt"},"spec":{"type":"Exempt","exempt":{"nominalConcurrencyShares":-1,"lendablePercent":101}}}`,
			want: []string{"spec.exempt." + shares, "spec.exempt.lendablePercent: Invalid value: 101: " + percent}},
		{name: "another catch-all",
			body: `{"metadata":{"name":"catch-all"},"spec":{"type":"Limited","limited":{` + rejecting + `}}}`,
			want: []string{`spec: Invalid value: {"Type":"Limited","Limited":{"NominalConcurrencyShares":30,` +
				`"LimitResponse":{"Type":"Reject","Queuing":null},"LendablePercent":0,"BorrowingLimitPercent":null},` +
				`"Exempt":null}: spec of 'catch-all' must equal the fixed value`}},
	})
}

// TestLevelUnions checks the rules that are declarative in Kubernetes: they ignore what an update does not change.
func TestLevelUnions(t *testing.T) {
	t.Parallel()
	const (
		noQueuing  = `{"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Queue"},"lendablePercent":101}}}`
		noResponse = `{"spec":{"type":"Limited","limited":{}}}`
		percent    = "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive"
		both       = `{"spec":{"type":"Limited","limited":{` + rejecting + `},"exempt":{}}}`
		queuing    = "spec.limited.limitResponse.queuing: "
	)
	exemptBoth := `{"metadata":{"name":"exempt"},"spec":{"type":"Exempt","exempt":{},"limited":{` + rejecting + `}}}`
	fixed := `spec: Invalid value: {"Type":"Exempt","Limited":{"NominalConcurrencyShares":30,"LimitResponse":` +
		`{"Type":"Reject","Queuing":null},"LendablePercent":0,"BorrowingLimitPercent":null},"Exempt":` +
		`{"NominalConcurrencyShares":0,"LendablePercent":0}}: spec of 'exempt' except the 'spec.exempt' field must equal the fixed value`
	rejectingQueues := limitedTo(`"limitResponse":{"type":"Reject","queuing":{}}`)
	check(t, levelKind(object.NewCache(1)), []rule{
		{name: "nothing", body: `{}`, want: []string{"spec.type: Required value"}},
		{name: "still nothing", body: `{}`, old: `{}`, want: []string{"spec.type: Required value"}},
		{name: "no type, with members", body: `{"spec":{"exempt":{},"limited":{` + rejecting + `}}}`, want: []string{
			"spec.exempt: Forbidden", "spec.limited: Forbidden", "spec.type: Required value"}},
		{name: "limited to nothing", body: `{"spec":{"type":"Limited"}}`, want: []string{"spec.limited: Required value"}},
		{name: "still limited to nothing", body: `{"spec":{"type":"Limited"}}`, old: `{"spec":{"type":"Limited"}}`,
			want: []string{"spec.limited: Required value: must not be empty when type is Limited"}},
		{name: "limited and exempt", body: both, want: []string{"spec.exempt: Forbidden"}},
		{name: "still limited and exempt", body: both, old: both,
			want: []string{"spec.exempt: Forbidden: must be nil if the type is Limited"}},
		{name: "exempt and limited", body: exemptBoth, want: []string{fixed, "spec.limited: Forbidden"}},
		{name: "still exempt and limited", body: exemptBoth, old: exemptBoth,
			want: []string{"spec.limited: Forbidden: must be nil if the type is not Limited", fixed}},
		{name: "no queuing", body: noQueuing, want: []string{percent, queuing + "Required value"}},
		{name: "still no queuing", body: noQueuing, old: noQueuing, want: []string{
			queuing + "Required value: must not be empty if limited.limitResponse.type is Limited", percent}},
		{name: "no response", body: noResponse, want: []string{"spec.limited.limitResponse.type: Required value"}},
		{name: "still no response", body: noResponse, old: noResponse,
			want: []string{"spec.limited.limitResponse.type: Required value"}},
		{name: "rejecting with queues", body: rejectingQueues, want: []string{queuing + "Forbidden"}},
		{name: "still rejecting with queues", body: rejectingQueues, old: rejectingQueues,
			want: []string{queuing + "Forbidden: must be nil if limited.limitResponse.type is not Limited"}},
		{name: "now limited, without queuing", body: noQueuing, old: `{}`, want: []string{percent, queuing + "Required value"}},
	})
}

func TestLevelDefaults(t *testing.T) {
	t.Parallel()
	k := levelKind(object.NewCache(1))
	l := read(t, k, `{"spec":{"type":"Limited","limited":{`+queued("")+`},"exempt":{}}}`).(*level)
	want := flowcontrolv1.PriorityLevelConfigurationSpec{
		Type: limited,
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
			NominalConcurrencyShares: new(int32(30)), LendablePercent: new(int32),
			LimitResponse: flowcontrolv1.LimitResponse{Type: queue,
				Queuing: &flowcontrolv1.QueuingConfiguration{Queues: 64, HandSize: 8, QueueLengthLimit: 50}},
		},
		Exempt: &flowcontrolv1.ExemptPriorityLevelConfiguration{NominalConcurrencyShares: new(int32),
			LendablePercent: new(int32)},
	}
	if diff := gocmp.Diff(want, l.Spec); diff != "" {
		t.Errorf("the spec (-want +got):\n%s", diff)
	}
	s := read(t, schemaKind(object.NewCache(1)), `{}`).(*schema)
	if s.Spec.MatchingPrecedence != 1000 {
		t.Errorf("the precedence of a schema is %d", s.Spec.MatchingPrecedence)
	}
}

func TestLevelRows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	k := levelKind(object.NewCache(1))
	for body, want := range map[string][]any{
		`{"spec":{"type":"Exempt"}}`:    {"", "Exempt", "<none>", "<none>", "<none>", "<none>", "60s"},
		limitedTo(rejecting):            {"", "Limited", int64(30), "<none>", "<none>", "<none>", "60s"},
		limitedTo(queued(`"queues":9`)): {"", "Limited", int64(30), int64(9), int64(8), int64(50), "60s"},
	} {
		l := read(t, k, body).(*level)
		l.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute))
		got, err := k.Row(l, "", now)
		if diff := gocmp.Diff(want, got); diff != "" || err != nil || len(got) != len(k.Columns("")) {
			t.Errorf("%v, cells (-want +got):\n%s", err, diff)
		}
	}
	// An object on disk may lack the defaults.
	bare := &level{Spec: flowcontrolv1.PriorityLevelConfigurationSpec{Type: limited,
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{}}}
	if _, err := k.Row(bare, "", now); err != nil || len(k.Validate(t.Context(), bare, bare, "")) != 1 {
		t.Errorf("a level without defaults: %v", err)
	}
}
