package fault

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Point is where a fault may be: a request of a process, or an event that it is sent. It is told from others by what it is
// about and not by when it comes, since the order of what happens at once differs between runs.
type Point struct {
	// Verb is that of a request as Kubernetes names it, EVENT for an event's type, or effect for what a process does
	// outside of the API.
	Verb string
	// Resource is plural.group, with /subresource.
	Resource string
	// Object is namespace/name, or name; * stands for all, and for what the server makes up at the end of a name.
	Object string
	// N counts those that are alike, from 1.
	N       int
	Process string
}

func (p Point) String() string {
	return fmt.Sprintf("%s %s %s #%d of %s", p.Verb, p.Resource, p.Object, p.N, p.Process)
}

// what is the point without its number and process.
func (p Point) what() string { return p.Verb + " " + p.Resource + " " + p.Object }

var pointText = regexp.MustCompile(`^(\S+) (\S+) (.+) #(\d+) of (.+)$`)

func parsePoint(text string) (Point, error) {
	m := pointText.FindStringSubmatch(text)
	if m == nil {
		return Point{}, fmt.Errorf("%q is no point: it must be like: update configmaps default/a #1 of PROCESS", text)
	}
	n, err := strconv.Atoi(m[4])
	return Point{Verb: m[1], Resource: m[2], Object: m[3], N: n, Process: m[5]}, err
}

// Fault is what goes wrong, and where.
type Fault struct {
	Kind  Kind
	Point Point
}

func (f Fault) String() string { return string(f.Kind) + ": " + f.Point.String() }

// Plan is what is to go wrong in one run. The zero value is the undisturbed one.
type Plan struct {
	Faults []Fault
	// Stop is after how many writes the user does nothing more; 0 is never. What has been asked for must come true even so.
	Stop int
}

// String is what Parse reads.
func (p Plan) String() string {
	var texts []string
	for _, f := range p.Faults {
		texts = append(texts, f.String())
	}
	if len(texts) == 0 {
		texts = []string{undisturbed}
	}
	if p.Stop > 0 {
		texts = append(texts, stops+strconv.Itoa(p.Stop))
	}
	return strings.Join(texts, "; ")
}

const (
	undisturbed = "undisturbed"
	stops       = "the user stops after "
)

// Parse reads a plan.
func Parse(text string) (Plan, error) {
	var plan Plan
	for one := range strings.SplitSeq(text, "; ") {
		if number, ok := strings.CutPrefix(one, stops); ok {
			stop, err := strconv.Atoi(number)
			if err != nil || stop < 1 {
				return Plan{}, fmt.Errorf("%q does not say after how many writes", one)
			}
			plan.Stop = stop
			continue
		}
		if one == undisturbed {
			continue
		}
		kind, where, _ := strings.Cut(one, ": ")
		if !slices.Contains(Kinds(), Kind(kind)) {
			return Plan{}, fmt.Errorf("%q begins with no kind of fault: there are %q", one, Kinds())
		}
		point, err := parsePoint(where)
		if err != nil {
			return Plan{}, err
		}
		plan.Faults = append(plan.Faults, Fault{Kind(kind), point})
	}
	return plan, nil
}

// Seen is a point that a run came by, and what may go wrong there.
type Seen struct {
	Point Point
	Kinds []Kind
	// After is how many writes the user had made.
	After int
}
