package action

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Question is what the server is asked before something is done: Current, Same, Known and the like.
type Question interface {
	fmt.Stringer
	// Ask asks once, however long that takes. The answer is nil, or ErrBehind when something is not as it was seen.
	Ask(ctx context.Context, by *Hand) error
}

// Sure is actions that follow from what the server says to questions. They are asked before the first action, and again before
// each other one when the answers are no longer fresh, as after a write that took long: what follows from them may be wrong by
// then, and nothing else refuses it. An event tells of what was done before it, and is told all the same.
type Sure struct {
	Asks []Question
	Then []Action
}

func (s Sure) String() string {
	var asks []string
	for _, q := range s.Asks {
		asks = append(asks, q.String())
	}
	return fmt.Sprintf("%s, then %s", strings.Join(asks, ", "), Together(s.Then))
}

func (s Sure) Do(ctx context.Context, by *Hand) error {
	var asked time.Time
	for _, a := range s.Then {
		_, tells := a.(Event)
		parts := []Together{{a}}
		if many, ok := a.(Together); ok {
			parts = many.batches()
		}
		for _, part := range parts {
			if asked.IsZero() || !tells && time.Since(asked) >= fresh {
				err := Soon(func() error { // all of them: the first answer is old when the last one took long
					asked = time.Now()
					return s.ask(ctx, by)
				})
				if err != nil {
					return err
				}
			}
			if err := part.atOnce(ctx, by); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s Sure) ask(ctx context.Context, by *Hand) error {
	for _, q := range s.Asks {
		if err := q.Ask(ctx, by); err != nil {
			return err
		}
	}
	return nil
}
