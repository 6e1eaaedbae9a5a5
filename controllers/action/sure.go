package action

import (
	"context"
	"fmt"
	"time"
)

// Sure is actions that follow from what Asks finds at the server: Current, Same, Known and the like. They are asked before the
// first action, and again before each other one when the answers are no longer fresh, as after a write that took long: what
// follows from them may be wrong by then, and nothing else refuses it.
type Sure struct {
	Asks, Then []Action
}

func (s Sure) String() string { return fmt.Sprintf("%s, then %s", Together(s.Asks), Together(s.Then)) }

func (s Sure) Do(ctx context.Context, by *Hand) error {
	var asked time.Time
	for _, a := range s.Then {
		parts := []Together{{a}}
		if many, ok := a.(Together); ok {
			parts = many.batches()
		}
		for _, part := range parts {
			if time.Since(asked) >= fresh {
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
	for _, a := range s.Asks {
		if err := a.Do(ctx, by); err != nil {
			return err
		}
	}
	return nil
}
