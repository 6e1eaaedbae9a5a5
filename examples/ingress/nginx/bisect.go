package nginx

import (
	"errors"
	"slices"
)

// misfit is a refused element and the reason.
type misfit[T any] struct {
	what    T
	message string
}

// sift adds as many of the doubtful elements, in order, to the good ones as a test accepts, and returns the
// others as misfits. It bisects refused sets, so finding a few misfits among many elements takes few tests.
// An error that is not a refusal ends it.
func sift[T any](good, doubtful []T, test func([]T) error) (taken []T, misfits []misfit[T], err error) {
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
		return good, []misfit[T]{{doubtful[0], r.message}}, nil
	}
	half := len(doubtful) / 2
	taken, misfits, err = sift(good, doubtful[:half], test)
	if err != nil {
		return taken, misfits, err
	}
	taken, others, err := sift(taken, doubtful[half:], test)
	return taken, append(misfits, others...), err
}
