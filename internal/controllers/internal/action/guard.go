package action

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Precondition is a check of the server's state that guards writes: Unchanged, DependentsUnchanged,
// DependentUIDsUnchanged and those of single controllers.
type Precondition interface {
	fmt.Stringer
	// Check compares once, however long the server takes. It returns nil if the server's state is as
	// observed, ErrStaleCache if it differs, and any other error if it could not be read.
	Check(ctx context.Context, exec *Executor) error
}

// Guard runs actions under preconditions. They are checked before the first action, and before each further
// action if the last check is older than maxAnswerAge, as after a slow write: the actions may be wrong by
// then, and the server would not reject them. An Event is recorded without a new check, because it reports an
// action that has succeeded.
type Guard struct {
	Preconditions []Precondition
	Then          []Action
}

func (s Guard) String() string {
	var checks []string
	for _, q := range s.Preconditions {
		checks = append(checks, q.String())
	}
	return fmt.Sprintf("%s, then %s", strings.Join(checks, ", "), Parallel(s.Then))
}

func (s Guard) Do(ctx context.Context, exec *Executor) error {
	var checkedAt time.Time
	for _, a := range s.Then {
		_, isEvent := a.(Event)
		parts := []Parallel{{a}}
		if many, ok := a.(Parallel); ok {
			parts = many.batches()
		}
		for _, part := range parts {
			if checkedAt.IsZero() || !isEvent && time.Since(checkedAt) >= maxAnswerAge {
				// checks all of them, since the first answer is old if the last one was slow
				err := RetryIfSlow(func() error {
					checkedAt = time.Now()
					return s.check(ctx, exec)
				})
				if err != nil {
					return err
				}
			}
			if err := part.doAll(ctx, exec); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s Guard) check(ctx context.Context, exec *Executor) error {
	for _, q := range s.Preconditions {
		if err := q.Check(ctx, exec); err != nil {
			return err
		}
	}
	return nil
}
