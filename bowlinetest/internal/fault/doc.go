// Package fault puts faults into what a process and a server say to each other: requests that fail, that the process does
// not survive, whose answer is lost or late; events that come late, twice or not at all. It works below the process's client,
// in the http.RoundTripper, so that any client can be tested as it is.
//
//   - Kind and Point say which fault there is and where: a write, a read or an event of a process;
//   - Run is one run of all processes with a Plan of faults. It numbers the points, remembers which there were, and keeps
//     the trace;
//   - Process is one of them: each Life of it has a transport that is dead once the process has crashed;
//   - History is the log of the run's plane, and knows what was committed when.
//
// Every fault is one that Kubernetes allows. A watch keeps its order and has no hole: what does not come is followed by 410
// Gone. A read without a resourceVersion shows what is there when it is asked, though its answer may take its time; only
// one that says "any version will do" is answered with an older state.
package fault
