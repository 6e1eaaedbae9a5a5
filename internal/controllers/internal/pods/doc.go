// Package pods provides what the controllers of workloads share about Pods: creating them from templates,
// their state, and the order in which they are deleted.
package pods

import "k8s.io/apimachinery/pkg/runtime/schema"

// Resource is the resource of Pods.
var Resource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
