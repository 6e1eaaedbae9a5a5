package resourcequota

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/informer"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

// everywhere stands for all namespaces.
const everywhere = metav1.NamespaceAll

// followDefinitions schedules the quotas that count a custom resource whose definition is added or changes,
// since it may then be served in another version. The deletion of a definition deletes its objects, which the
// cache reports.
func (f *caches) followDefinitions() {
	note := func(d *metav1.PartialObjectMetadata) {
		resource := schema.ParseGroupResource(d.Name)
		f.mu.Lock()
		f.defined[resource] = time.Now()
		f.mu.Unlock()
		f.onChange(resource, everywhere, batchDelay)
	}
	informer.For[*metav1.PartialObjectMetadata](f.metadata,
		definitions).AddHandler(informer.HandlerFuncs[*metav1.PartialObjectMetadata]{
		Add: func(d *metav1.PartialObjectMetadata, initial bool) {
			if !initial {
				note(d)
			}
		},
		Update: func(old, d *metav1.PartialObjectMetadata) {
			if d.DeletionTimestamp == nil && (old.UID != d.UID || old.Generation != d.Generation) {
				note(d)
			}
		},
	})
}

// needsDiscovery reports whether discovery is needed for a resource whose definition has changed: once right
// after the change and once more later, since servers apply a definition with a delay.
func needsDiscovery(changed, discovered, now time.Time) bool {
	if changed.IsZero() {
		return false
	}
	second := changed.Add(retryInterval)
	return !discovered.After(changed) || discovered.Before(second) && !now.Before(second)
}

// untilRediscovery returns the time until the second discovery for a resource; 0 if none is due.
func (f *caches) untilRediscovery(resource schema.GroupResource) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(0, time.Until(f.defined[resource].Add(retryInterval)))
}
