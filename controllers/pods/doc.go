// Package pods is what the controllers of workloads share about Pods: how one is made of a template, what state one is in,
// and which of them go first. It reads objects and decides nothing else.
package pods
