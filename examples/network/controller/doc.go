// Package controller is the Network controller: it compares each declared Network with the real one and makes the real
// one match. It is the loop of the texts that the example follows, with what they leave out: a finalizer, so that no
// network outlives its object; a status, so that the user sees what came of it; and a sweep for what a crash left.
//
// It acts on the difference between what is declared and what is there as read now, never on what an event said: an
// object's change, a word of the provider that something moved, and the resync all lead to the same reconcile. It talks
// to a server through packages client and informer, and to the world through provider.Provider; package network, which
// both the bowline command and the example's own program call, puts the three together.
package controller
