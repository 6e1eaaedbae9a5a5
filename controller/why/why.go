// Package why creates the journal of controllers. It records each run of a reconciler with its causes, its
// comparisons, its writes, and the runs that these writes caused, also in other controllers and processes.
//
// Pass a Journal to controller.ManagerOptions, and serve it over HTTP at Path for bowline why; or set
// controller.ManagerOptions.Forward to Path, and the manager sends its runs to the server's journal.
package why

import "github.com/bowline-dev/bowline/internal/why"

// Journal retains the latest runs of controllers, within bounds, and detects hot loops: controllers that run
// without making progress. As an http.Handler, it reports the runs and accepts runs of other processes,
// without authenticating clients. It stores no object contents. Its methods are safe for concurrent use and
// do not block.
type Journal = why.Journal

// Options bound a journal and set its log. The zero value works.
type Options = why.Options

// New returns an empty journal.
func New(o Options) *Journal { return why.New(o) }

// Path is where servers serve a journal. It is not the path of an API resource: the server decides who may read it.
const Path = why.Path
