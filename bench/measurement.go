package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// unit is the unit of a figure; it determines whether more or less is better.
type unit string

const (
	microseconds unit = "µs"          // less is better
	milliseconds unit = "ms"          // less is better
	seconds      unit = "s"           // less is better
	mebibytes    unit = "MiB"         // less is better
	kibibytes    unit = "KiB"         // less is better
	bytesEach    unit = "B"           // less is better
	allocations  unit = "allocs"      // less is better
	times        unit = "x"           // less is better
	packages     unit = "packages"    // less is better
	timesFaster  unit = "x as fast"   // more is better
	perSecond    unit = "per s"       // more is better
	percent      unit = "%"           // more is better
	ofACore      unit = "% of a core" // less is better
)

// figure is a number in the table, with its target.
type figure struct {
	work   string
	unit   unit
	target float64
}

// reached reports whether a value reaches the target.
func (f figure) reached(value float64) bool {
	if f.unit == perSecond || f.unit == percent || f.unit == timesFaster {
		return value >= f.target
	}
	return value <= f.target
}

// reading is the value of a figure in one run, with the CPU time of both processes for each request; zero if
// there are no requests or the process is unknown.
type reading struct {
	Value  float64       `json:"value"`
	Client time.Duration `json:"clientCPU"`
	Server time.Duration `json:"serverCPU"`
}

// measurement is an operation that yields one or more figures.
type measurement struct {
	figures []figure
	// starts means that the operation starts processes, and cannot measure a running server.
	starts bool
	// missing returns an error if the machine lacks something that is measured; nil if nothing can be
	// missing.
	missing func() error
	// most is the maximum number of runs of a long operation; 0 means no limit.
	most int
	// run performs the operation once and returns a reading for each figure.
	run func(context.Context, *lab) ([]reading, error)
}

// measurements lists the rows of the table.
var measurements = []measurement{
	processStart(), firstProcessStart(), planeStart(), testKit(), newController(), envtestSuite(), builds(),
	restart("process start to /readyz, 10,000 objects of 1 KiB on disk", 10_000, 150),
	restart("process start to /readyz, 100,000 objects of 1 KiB on disk", 100_000, 450),
	onDisk(creates(1, 2_000, 0), 600), onDisk(creates(16, 10_000, 0), 3_500),
	idleMemory(), filledMemory(),
	creates(1, 4_000, 2_000), creates(16, 20_000, 5_500), createsUnderQuota(16, 20_000, 3_000),
	createsUnderPolicies(16, 20_000, 4_125), configMapsThroughPlugins(), podsThroughPlugins(),
	createPods("JSON", runtime.ContentTypeJSON, 1_800), createPods("protobuf", runtime.ContentTypeProtobuf, 2_400),
	createsOfCustomResources(16, 10_000, 2_500),
	gets(1, 6_000, 3_500), gets(16, 30_000, 9_000),
	lists(), listPods(), listCustomResources(), selectedLists(), watchers(),
	compareWatchers(namespaceWatchers), compareWatchers(labelWatchers), compareWatchers(fieldWatchers),
	idleWatchers("10,000 idle watchers on shared connections", 10_000, 20, 20),
	idleWatchers("1,000 idle watchers, each on its own TLS connection", 1_000, 1_000, 64),
	applyConfigMaps("no change", 3_000, 0), applyConfigMaps("one field changed", 2_500, 1),
	applyDeployments("no change", 1_000, 0), applyDeployments("one field changed", 800, 1),
	informerStarts(), recordedEvents(),
	customResource(), thousandDefinitions(), documents(), overload(),
	storeCommits(), storeReads(), diskCommits(), forks(), millionObjects(false), millionObjects(true),
	queues(), reconciles(), ownWrites(), listers(), cachedPods(), cachedHitches(), sampleControllers(),
	recordedNetworks(), neutronNetworks(), ingressChanges(), workloads(), schedules(),
	webhookBySelf(), webhookByMany(), unaskedWebhooks(), policiesOfOthers(), aggregatedRequests(),
	throughInitializer(), initializersOfOthers(),
	virtualYear(), deletions(), idling(), heartbeats(),
}

// result is a figure with all its readings, or an error.
type result struct {
	figure
	readings []reading
	err      error
}

// runLimit is the time limit of one run, after which the row fails.
const runLimit = 10 * time.Minute

// median returns the median of a field of the readings.
func median[T cmp.Ordered](readings []reading, of func(reading) T) T {
	values := make([]T, len(readings))
	for i, r := range readings {
		values[i] = of(r)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// measureAll runs the measurements with a matching figure, and prints its progress to standard error.
func (l *lab) measureAll(ctx context.Context, pattern *regexp.Regexp) []result {
	var results []result
	for _, m := range measurements {
		wanted := slices.ContainsFunc(m.figures, func(f figure) bool { return pattern.MatchString(f.work) })
		if wanted && m.missing != nil {
			if err := m.missing(); err != nil {
				fmt.Fprintf(os.Stderr, "%s: left out: %v\n", m.figures[0].work, err)
				continue
			}
		}
		if wanted && !(m.starts && l.kubeconfig != "") && ctx.Err() == nil {
			results = append(results, l.measure(ctx, m)...)
		}
	}
	return results
}

// measure runs one measurement the requested number of times, or until it fails.
func (l *lab) measure(ctx context.Context, m measurement) []result {
	rows := make([]result, len(m.figures))
	for i, f := range m.figures {
		rows[i].figure = f
	}
	runs := l.runs
	if m.most > 0 {
		runs = min(runs, m.most)
	}
	for run := range runs {
		limited, cancel := context.WithTimeout(ctx, runLimit)
		readings, err := m.run(limited, l)
		cancel()
		for i, f := range m.figures {
			if err != nil {
				rows[i].err = fmt.Errorf("%s: run %d of %d: %w", f.work, run+1, runs, err)
				fmt.Fprintln(os.Stderr, rows[i].err)
				continue
			}
			rows[i].readings = append(rows[i].readings, readings[i])
			fmt.Fprintf(os.Stderr, "%s: run %d of %d: %s\n", f.work, run+1, runs, f.unit.format(readings[i].Value))
		}
		if err != nil {
			break
		}
	}
	return rows
}
