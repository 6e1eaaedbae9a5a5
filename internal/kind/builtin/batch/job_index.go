package batch

import (
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The pods of an indexed job have numbers, from 0 to one below its completions. Its status says which are done as text:
// intervals in order, as in 0-4,7.

// mostIndexes bounds how many pods of an indexed job run at once, and how many may fail, and so the text of its status.
const mostIndexes = 100_000

// validateCompletionMode checks the fields that depend on whether a job's pods are numbered.
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
			errs = append(errs, field.Invalid(path.Child("backoffLimitPerIndex"), *n, "requires indexed completion mode"))
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
		errs = append(errs, field.Required(path.Child("completions"), fmt.Sprintf("when completion mode is %s", batchv1.IndexedCompletion)))
	}
	if n := spec.Parallelism; n != nil && *n > mostIndexes {
		errs = append(errs, field.Invalid(parallel, *n,
			fmt.Sprintf("must be less than or equal to %d when completion mode is %s", mostIndexes, batchv1.IndexedCompletion)))
	}
	if n := spec.MaxFailedIndexes; n != nil {
		if spec.Completions != nil && *n > *spec.Completions {
			errs = append(errs, field.Invalid(failed, *n, "must be less than or equal to completions"))
		}
		if *n > mostIndexes {
			errs = append(errs, field.Invalid(failed, *n, fmt.Sprintf("must be less than or equal to %d", mostIndexes)))
		}
	}
	if deref(spec.Completions) <= manyCompletions || spec.BackoffLimitPerIndex == nil {
		return errs
	}
	if spec.MaxFailedIndexes == nil {
		errs = append(errs, field.Required(failed, fmt.Sprintf("must be specified when completions is above %d", manyCompletions)))
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

// interval is a run of indexes, both ends included.
type interval struct{ first, last int32 }

// parseInterval reads one number, or two with a dash between them, below completions.
func parseInterval(text string, completions int32) (interval, error) {
	parts := strings.Split(text, "-")
	if len(parts) > 2 {
		return interval{}, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", text)
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

// countIndexes checks a text of indexes, and says how many they are.
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

// readable are the intervals of a text that can be read; the others are told of elsewhere.
func readable(text string, completions int32) (all []interval) {
	for part := range strings.SplitSeq(text, ",") {
		if i, err := parseInterval(part, completions); err == nil {
			all = append(all, i)
		}
	}
	return all
}

// disjoint checks that no index is in both texts.
func disjoint(completed, failed string, completions int32) error {
	c, f := readable(completed, completions), readable(failed, completions)
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
