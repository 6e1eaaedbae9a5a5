package garbagecollector

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

var secrets = location{schema.GroupVersionResource{Version: "v1", Resource: "secrets"}}

// of returns an object "it" with an owner in each of the states. The references block their owners' deletion.
func of(states ...state) input {
	s := input{location: secrets,
		object: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "it",
			UID: "it"}}}
	for i, state := range states {
		r := metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: fmt.Sprint("o", i),
			UID: types.UID(fmt.Sprint("o", i)), BlockOwnerDeletion: new(true)}
		s.OwnerReferences = append(s.OwnerReferences, r)
		s.owners = append(s.owners, owner{OwnerReference: r, state: state})
	}
	return s
}

// deleted returns the object as it is when it is being deleted and has finalizers.
func (s input) deleted(finalizers ...string) input {
	s.DeletionTimestamp, s.Finalizers = &metav1.Time{}, finalizers
	return s
}

// with adds a dependent, which blocks the object's deletion if blocking is true.
func (s input) with(blocking bool, finalizers ...string) input {
	d := of(present).deleted(finalizers...).object
	d.Name, d.OwnerReferences[0].UID, d.OwnerReferences[0].BlockOwnerDeletion = "dependent", "it", &blocking
	s.dependents = append(s.dependents, dependent{secrets, d})
	return s
}

// repeated returns an object of the given age with an absent owner, whose predecessors were collected before
// times.
func repeated(before int, age time.Duration) input {
	s := of(absent)
	s.collectedBefore, s.now = before, time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s.CreationTimestamp = metav1.NewTime(s.now.Add(-age))
	return s
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	const foreground, orphan = metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents
	elsewhere := of(absent)
	elsewhere.owners[0].elsewhere = true
	marked := of(absent)
	marked.Finalizers = []string{orphan}
	for name, test := range map[string]struct {
		seen input
		want string
	}{
		"no owner":                           {of(), ""},
		"all owners present":                 {of(present, present), ""},
		"the only owner absent":              {of(absent), "delete secret/it Background"},
		"one of two absent":                  {of(present, absent), "forget owners of secret/it"},
		"one absent, one unresolvable":       {of(unresolvable, absent), "forget owners of secret/it"},
		"one absent, one unserved":           {of(unserved, absent), "forget owners of secret/it"},
		"the only owner unserved":            {of(unserved), ""},
		"an owner waits":                     {of(waiting), "delete secret/it Background"},
		"an owner waits, another is present": {of(waiting, present), "forget owners of secret/it"},
		"an owner waits for an owner":        {of(waiting).with(false), "delete secret/it Foreground"},
		"owners in a circle": {of(waiting).with(true, foreground),
			"clear blockOwnerDeletion of secret/it"},
		"an owner in another namespace": {elsewhere,
			"event OwnerRefInvalidNamespace on it: ownerRef [v1/Secret, namespace: default, name: o0, uid: o0] " +
				"does not exist in namespace \"default\"; delete secret/it Background"},
		"orphan finalizer":                          {marked, "delete secret/it Orphan"},
		"recreated":                                 {repeated(1, 0), "requeue after 2s"},
		"recreated, old enough":                     {repeated(1, 2*time.Second), "delete secret/it Background"},
		"recreated repeatedly":                      {repeated(20, 2*time.Second), "requeue after 58s"},
		"being deleted":                             {of(absent).deleted("example.com/hold"), ""},
		"foreground, no dependent":                  {of().deleted(foreground), "release secret/it"},
		"foreground, blocking dependent":            {of().deleted(foreground).with(true), "requeue after 1m0s"},
		"foreground, dependent that does not block": {of().deleted(foreground).with(false), "release secret/it"},
		"orphan, dependent": {of().deleted(orphan).with(true),
			"forget owners of secret/dependent; release secret/it"},
		"orphan, no dependent": {of().deleted(orphan), "release secret/it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := describe(decide(test.seen)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// describe formats actions, deletions with their propagation policy.
func describe(actions []action.Action) string {
	var all []string
	for _, a := range actions {
		line := a.String()
		if d, ok := a.(action.Delete[object]); ok {
			line += " " + string(d.Propagation)
		}
		all = append(all, line)
	}
	return strings.Join(all, "; ")
}
