package controller

import (
	"encoding/json"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
)

// verdict is the result of a reconcile, from which the Ready condition is made.
type verdict struct {
	ready           bool
	reason, message string
	// id is the name of the real network; empty if there is none.
	id string
	// alias is another name of the real network; empty if it has none.
	alias string
}

// full returns the message of the condition.
func (v verdict) full() string {
	if v.alias == "" {
		return v.message
	}
	return v.message + aliasAfter + v.alias
}

const aliasAfter = ", "

// recordedIn reports whether the object's status already states the verdict.
func (v verdict) recordedIn(n *v1.Network) bool {
	c := meta.FindStatusCondition(n.Status.Conditions, v1.ConditionReady)
	return v.recordedIgnoringAlias(n) && c.Message == v.full()
}

// recordedIgnoringAlias is like recordedIn, but ignores the alias of the real network.
func (v verdict) recordedIgnoringAlias(n *v1.Network) bool {
	c := meta.FindStatusCondition(n.Status.Conditions, v1.ConditionReady)
	return c != nil && n.Status.ID == v.id && (c.Status == metav1.ConditionTrue) == v.ready && c.Reason == v.reason &&
		strings.HasPrefix(c.Message+aliasAfter, v.message+aliasAfter)
}

// status returns the object's new status. generation is the generation that it describes, or 0 if the kind
// has no status subresource: each status write then raises the generation, and no status could name the
// current generation.
func (v verdict) status(n *v1.Network, providerName string, generation int64) v1.NetworkStatus {
	var s v1.NetworkStatus
	n.Status.DeepCopyInto(&s)
	s.Provider, s.ID, s.ObservedGeneration = providerName, v.id, generation
	ready := metav1.Condition{
		Type: v1.ConditionReady, Status: metav1.ConditionFalse,
		Reason: v.reason, Message: v.full(), ObservedGeneration: generation,
	}
	if v.ready {
		ready.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&s.Conditions, ready)
	return s
}

// ownedStatus returns the part of a status that this controller owns: without conditions of other clients and
// without transition times.
func ownedStatus(s v1.NetworkStatus) v1.NetworkStatus {
	ready := meta.FindStatusCondition(s.Conditions, v1.ConditionReady)
	s.Conditions = nil
	if ready != nil {
		owned := *ready
		owned.LastTransitionTime = metav1.Time{}
		s.Conditions = []metav1.Condition{owned}
	}
	return s
}

// statusPatch returns a merge patch that sets an object's status to s, or nil if it is equal already. The
// patch names the UID, so that it does not apply to a new object of the same name.
func statusPatch(n *v1.Network, s v1.NetworkStatus) ([]byte, error) {
	if reflect.DeepEqual(n.Status, s) {
		return nil, nil
	}
	status := map[string]any{"provider": s.Provider, "id": nil, "observedGeneration": nil, "conditions": s.Conditions}
	if s.ID != "" {
		status["id"] = s.ID
	}
	if s.ObservedGeneration != 0 {
		status["observedGeneration"] = s.ObservedGeneration
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": n.UID}, "status": status})
}
