package action_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/controllers/action"
)

// told is an action that a test is told of.
type told func() error

func (told) String() string { return "a test" }

func (f told) Do(context.Context, *action.Hand) error { return f() }

// What was found at the server is asked about again once it is old, also between actions that are carried out together, and
// nothing more is done when it is otherwise by then.
func TestWhatIsSureIsAskedAgainAfterASlowWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slow           int // which write takes long
		behind         int // which time it is asked the answer is another one
		asked, written int32
	}{
		{slow: -1, behind: -1, asked: 1, written: 8},
		{slow: 0, behind: -1, asked: 2, written: 8},
		{slow: 0, behind: 2, asked: 2, written: 1},
		{slow: 2, behind: 2, asked: 2, written: 3}, // the second batch of two is done with
		{slow: 6, behind: 2, asked: 2, written: 7}, // and the third one, of four, is not the last action
		{slow: -1, behind: 1, asked: 1, written: 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked, written atomic.Int32
			write := func(n int) action.Action {
				return told(func() error {
					if n == c.slow {
						time.Sleep(3 * time.Second)
					}
					written.Add(1)
					return nil
				})
			}
			ask := told(func() error {
				if int(asked.Add(1)) == c.behind {
					return action.ErrBehind
				}
				return nil
			})
			var together action.Together
			for n := range 7 {
				together = append(together, write(n))
			}
			hand := &action.Hand{}
			_, err := hand.Do(t.Context(), action.Sure{Asks: []action.Action{ask}, Then: []action.Action{together, write(7)}})
			if errors.Is(err, action.ErrBehind) != (c.behind > 0) || asked.Load() != c.asked || written.Load() != c.written {
				t.Errorf("%+v: asked %d times, %d writes, %v", c, asked.Load(), written.Load(), err)
			}
		})
	}
}

// What was found first is old when what is asked next takes long.
func TestAllThatIsSureIsSoAtATime(t *testing.T) {
	t.Parallel()
	for _, changes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			asked, slow, written := 0, 0, 0
			first := told(func() error {
				if asked++; asked > 1 && changes {
					return action.ErrBehind
				}
				return nil
			})
			second := told(func() error {
				if slow++; slow == 1 {
					time.Sleep(30 * time.Second)
				}
				return nil
			})
			write := told(func() error {
				written++
				return nil
			})
			hand := &action.Hand{}
			_, err := hand.Do(t.Context(), action.Sure{Asks: []action.Action{first, second}, Then: []action.Action{write}})
			if errors.Is(err, action.ErrBehind) != changes || asked != 2 || (written == 0) != changes {
				t.Errorf("what changes meanwhile (%t): asked %d times, %d writes, %v", changes, asked, written, err)
			}
		})
	}
}
