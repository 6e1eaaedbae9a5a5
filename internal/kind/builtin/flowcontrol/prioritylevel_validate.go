package flowcontrol

import (
	"fmt"
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/shufflesharding"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// preserveZero is an annotation of v1beta3 that no object of v1 may have.
const preserveZero = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"

// maxQueues is the maximum number of queues of a level.
const maxQueues = 10_000_000

// Kinds of levels, and of responses to requests that a level cannot execute at once.
const (
	exempt  = flowcontrolv1.PriorityLevelEnablementExempt
	limited = flowcontrolv1.PriorityLevelEnablementLimited
	queue   = flowcontrolv1.LimitResponseTypeQueue
	reject  = flowcontrolv1.LimitResponseTypeReject
)

func validateLevel(l, old *level, sub string) (errs field.ErrorList) {
	conditions := field.NewPath("status", "conditions")
	types := make([]string, len(l.Status.Conditions))
	for i, c := range l.Status.Conditions {
		types[i] = string(c.Type)
	}
	if sub == statusSub {
		return validateConditions(conditions, types)
	}
	if _, ok := l.Annotations[preserveZero]; ok {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "annotations"),
			fmt.Sprintf("annotation '%s' is forbidden", preserveZero)))
	}
	spec := field.NewPath("spec")
	unions := unionErrors(l, old, spec)
	errs = append(errs, validateLevelSpec(l.Name, &l.Spec, unions, spec)...)
	errs = append(errs, validateMandatoryLevel(l, spec)...)
	errs = append(errs, validateConditions(conditions, types)...)
	return append(errs, unions...)
}

// validateMandatoryLevel rejects changes of the two levels that the server relies on.
func validateMandatoryLevel(l *level, path *field.Path) field.ErrorList {
	want := mandatoryLevel(l.Name)
	if want == nil {
		return nil
	}
	is, but := l.Spec, ""
	if l.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt {
		is.Exempt, but = want.Spec.Exempt, " except the 'spec.exempt' field"
	}
	if equality.Semantic.DeepEqual(is, want.Spec) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, podspec.Layout(l.Spec),
		fmt.Sprintf("spec of '%s'%s must equal the fixed value", l.Name, but))}
}

func validateLevelSpec(name string, spec *flowcontrolv1.PriorityLevelConfigurationSpec, unions declared,
	path *field.Path) (errs field.ErrorList) {
	if (name == flowcontrolv1.PriorityLevelConfigurationNameExempt) != (spec.Type == exempt) {
		errs = append(errs, field.Invalid(path.Child("type"), spec.Type,
			"must be 'Exempt' if and only if `name` is 'exempt'"))
	}
	switch spec.Type {
	case exempt:
		if spec.Limited != nil {
			errs = append(errs, unions.unless(field.Forbidden(path.Child("limited"),
				"must be nil if the type is not Limited"))...)
		}
		if e := spec.Exempt; e != nil {
			errs = append(errs, validateShares(e.NominalConcurrencyShares, path.Child("exempt"))...)
			errs = append(errs, validateLendable(e.LendablePercent, path.Child("exempt"))...)
		}
	case limited:
		if spec.Exempt != nil {
			errs = append(errs, unions.unless(field.Forbidden(path.Child("exempt"),
				"must be nil if the type is Limited"))...)
		}
		if spec.Limited == nil {
			return append(errs, unions.unless(field.Required(path.Child("limited"),
				"must not be empty when type is Limited"))...)
		}
		errs = append(errs, validateLimited(spec.Limited, unions, path.Child("limited"))...)
	case "":
		errs = append(errs, unions.unless(field.Required(path.Child("type"), ""))...)
	default:
		errs = append(errs, fieldcheck.OneOf(path.Child("type"), spec.Type, exempt, limited)...)
	}
	return errs
}

func validateLimited(l *flowcontrolv1.LimitedPriorityLevelConfiguration, unions declared,
	path *field.Path) field.ErrorList {
	errs := validateShares(l.NominalConcurrencyShares, path)
	response, at := &l.LimitResponse, path.Child("limitResponse")
	switch response.Type {
	case reject:
		if response.Queuing != nil {
			errs = append(errs, unions.unless(field.Forbidden(at.Child("queuing"),
				"must be nil if limited.limitResponse.type is not Limited"))...)
		}
	case queue:
		if response.Queuing == nil {
			errs = append(errs, unions.unless(field.Required(at.Child("queuing"),
				"must not be empty if limited.limitResponse.type is Limited"))...)
		} else {
			errs = append(errs, validateQueuing(response.Queuing, at.Child("queuing"))...)
		}
	case "":
		errs = append(errs, unions.unless(field.Required(at.Child("type"), ""))...)
	default:
		errs = append(errs, fieldcheck.OneOf(at.Child("type"), response.Type, queue, reject)...)
	}
	errs = append(errs, validateLendable(l.LendablePercent, path)...)
	if n := l.BorrowingLimitPercent; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(path.Child("borrowingLimitPercent"), *n,
			"if specified, must be a non-negative integer"))
	}
	return errs
}

func validateShares(n *int32, path *field.Path) field.ErrorList {
	if n != nil && *n < 0 {
		return field.ErrorList{field.Invalid(path.Child("nominalConcurrencyShares"), *n,
			"must be a non-negative integer")}
	}
	return nil
}

func validateLendable(n *int32, path *field.Path) field.ErrorList {
	if n != nil && (*n < 0 || *n > 100) {
		return field.ErrorList{field.Invalid(path.Child("lendablePercent"), *n,
			"must be between 0 and 100, inclusive")}
	}
	return nil
}

func validateQueuing(q *flowcontrolv1.QueuingConfiguration, path *field.Path) (errs field.ErrorList) {
	invalid := func(name string, n int32, detail string) {
		errs = append(errs, field.Invalid(path.Child(name), n, detail))
	}
	const positive = "must be positive"
	if q.QueueLengthLimit <= 0 {
		invalid("queueLengthLimit", q.QueueLengthLimit, positive)
	}
	switch {
	case q.Queues <= 0:
		invalid("queues", q.Queues, positive)
	case q.Queues > maxQueues:
		invalid("queues", q.Queues, fmt.Sprintf("must not be greater than %d", maxQueues))
	}
	switch entropy := shufflesharding.RequiredEntropyBits(int(q.Queues), int(q.HandSize)); {
	case q.HandSize <= 0:
		invalid("handSize", q.HandSize, positive)
	case q.HandSize > q.Queues:
		invalid("handSize", q.HandSize, fmt.Sprintf("should not be greater than queues (%d)", q.Queues))
	case entropy > shufflesharding.MaxHashBits:
		invalid("handSize", q.HandSize, fmt.Sprintf(
			"required entropy bits of deckSize %d and handSize %d should not be greater than %d", q.Queues, q.HandSize,
			shufflesharding.MaxHashBits))
	}
	return errs
}

// declared are the errors of Kubernetes' declarative validation. They follow all other errors, and replace those of the
// same type and field. Declarative validation ignores fields that an update does not change; for these, the other
// errors remain.
type declared field.ErrorList

// unless returns an error if no declared one replaces it.
func (d declared) unless(err *field.Error) field.ErrorList {
	if slices.ContainsFunc(d, func(e *field.Error) bool { return e.Type == err.Type && e.Field == err.Field }) {
		return nil
	}
	return field.ErrorList{err}
}

// unionErrors returns the declared errors of a level: in the spec and in the response to excess requests, the type
// determines which of the other fields are set.
func unionErrors(l, old *level, path *field.Path) (errs declared) {
	spec, was := &l.Spec, flowcontrolv1.PriorityLevelConfigurationSpec{}
	if old != nil {
		was = old.Spec
	}
	typed := old == nil || spec.Type != was.Type
	if spec.Exempt != nil && spec.Type != exempt && (typed || !equality.Semantic.DeepEqual(spec.Exempt, was.Exempt)) {
		errs = append(errs, field.Forbidden(path.Child("exempt"), ""))
	}
	if typed || !equality.Semantic.DeepEqual(spec.Limited, was.Limited) {
		errs = append(errs, memberError(path.Child("limited"), spec.Limited != nil, spec.Type == limited)...)
	}
	if spec.Type == "" && typed {
		errs = append(errs, field.Required(path.Child("type"), ""))
	}
	if spec.Limited == nil {
		return errs
	}
	response, before := spec.Limited.LimitResponse, flowcontrolv1.LimitResponse{}
	if was.Limited != nil {
		before = was.Limited.LimitResponse
	}
	at := path.Child("limited", "limitResponse")
	typed = was.Limited == nil || response.Type != before.Type
	if typed || !equality.Semantic.DeepEqual(response.Queuing, before.Queuing) {
		errs = append(errs, memberError(at.Child("queuing"), response.Queuing != nil, response.Type == queue)...)
	}
	if response.Type == "" && typed {
		errs = append(errs, field.Required(at.Child("type"), ""))
	}
	return errs
}

// memberError returns the error of a field that is set but not required, or required but not set.
func memberError(path *field.Path, set, required bool) declared {
	switch {
	case set && !required:
		return declared{field.Forbidden(path, "")}
	case required && !set:
		return declared{field.Required(path, "")}
	}
	return nil
}
