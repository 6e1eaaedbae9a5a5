package resource

import (
	"testing"
	"testing/synctest"
	"time"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestDeviceTaintRules checks the rules of ValidateDeviceTaintRule and its updates.
func TestDeviceTaintRules(t *testing.T) {
	t.Parallel()
	taint := func(fields, more string) string { return `{"spec":{"taint":{` + fields + `}` + more + `}}` }
	const good = `"key":"example.com/a","value":"b","effect":"NoSchedule"`
	const condition = `{"type":"%","status":"True","reason":"b","lastTransitionTime":"2026-01-01T00:00:00Z"}`
	conditions := func(n int) string { return `{"status":{"conditions":` + list(times(n, condition)...) + `}}` }
	check(t, deviceTaintRuleKind(object.NewCache(1)), []rule{
		{name: "all devices", body: taint(good, ``)},
		{name: "a device", body: taint(good, `,"deviceSelector":{"driver":"d","pool":"a/b","device":"c"}`)},
		{name: "no taint", body: `{}`, want: []string{`spec.taint.key: Invalid value: "": name part must be non-empty`,
			`spec.taint.key: Invalid value: "": ` + qualifiedMessage, "spec.taint.effect: Required value"}},
		{name: "a wrong taint", body: taint(`"key":"-","value":"-","effect":"Never"`, ``), want: []string{
			`spec.taint.key: Invalid value: "-": ` + qualifiedMessage,
			`spec.taint.value: Invalid value: "-": ` + labelValueMessage,
			`spec.taint.effect: Unsupported value: "Never": supported values: "NoExecute", "NoSchedule", "None"`}},
		{name: "a wrong selector", body: taint(good, `,"deviceSelector":{"driver":"","pool":"a/","device":"C"}`), want: []string{
			"spec.deviceSelector.driver: Required value",
			`spec.deviceSelector.pool: Invalid value: "": ` + subdomainMessage,
			`spec.deviceSelector.device: Invalid value: "C": ` + labelMessage}},
		{name: "an effect that remains", old: taint(`"key":"a","effect":"New"`, ``), body: taint(`"key":"b","effect":"New"`, ``)},
		{name: "an effect that changes", old: taint(good, ``), body: taint(`"key":"b","effect":"New"`, ``), want: []string{
			`spec.taint.effect: Unsupported value: "New": supported values: "NoExecute", "NoSchedule", "None"`}},
		{name: "a status", sub: "status", old: `{}`, body: conditions(8)},
		{name: "a long status", sub: "status", old: `{}`, body: conditions(9),
			want: []string{"status.conditions: Too many: 9: must have at most 8 items"}},
	})
}

// TestTaintTimes checks when the time of a taint is set, and what an update counts as a change.
func TestTaintTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := deviceTaintRuleKind(object.NewCache(1))
		rule := func(effect, more string) *resourcev1.DeviceTaintRule {
			return read(t, k, `{"spec":{"taint":{"key":"a","effect":"`+effect+`"`+more+`}}}`).(*resourcev1.DeviceTaintRule)
		}
		old, created := rule("None", ""), time.Now()
		k.Prepare(old, nil, "")
		if got := old.Spec.Taint.TimeAdded; !got.Time.Equal(created) || old.Generation != 1 {
			t.Errorf("a new taint has the time %v and the generation %d", got, old.Generation)
		}
		time.Sleep(time.Minute)
		was := `,"timeAdded":"` + created.UTC().Format(time.RFC3339) + `"`
		for _, c := range []struct {
			effect, more string
			want         time.Time
			generation   int64
		}{
			{"None", was, created, 1},
			{"NoExecute", was, created.Add(time.Minute), 2},
			{"NoExecute", `,"timeAdded":"2026-01-01T00:00:00Z"`, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 2},
		} {
			next := rule(c.effect, c.more)
			k.Prepare(next, old, "")
			if got := next.Spec.Taint.TimeAdded; !got.Time.Equal(c.want) || next.Generation != c.generation {
				t.Errorf("%s%s: %v in generation %d, want %v in %d", c.effect, c.more, got, next.Generation, c.want,
					c.generation)
			}
		}
	})
}
