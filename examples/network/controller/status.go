package controller

import (
	"encoding/json"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
)

// verdict is what a reconcile came to: the Ready condition before it is compared with the one that is there.
type verdict struct {
	ready           bool
	reason, message string
	// id is the real network's; empty when there is none.
	id string
	// alias is what the real network is called beside that; empty for nothing.
	alias string
}

// full is the message of the condition.
func (v verdict) full() string {
	if v.alias == "" {
		return v.message
	}
	return v.message + aliasAfter + v.alias
}

const aliasAfter = ", "

// holds says whether the object's status says so already.
func (v verdict) holds(n *v1.Network) bool {
	c := meta.FindStatusCondition(n.Status.Conditions, v1.ConditionReady)
	return v.held(n) && c.Message == v.full()
}

// held says whether the object's status says so already, be it of a real network that was called otherwise.
func (v verdict) held(n *v1.Network) bool {
	c := meta.FindStatusCondition(n.Status.Conditions, v1.ConditionReady)
	return c != nil && n.Status.ID == v.id && (c.Status == metav1.ConditionTrue) == v.ready && c.Reason == v.reason &&
		strings.HasPrefix(c.Message+aliasAfter, v.message+aliasAfter)
}

// status is what an object's status should be. generation is the one that it answers, or 0 where a status write raises
// the generation, so that no status could ever name the current one.
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

// statement is what this controller says in a status: not what others add to it, nor since when it is so.
func statement(s v1.NetworkStatus) v1.NetworkStatus {
	ready := meta.FindStatusCondition(s.Conditions, v1.ConditionReady)
	s.Conditions = nil
	if ready != nil {
		said := *ready
		said.LastTransitionTime = metav1.Time{}
		s.Conditions = []metav1.Condition{said}
	}
	return s
}

// statusPatch is the merge patch that makes an object's status s; nil when it is so already. It names the uid, so that
// an object of the same name that came since is not written to.
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
