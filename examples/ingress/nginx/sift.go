package nginx

import (
	"errors"
	"slices"
)

// misfit is what was refused, and why.
type misfit[T any] struct {
	what    T
	message string
}

// sift adds as many of the doubtful to what is good as a test takes, in their order, and says which it refuses. It halves
// what is refused until one is left: a few bad ones among many good ones take few tests. An error of the test that is no
// refusal ends it.
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
