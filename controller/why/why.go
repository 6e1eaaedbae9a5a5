// Package why creates the journal of controllers. It records each run of a reconciler with its causes, its
// comparisons, its writes, and the runs that these writes caused, also in other controllers and processes.
//
// Controllers in the process of a plane record in its journal: pass Plane.Journal to controller.ManagerOptions.Journal.
// A controller that runs elsewhere sets controller.ManagerOptions.Forward to Path, and its manager sends the runs to
// the plane's journal; or it creates a Journal of its own and serves it over HTTP at Path. bowline why reads both.
package why

import "github.com/bowline-dev/bowline/internal/why"

// Journal retains the latest runs of controllers, within bounds, and detects hot loops: controllers that run
// again and again without making progress. As an http.Handler, it serves reports of the runs and accepts the runs of
// other processes. It does not authenticate clients; the server that mounts the handler must. It stores no object
// contents. Its methods are safe for concurrent use and, except ServeHTTP, do not block.
type Journal = why.Journal

// Options bounds a journal and sets its log. The zero value works.
type Options = why.Options

// New returns an empty journal.
func New(o Options) *Journal { return why.New(o) }

// Path is the URL path at which servers serve a journal. It is no API resource: the server decides who may read it.
const Path = why.Path
