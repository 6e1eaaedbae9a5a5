// Package controller implements the Network controller: it compares each declared Network with the real one
// and makes the real one match. It is the control loop of the tutorials that the example follows, plus what
// they leave out: a finalizer, so that no network outlives its object; a status, so that the user sees the
// result; and a sweep that removes what a crash left behind.
//
// The controller acts on the difference between the declared and the real network as read during the
// reconcile, never on the content of an event: a change of an object, a change that the provider reports, and
// the resync all lead to the same reconcile. It accesses a server through packages client and informer, and
// real networks through provider.Provider. Package network, which both the bowline command and the example's
// own program call, connects the three.
package controller
