package flow

import (
	"cmp"
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind/builtin/flowcontrol"
	"github.com/bowline-dev/bowline/internal/server/fair"
	"github.com/bowline-dev/bowline/internal/server/request"
)

// objects are the stored levels and schemas, and the UIDs that they are stored with.
type objects struct {
	levels                []*flowcontrolv1.PriorityLevelConfiguration
	schemas               []*flowcontrolv1.FlowSchema
	levelUIDs, schemaUIDs map[string]types.UID
}

// table is one state of all schemas, compiled.
type table struct {
	// schemas are in the order in which requests are compared with them.
	schemas  []*Schema
	catchAll *Schema
}

// level is a level with its UID.
type level struct {
	config fair.LevelConfig
	uid    types.UID
}

// compile compiles the stored objects, and configures the queue with them. It adds the mandatory ones that are missing.
// A schema without its level is ignored.
func compile(stored *objects, queue *fair.Queue) *table {
	levels := map[string]*level{}
	var configs []fair.LevelConfig
	add := func(l *flowcontrolv1.PriorityLevelConfiguration) {
		if config, ok := levelConfig(l); ok && levels[l.Name] == nil {
			levels[l.Name] = &level{config, stored.levelUIDs[l.Name]}
			configs = append(configs, config)
		}
	}
	for _, l := range stored.levels {
		add(l)
	}
	mandatoryLevels, mandatory := flowcontrol.Mandatory()
	for _, l := range mandatoryLevels {
		add(l)
	}
	t, names := &table{}, map[string]bool{}
	for _, s := range slices.Concat(stored.schemas, mandatory) {
		if l := levels[s.Spec.PriorityLevelConfiguration.Name]; l != nil && !names[s.Name] {
			t.schemas = append(t.schemas, newSchema(s, stored.schemaUIDs[s.Name], l))
			names[s.Name] = true
		}
	}
	slices.SortFunc(t.schemas, func(a, b *Schema) int {
		return cmp.Or(cmp.Compare(a.precedence, b.precedence), cmp.Compare(a.name, b.name))
	})
	classes := make([]fair.ClassConfig, len(t.schemas))
	for i, s := range t.schemas {
		classes[i] = fair.ClassConfig{Schema: s.name, Level: s.level, Distinguisher: s.distinguisher}
		if s.name == flowcontrolv1.FlowSchemaNameCatchAll {
			t.catchAll = s
		}
	}
	for i, class := range queue.Configure(configs, classes) {
		t.schemas[i].class = class
	}
	return t
}

// levelConfig returns the limits of a level, or false if the queue cannot have such a level: one is exempt if and only
// if it is the level exempt.
func levelConfig(l *flowcontrolv1.PriorityLevelConfiguration) (fair.LevelConfig, bool) {
	c := fair.LevelConfig{Name: l.Name, Exempt: l.Spec.Type == flowcontrolv1.PriorityLevelEnablementExempt}
	if c.Exempt != (l.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt) ||
		c.Exempt != (l.Spec.Exempt != nil) || c.Exempt == (l.Spec.Limited != nil) {
		return c, false
	}
	if c.Exempt {
		c.Shares, c.Lendable = number(l.Spec.Exempt.NominalConcurrencyShares), number(l.Spec.Exempt.LendablePercent)
		return c, true
	}
	limited := l.Spec.Limited
	c.Shares, c.Lendable, c.Borrowing = number(limited.NominalConcurrencyShares), number(limited.LendablePercent), -1
	if limited.BorrowingLimitPercent != nil {
		c.Borrowing = int(*limited.BorrowingLimitPercent)
	}
	response := &limited.LimitResponse
	q := response.Queuing
	if (response.Type == flowcontrolv1.LimitResponseTypeQueue) != (q != nil) {
		return c, false
	}
	if q != nil {
		c.Waiting = int(q.Queues) * int(q.QueueLengthLimit)
		c.UserWaiting = min(int(q.HandSize), int(q.Queues)) * int(q.QueueLengthLimit)
	}
	return c, true
}

func number(n *int32) int {
	if n == nil {
		return 0
	}
	return int(*n)
}

// find returns the schema of a request: the first that matches.
func (t *table) find(user *auth.User, route *request.Route) *Schema {
	for _, s := range t.schemas {
		if s.matches(user, route) {
			return s
		}
	}
	return t.catchAll
}
