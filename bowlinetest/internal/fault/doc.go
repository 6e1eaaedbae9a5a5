// Package fault injects faults between a process and the server: requests that fail, that the process does
// not survive, or whose response is lost or late, and events that arrive late, twice or not at all. It works
// below the process's client, in the http.RoundTripper, so that any client can be tested unchanged.
//
//   - Kind and Point describe a fault and where it is injected: a write, a read or an event of a process.
//   - Run is one run of all processes with a Plan of faults. It numbers the points, records the ones reached,
//     and holds the trace.
//   - Process is one of the processes. Each time it starts it gets a new transport, which fails all requests
//     after a crash.
//   - History is the log of the run's plane, and knows what each commit changed.
//
// Every fault is one that Kubernetes allows. A watch preserves the order of events and has no gaps: lost
// events are followed by 410 Gone. A read without a resourceVersion returns the current state, though the
// response may be late; only a read that accepts any version may get an older state.
package fault
