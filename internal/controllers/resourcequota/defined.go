package resourcequota

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/informer"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// everywhere is all namespaces.
const everywhere = metav1.NamespaceAll

// followDefinitions has those quotas looked at anew that count a custom resource whose definition comes or changes: it may be
// served in another version then. One that goes takes its objects along, which the cache tells.
func (f *followed) followDefinitions() {
	told := func(d *metav1.PartialObjectMetadata) {
		resource := schema.ParseGroupResource(d.Name)
		f.mu.Lock()
		f.defined[resource] = time.Now()
		f.mu.Unlock()
		f.changed(resource, everywhere)
	}
	informer.For[*metav1.PartialObjectMetadata](f.others, definitions).AddHandler(informer.HandlerFuncs[*metav1.PartialObjectMetadata]{
		Add: func(d *metav1.PartialObjectMetadata, initial bool) {
			if !initial {
				told(d)
			}
		},
		Update: func(old, d *metav1.PartialObjectMetadata) {
			if d.DeletionTimestamp == nil && (old.UID != d.UID || old.Generation != d.Generation) {
				told(d)
			}
		},
	})
}

// isToBeAsked says whether the server is to be asked how it serves a resource whose definition was seen to change: when it has
// not been since, and once more later, because servers follow a definition a moment after it was written.
func isToBeAsked(changed, asked, now time.Time) bool {
	if changed.IsZero() {
		return false
	}
	later := changed.Add(lookAgain)
	return !asked.After(changed) || asked.Before(later) && !now.Before(later)
}

// unsettled is after how long the server is to be asked once more how it serves a resource; 0 for not at all.
func (f *followed) unsettled(resource schema.GroupResource) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(0, time.Until(f.defined[resource].Add(lookAgain)))
}
