// Package node implements the node agent, the counterpart of a kubelet. It registers Nodes, renews their
// Leases, runs the pods that are bound to them, and reports the pods' status. It uses only the Kubernetes
// API, and works with any server that provides it.
//
// A Runtime runs the containers. This package decides which containers to start and stop, and when: the order
// of init containers and sidecars, restart policies and crash backoff, deadlines, and graceful deletion.
// decide.go makes these decisions from what was observed, without I/O; admit.go decides whether a node admits
// a pod at all; resize.go gives a resized pod its new resources; pull.go repeats failed pulls of images; resources.go
// keeps the extended resources that clients advertise, and computes those of pods; status.go, condition.go and
// events.go report in the words of a kubelet; pods.go executes the decisions, for any number of nodes with a fixed
// number of goroutines.
//
// The terminal phase of a pod is final, whoever set it. Its containers end, and lost.go reports those that never ran as
// terminated.
//
// Unlike a kubelet, it does not preempt other pods for a critical one, and a running container whose image is changed
// runs on: the new image applies to its next start. A resize without a restart applies at once, so that its condition
// PodResizeInProgress never shows, and deferred resizes are retried in no particular order. Package simulated has a
// Runtime that runs nothing.
package node
