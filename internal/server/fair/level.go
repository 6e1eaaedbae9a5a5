package fair

import (
	"container/list"
	"maps"
	"math"
	"slices"
	"strings"
)

// ExemptLevel is the name of the level without limits of its own, and of its first class.
const ExemptLevel = "exempt"

// LevelConfig configures a priority level.
type LevelConfig struct {
	Name string
	// Exempt excludes the level from the limits of levels. Its requests still need seats.
	Exempt bool
	// Shares determine the level's nominal seats: their part of the shares of all levels.
	Shares int
	// Lendable is the percentage of the nominal seats that other levels may use while this one does not.
	Lendable int
	// Borrowing is how many seats the level may have beyond its nominal ones, as a percentage of these; negative for
	// any number.
	Borrowing int
	// Waiting is the maximum number of waiting requests, and UserWaiting that of one user. If Waiting is 0, no request
	// waits.
	Waiting, UserWaiting int
}

// Distinguisher is what the requests of a user in a class have in common.
type Distinguisher uint8

// The distinguishers.
const (
	ByUser Distinguisher = iota
	ByNamespace
	Same // of all requests
)

// ClassConfig configures a class of requests.
type ClassConfig struct {
	// Schema is the class's name.
	Schema string
	// Level is the name of the class's level.
	Level         string
	Distinguisher Distinguisher
}

// Class groups the requests of one schema, which share a level with other classes. Flows of different classes are
// different flows, and their users different users.
type Class struct {
	schema        string
	level         *level
	distinguisher Distinguisher
	stats         Stats
	// removed is set when a configuration without the class replaces one with it.
	removed bool
}

type classKey struct{ schema, level string }

// level is a priority level. The Queue's mutex guards it.
type level struct {
	name string
	// exempt levels have no limits of their own: the limits below do not apply to them, except min.
	exempt bool
	// nominal is the level's part of all seats. min of them are reserved for the level, and max bounds what it holds.
	nominal, min, max          int
	maxWaiting, maxUserWaiting int
	used, waiting              int
	// removed is set when a configuration without the level replaces one with it.
	removed bool
	// turns are the users with waiting requests, in the order of their turns: *user. place is the level's element in
	// Queue.turns, nil if none waits.
	turns list.List
	place *list.Element
}

// reserve returns the number of free seats that other levels must not take.
func (l *level) reserve() int {
	if l.removed {
		return 0
	}
	return max(0, l.min-l.used)
}

// borrows reports whether a further seat would exceed the level's part of the seats.
func (l *level) borrows() bool { return !l.exempt && l.used >= l.nominal }

// mayWait reports whether a request of the user may wait, as far as the level is concerned. The level may have as many
// waiting requests as there are free places, so that it leaves places to others, however many users it has.
func (l *level) mayWait(u *user, free int) bool {
	return l.exempt || l.waiting < min(l.maxWaiting, free) && u.waiting < l.maxUserWaiting
}

// gone reports whether the level was removed and its last request has ended.
func (l *level) gone() bool { return l.removed && l.used == 0 && l.waiting == 0 }

// left returns how many more seats a level may hold: the larger of its own remaining reserve and of the seats that no
// other level reserves, up to its maximum.
func (q *Queue) left(l *level) int {
	if l.exempt {
		return q.limits.Seats
	}
	unreserved := q.limits.Seats - q.used - (q.reserved - l.reserve())
	return min(l.max-l.used, max(l.min-l.used, unreserved))
}

// Configure replaces the levels and classes, and returns the classes in the same order. The level of a class must be
// in levels; names are unique. Requests in a class that is removed keep their seats and places, and are served under
// its last limits, but nothing is reserved for them.
func (q *Queue) Configure(levels []LevelConfig, classes []ClassConfig) []*Class {
	q.mu.Lock()
	defer q.mu.Unlock()
	sum := 0
	for _, c := range levels {
		sum += c.Shares
	}
	before := maps.Clone(q.levels)
	for _, c := range levels {
		q.level(c.Name).configure(c, q.limits.Seats, sum)
		delete(before, c.Name)
	}
	for name, l := range before {
		if l.removed = l != q.exempt.level; l.gone() {
			delete(q.levels, name)
		}
	}
	q.reserved = 0
	for _, l := range q.levels {
		q.reserved += l.reserve()
	}
	current, kept := make([]*Class, len(classes)), map[*Class]bool{q.exempt: true}
	for i, c := range classes {
		current[i] = q.class(c, q.level(c.Level))
		kept[current[i]] = true
	}
	q.removeClasses(kept)
	q.start()
	return current
}

// configure sets the limits of a level: Kubernetes' formulas for a server with that many seats and shares. But a level
// with nominal seats does not lend the last one: otherwise it would never receive a seat if others reserved all of
// them.
func (l *level) configure(c LevelConfig, seats, shares int) {
	l.exempt, l.maxWaiting, l.maxUserWaiting, l.removed = c.Exempt, c.Waiting, c.UserWaiting, false
	l.nominal = 0
	if shares > 0 {
		l.nominal = int(math.Ceil(float64(seats) * float64(c.Shares) / float64(shares)))
	}
	l.min = max(min(l.nominal, 1), l.nominal-percent(l.nominal, c.Lendable))
	l.max = l.nominal + seats
	if c.Borrowing >= 0 {
		l.max = l.nominal + min(seats, percent(l.nominal, c.Borrowing))
	}
}

// percent returns a percentage of n, rounded.
func percent(n, percentage int) int { return int(math.Round(float64(n) * float64(percentage) / 100)) }

// level returns a level. It creates it on first use.
func (q *Queue) level(name string) *level {
	l := q.levels[name]
	if l == nil {
		l = &level{name: name}
		q.levels[name] = l
	}
	return l
}

// class returns a class. It creates it on first use.
func (q *Queue) class(c ClassConfig, l *level) *Class {
	key := classKey{c.Schema, c.Level}
	class := q.classes[key]
	if class == nil {
		class = &Class{schema: c.Schema, level: l}
		q.classes[key] = class
	}
	class.distinguisher, class.removed = c.Distinguisher, false
	return class
}

// restore returns the class of a request that was classified before a configuration removed the class: one with the
// same name, or else the removed class, which is counted again until the next configuration.
func (q *Queue) restore(c *Class) *Class {
	key := classKey{c.schema, c.level.name}
	if current := q.classes[key]; current != nil {
		return current
	}
	q.classes[key] = c
	if current := q.levels[key.level]; current != nil {
		c.level = current
	} else {
		q.levels[key.level] = c.level
	}
	return c
}

// gone reports whether the class was removed and its last request has ended.
func (c *Class) gone() bool { return c.removed && c.stats.Working == 0 && c.stats.Waiting == 0 }

// removeClasses removes the classes that are not kept: those with requests when a later configuration finds none.
func (q *Queue) removeClasses(kept map[*Class]bool) {
	for key, c := range q.classes {
		if c.removed = !kept[c]; c.gone() {
			q.past.add(c.stats)
			c.stats = Stats{} // in case it is restored
			delete(q.classes, key)
		}
	}
}

// ClassStats are the statistics of a class.
type ClassStats struct {
	Schema, Level string
	Stats
}

// Classes returns the statistics of the exempt class and of all others that have had requests, ordered by name. A
// removed class is left out once its last request has ended.
func (q *Queue) Classes() []ClassStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []ClassStats
	for _, c := range q.classes {
		if c == q.exempt || c.stats != (Stats{}) && !c.gone() {
			all = append(all, ClassStats{c.schema, c.level.name, c.stats})
		}
	}
	slices.SortFunc(all, func(a, b ClassStats) int {
		return strings.Compare(a.Level+"/"+a.Schema, b.Level+"/"+b.Schema)
	})
	return all
}

// Levels returns the nominal number of seats of each level. A removed level is left out once its last request has
// ended.
func (q *Queue) Levels() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	nominal := make(map[string]int, len(q.levels))
	for name, l := range q.levels {
		if !l.gone() {
			nominal[name] = l.nominal
		}
	}
	return nominal
}
