package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// A store may contain objects that it cannot read (store.Options.AcceptDamage). A get of such an object
// fails, a list leaves it out and adds a Warning, and writes other than a delete are refused. In Kubernetes
// the list fails as well, and a delete needs an option (KEP-3926), which this server also supports.

// absent returns the error of a key without an object: it does not exist, or cannot be read.
func (s *Server) absent(gr schema.GroupResource, key object.Key) error {
	if err := s.store.Damage(key); err != nil {
		return err
	}
	return notFound(gr, key.Name())
}

// unreadable returns the Status of a request for an object that cannot be read, with Kubernetes' reason.
func unreadable(err *store.UnreadableError) metav1.Status {
	gr := err.Key.GroupResource()
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonStoreReadError,
		Message: fmt.Sprintf("%s %q is damaged and cannot be read: %v; "+
			"restore the plane from a backup with bowline restore, or delete the object, which nothing brings back",
			gr, name(err.Key), err.Err),
		Details: &metav1.StatusDetails{Group: gr.Group, Kind: gr.Resource, Name: err.Key.Name()},
	}
}

// name returns an object's name, with its namespace if it has one.
func name(key object.Key) string {
	if namespace := key.Namespace(); namespace != "" {
		return namespace + "/" + key.Name()
	}
	return key.Name()
}

// undefined returns an error if a resource is not served because its definition cannot be read. Its objects
// exist, so a 404 would mislead clients.
func (s *Server) undefined(gr schema.GroupResource) error {
	return s.store.Damage(object.KeyOf(definitionsResource, "", gr.String()))
}

// tellDamage adds a Warning to a list that leaves out unreadable objects. If the list selects only such an
// object, it fails.
func (s *Server) tellDamage(c *call, selected *selection) error {
	damaged := s.store.DamagedIn(selected.prefix)
	if len(damaged) == 0 {
		return nil
	}
	if selected.single() {
		return damaged[0]
	}
	const most = 3
	var names []string
	for _, d := range damaged[:min(len(damaged), most)] {
		names = append(names, name(d.Key))
	}
	if more := len(damaged) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	c.warn(fmt.Sprintf("%s%d of %s cannot be read and are left out: %s",
		client.IncompleteList, len(damaged), c.resource(), strings.Join(names, ", ")))
	return nil
}

// discard removes an object that cannot be read, without admission, preconditions and finalizers, and without
// regard to its dependents. It requires a separate permission.
func (s *Server) discard(c *call, key object.Key, o *metav1.DeleteOptions) (*removed, error) {
	unsafe := *c.route
	unsafe.verb = "unsafe-delete-ignore-read-errors"
	if err := s.authorize(c.context(), unsafe, c.user); err != nil {
		return nil, err
	}
	if p := o.Preconditions; p != nil && (p.UID != nil || p.ResourceVersion != nil) {
		return nil, apierrors.NewConflict(c.resource(), key.Name(),
			errors.New("it is damaged and cannot be read: nobody knows its uid and resourceVersion; delete it without preconditions"))
	}
	if len(o.DryRun) > 0 {
		return &removed{}, nil
	}
	changes := []store.Change{{Key: key, Expect: store.Anything()}}
	if c.info().Claims {
		claims, err := s.claimsOf(c.context(), key)
		if err != nil {
			return nil, err
		}
		changes = append(changes, claims...)
	}
	c.spans.at(stageCommit)
	if _, err := s.store.Commit(c.context(), changes...); err != nil {
		return nil, err
	}
	s.log.Warn("an object that could not be read was deleted", "key", key, "user", c.user.Name)
	c.warn(fmt.Sprintf("%s %q could not be read: it was deleted without regard to its finalizers and to what it owned",
		c.resource(), name(key)))
	return &removed{}, nil
}

// claimsOf returns the deletions of all claims of an owner.
func (s *Server) claimsOf(ctx context.Context, owner object.Key) ([]store.Change, error) {
	snapshot, err := s.store.Snapshot(ctx, store.Latest())
	if err != nil {
		return nil, err
	}
	var changes []store.Change
	snapshot.Scan(claimGroup+"/", "", func(o *object.Object) bool {
		if ownerOf(o) == owner.Namespace()+"/"+owner.Name() {
			changes = append(changes, store.Change{Key: o.Key, Expect: store.Anything()})
		}
		return true
	})
	return changes, nil
}

// ownerOf returns the namespace and name of a claim's owner; empty if the claim cannot be decoded.
func ownerOf(claim *object.Object) string {
	var record metav1.PartialObjectMetadata
	if json.Unmarshal(claim.Stored().Bytes(), &record) != nil {
		return ""
	}
	return record.Annotations[claimOwner]
}

// whole is the health check that everything in the store can be read.
func (s *Server) whole(context.Context) error {
	if n := len(s.store.Damaged()); n > 0 {
		return fmt.Errorf("%d objects are damaged and cannot be read: bowline verify names them", n)
	}
	return nil
}

var damagedObjects = prometheus.NewDesc("bowline_store_damaged_objects", "Objects that are stored and cannot be read.",
	nil, nil)

// damageCount collects the number of unreadable objects.
type damageCount struct{ s *Server }

var _ prometheus.Collector = damageCount{}

// Describe implements prometheus.Collector.
func (damageCount) Describe(to chan<- *prometheus.Desc) { to <- damagedObjects }

// Collect implements prometheus.Collector.
func (c damageCount) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.MustNewConstMetric(damagedObjects, prometheus.GaugeValue, float64(len(c.s.store.Damaged())))
}

// readable returns an error if a new object would replace one that cannot be read.
func (s *Server) readable(k kind.Kind, obj kind.Object) error {
	return s.store.Damage(object.KeyOf(k.Info().GroupResource(), obj.GetNamespace(), obj.GetName()))
}
