package nginx

import (
	"errors"
	"slices"
)

// rejection is an element that a test refused, and the reason.
type rejection[T any] struct {
	element T
	message string
}

// bisect adds as many of the doubtful elements, in order, to the good ones as test accepts, and returns the others
// with the reason. It halves each refused set, so it takes few tests to find a few elements among many. If test
// returns an error other than a refusal, bisect stops and returns it.
func bisect[T any](good, doubtful []T, test func([]T) error) (accepted []T, rejected []rejection[T], err error) {
	if len(doubtful) == 0 {
		return good, nil, nil
	}
	together := slices.Concat(good, doubtful)
	err = test(together)
	r := (*refusal)(nil)
	switch {
	case err == nil:
		return together, nil, nil
	case !errors.As(err, &r):
		return good, nil, err
	case len(doubtful) == 1:
		return good, []rejection[T]{{doubtful[0], r.message}}, nil
	}
	half := len(doubtful) / 2
	accepted, rejected, err = bisect(good, doubtful[:half], test)
	if err != nil {
		return accepted, rejected, err
	}
	accepted, others, err := bisect(accepted, doubtful[half:], test)
	return accepted, append(rejected, others...), err
}
