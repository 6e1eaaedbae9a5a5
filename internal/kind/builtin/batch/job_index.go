package batch

import (
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The pods of an indexed job have indexes from 0 to completions-1. Its status lists completed indexes as
// text: intervals in order, as in 0-4,7.

// maxIndexes limits the parallelism of an indexed job and the number of failed indexes, and so the size of
// its status.
const maxIndexes = 100_000

// validateCompletionMode validates the fields that depend on whether a job is indexed.
func validateCompletionMode(spec *batchv1.JobSpec, path *field.Path) (errs field.ErrorList) {
	mode := deref(spec.CompletionMode)
	if spec.CompletionMode != nil && mode != batchv1.NonIndexedCompletion && mode != batchv1.IndexedCompletion {
		errs = append(errs, field.NotSupported(path.Child("completionMode"), mode,
			[]batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion}))
	}
	switch {
	case mode == batchv1.IndexedCompletion:
		errs = append(errs, validateIndexed(spec, path)...)
	case spec.CompletionMode == nil || mode == batchv1.NonIndexedCompletion:
		if n := spec.BackoffLimitPerIndex; n != nil {
			errs = append(errs, field.Invalid(path.Child("backoffLimitPerIndex"), *n,
				"requires indexed completion mode"))
		}
		if n := spec.MaxFailedIndexes; n != nil {
			errs = append(errs, field.Invalid(path.Child("maxFailedIndexes"), *n, "requires indexed completion mode"))
		}
	}
	return errs
}

func validateIndexed(spec *batchv1.JobSpec, path *field.Path) (errs field.ErrorList) {
	parallel, failed := path.Child("parallelism"), path.Child("maxFailedIndexes")
	if spec.Completions == nil {
		errs = append(errs, field.Required(path.Child("completions"),
			fmt.Sprintf("when completion mode is %s", batchv1.IndexedCompletion)))
	}
	if n := spec.Parallelism; n != nil && *n > maxIndexes {
		errs = append(errs, field.Invalid(parallel, *n,
			fmt.Sprintf("must be less than or equal to %d when completion mode is %s", maxIndexes,
				batchv1.IndexedCompletion)))
	}
	if n := spec.MaxFailedIndexes; n != nil {
		if spec.Completions != nil && *n > *spec.Completions {
			errs = append(errs, field.Invalid(failed, *n, "must be less than or equal to completions"))
		}
		if *n > maxIndexes {
			errs = append(errs, field.Invalid(failed, *n, fmt.Sprintf("must be less than or equal to %d", maxIndexes)))
		}
	}
	if deref(spec.Completions) <= manyCompletions || spec.BackoffLimitPerIndex == nil {
		return errs
	}
	if spec.MaxFailedIndexes == nil {
		errs = append(errs, field.Required(failed,
			fmt.Sprintf("must be specified when completions is above %d", manyCompletions)))
	}
	tooMany := fmt.Sprintf("must be less than or equal to %d when completions are above %d and used with backoff limit per index", manyPods, manyCompletions)
	if n := spec.Parallelism; n != nil && *n > manyPods {
		errs = append(errs, field.Invalid(parallel, *n, tooMany))
	}
	if n := spec.MaxFailedIndexes; n != nil && *n > manyPods {
		errs = append(errs, field.Invalid(failed, *n, tooMany))
	}
	return errs
}

// interval is a range of indexes, including both ends.
type interval struct{ first, last int32 }

// parseInterval parses an index, or two separated by a dash, below completions.
func parseInterval(text string, completions int32) (interval, error) {
	parts := strings.Split(text, "-")
	if len(parts) > 2 {
		return interval{},
			fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", text)
	}
	first, err := parseIndex(parts[0], completions)
	if err != nil || len(parts) == 1 {
		return interval{first, first}, err
	}
	last, err := parseIndex(parts[1], completions)
	if err == nil && first >= last {
		err = fmt.Errorf("non-increasing order, previous: %d, current: %d", first, last)
	}
	return interval{first, last}, err
}

func parseIndex(text string, completions int32) (int32, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("cannot convert string to integer for index: %q", text)
	}
	if n >= int(completions) {
		return 0, fmt.Errorf("too large index: %q", text)
	}
	return int32(n), nil
}

// countIndexes validates a list of indexes and returns their number.
func countIndexes(text string, completions int32) (total int32, err error) {
	if text == "" {
		return 0, nil
	}
	last, some := int32(0), false
	for part := range strings.SplitSeq(text, ",") {
		i, err := parseInterval(part, completions)
		if err != nil {
			return 0, err
		}
		if some && last >= i.first {
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", last, i.first)
		}
		total += i.last - i.first + 1
		last, some = i.last, true
	}
	return total, nil
}

// validIntervals returns the valid intervals of a list. Invalid ones are reported elsewhere.
func validIntervals(text string, completions int32) (all []interval) {
	for part := range strings.SplitSeq(text, ",") {
		if i, err := parseInterval(part, completions); err == nil {
			all = append(all, i)
		}
	}
	return all
}

// disjoint checks that no index is in both lists.
func disjoint(completed, failed string, completions int32) error {
	c, f := validIntervals(completed, completions), validIntervals(failed, completions)
	for len(c) > 0 && len(f) > 0 {
		if c[0].first <= f[0].last && f[0].first <= c[0].last {
			return fmt.Errorf("failedIndexes and completedIndexes overlap at index: %d", max(c[0].first, f[0].first))
		}
		if c[0].first <= f[0].first {
			c = c[1:]
		} else {
			f = f[1:]
		}
	}
	return nil
}
