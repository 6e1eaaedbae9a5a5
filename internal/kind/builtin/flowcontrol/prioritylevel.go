package flowcontrol

import (
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

func levelKind(cache *object.Cache) kind.Kind {
	of := info()
	of.Kind, of.Plural = "PriorityLevelConfiguration", "prioritylevelconfigurations"
	of.Singular = "prioritylevelconfiguration"
	queuing := flowcontrolv1.QueuingConfiguration{}.SwaggerDoc()
	shares := flowcontrolv1.LimitedPriorityLevelConfiguration{}.SwaggerDoc()["nominalConcurrencyShares"]
	return kind.NewTyped(cache, of, kind.Rules[*level]{
		Default: defaultLevel,
		Prepare: func(l, old *level, sub string) {
			if old != nil {
				keepMetadata(l, &old.ObjectMeta, sub)
			}
		},
		Validate: fieldcheck.WithFinalizers(validateLevel),
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Type", Type: "string",
				Description: flowcontrolv1.PriorityLevelConfigurationSpec{}.SwaggerDoc()["type"]},
			{Name: "NominalConcurrencyShares", Type: "string", Description: shares},
			{Name: "Queues", Type: "string", Description: queuing["queues"]},
			{Name: "HandSize", Type: "string", Description: queuing["handSize"]},
			{Name: "QueueLengthLimit", Type: "string", Description: queuing["queueLengthLimit"]},
			kind.AgeColumn,
		},
		Row: levelRow,
	})
}

// Defaults of a limited level.
const (
	defaultShares      = int32(30)
	defaultQueues      = 64
	defaultHandSize    = 8
	defaultQueueLength = 50
)

func defaultLevel(l *level) {
	if e := l.Spec.Exempt; e != nil {
		e.NominalConcurrencyShares = or(e.NominalConcurrencyShares, 0)
		e.LendablePercent = or(e.LendablePercent, 0)
	}
	limited := l.Spec.Limited
	if limited == nil {
		return
	}
	limited.NominalConcurrencyShares = or(limited.NominalConcurrencyShares, defaultShares)
	limited.LendablePercent = or(limited.LendablePercent, 0)
	if q := limited.LimitResponse.Queuing; q != nil {
		setDefault(&q.Queues, defaultQueues)
		setDefault(&q.HandSize, defaultHandSize)
		setDefault(&q.QueueLengthLimit, defaultQueueLength)
	}
}

// or returns n or, if n is nil, a pointer to a default.
func or(n *int32, otherwise int32) *int32 {
	if n == nil {
		return new(otherwise)
	}
	return n
}

func setDefault(n *int32, otherwise int32) {
	if *n == 0 {
		*n = otherwise
	}
}

func levelRow(l *level, now time.Time) []any {
	var shares, queues, hand, length any = nothing, nothing, nothing, nothing
	if limited := l.Spec.Limited; limited != nil {
		shares = int64(*or(limited.NominalConcurrencyShares, defaultShares))
		if q := limited.LimitResponse.Queuing; q != nil {
			queues, hand, length = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
		}
	}
	return []any{l.Name, string(l.Spec.Type), shares, queues, hand, length, kind.Age(l.CreationTimestamp.Time, now)}
}
