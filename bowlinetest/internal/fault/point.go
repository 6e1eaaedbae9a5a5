package fault

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Point identifies a place where a fault can be injected: a request of a process, or an event sent to it.
// Points are identified by content rather than by position in the run, since the order of concurrent requests
// differs between runs.
type Point struct {
	// Verb is the verb of a request in Kubernetes' terms, the type of an event, or "effect" for a side effect
	// outside the API.
	Verb string
	// Resource is plural.group, followed by /subresource if there is one.
	Resource string
	// Object is namespace/name, or name. * stands for all objects, and for the part of a name that the server
	// generates.
	Object string
	// N numbers points that are otherwise equal, from 1.
	N       int
	Process string
}

// String returns the point as Scenario.Replay has it.
func (p Point) String() string {
	return fmt.Sprintf("%s %s %s #%d of %s", p.Verb, p.Resource, p.Object, p.N, p.Process)
}

// action returns the point's text without its number and process.
func (p Point) action() string { return p.Verb + " " + p.Resource + " " + p.Object }

var pointText = regexp.MustCompile(`^(\S+) (\S+) (.+) #(\d+) of (.+)$`)

func parsePoint(text string) (Point, error) {
	m := pointText.FindStringSubmatch(text)
	if m == nil {
		return Point{}, fmt.Errorf("invalid fault point %q: must look like: update configmaps default/a #1 of PROCESS",
			text)
	}
	n, err := strconv.Atoi(m[4])
	return Point{Verb: m[1], Resource: m[2], Object: m[3], N: n, Process: m[5]}, err
}

// Fault is a fault at a point.
type Fault struct {
	Kind  Kind
	Point Point
}

func (f Fault) String() string { return string(f.Kind) + ": " + f.Point.String() }

// Plan lists the faults of one run. The zero value is the undisturbed run.
type Plan struct {
	Faults []Fault
	// Stop is the number of writes after which the user stops; 0 is never. Processes must still complete what
	// these writes ask for.
	Stop int
}

// String returns the plan in the form that Parse reads.
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

// Parse reads a plan that String printed.
func Parse(text string) (Plan, error) {
	var plan Plan
	for part := range strings.SplitSeq(text, "; ") {
		if number, ok := strings.CutPrefix(part, stops); ok {
			stop, err := strconv.Atoi(number)
			if err != nil || stop < 1 {
				return Plan{}, fmt.Errorf("%q lacks the number of writes", part)
			}
			plan.Stop = stop
			continue
		}
		if part == undisturbed {
			continue
		}
		kind, rest, _ := strings.Cut(part, ": ")
		if !slices.Contains(Kinds(), Kind(kind)) {
			return Plan{}, fmt.Errorf("%q begins with no kind of fault: there are %q", part, Kinds())
		}
		point, err := parsePoint(rest)
		if err != nil {
			return Plan{}, err
		}
		plan.Faults = append(plan.Faults, Fault{Kind(kind), point})
	}
	return plan, nil
}

// Seen is a point that a run reached, with the faults that can be injected there.
type Seen struct {
	Point Point
	Kinds []Kind
	// After is the number of writes that the user had made.
	After int
}
