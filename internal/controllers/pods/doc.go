// Package pods is what the controllers of workloads share about Pods: how one is made of a template, what state one is in,
// and which of them go first. It reads objects and decides nothing else.
package pods

import "k8s.io/apimachinery/pkg/runtime/schema"

// Resource is that of pods.
var Resource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
