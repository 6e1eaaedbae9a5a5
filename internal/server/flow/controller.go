package flow

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/flowcontrol"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/fair"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/server/tasks"
	"github.com/bowline-dev/bowline/internal/store"
)

var (
	levels  = schema.GroupResource{Group: flowcontrolv1.GroupName, Resource: "prioritylevelconfigurations"}
	schemas = schema.GroupResource{Group: flowcontrolv1.GroupName, Resource: "flowschemas"}
)

// Options configure a Controller. All fields are required.
type Options struct {
	Store  *store.Store
	Kinds  *kind.Registry
	Reader *stored.Reader
	Queue  *fair.Queue
	Tasks  *tasks.Group
	Log    *slog.Logger
	// Ensure creates or corrects an initial object; see write.Writer.
	Ensure func(context.Context, kind.Initial) (existed bool, err error)
}

// Controller classifies requests, and maintains the objects that configure how. Its methods may be called concurrently.
// Requests may precede Start.
type Controller struct {
	o Options
	// bootstrap is whether the server creates and corrects its initial objects. Start sets it.
	bootstrap bool
	// exempt is the schema of administrators.
	exempt atomic.Pointer[Schema]
	// current is nil until a request needs it.
	current atomic.Pointer[table]
	mu      sync.Mutex // serializes compilations, and guards created
	// dangling are the conditions Dangling that maintain wrote within retryAfter. Only its goroutine uses them.
	dangling map[types.UID]flowcontrolv1.FlowSchemaCondition
	// created is the revision at which create committed last; 0 if it has not.
	created object.Revision
}

// New returns a Controller.
func New(o Options) *Controller {
	c := &Controller{o: o, dangling: map[types.UID]flowcontrolv1.FlowSchemaCondition{}}
	c.exempt.Store(c.exemptSchema("", ""))
	return c
}

// Start creates the initial objects if bootstrap is set, and follows the changes of all objects until the server's
// tasks end. With bootstrap it also corrects the initial objects after each change. An error of the store is logged,
// and the creation repeated at once and then each minute: a server without the objects is better than none.
func (c *Controller) Start(ctx context.Context, bootstrap bool) error {
	c.bootstrap = bootstrap
	c.exempt.Store(c.administrators())
	if !c.serves(levels) || !c.serves(schemas) {
		return nil
	}
	apply := false
	if bootstrap {
		var err error
		if apply, err = c.create(ctx); err != nil {
			if ctx.Err() != nil {
				return err
			}
			c.o.Log.Warn("flow schemas and priority levels that the server should have are missing", "error", err)
			apply = true
		}
		c.exempt.Store(c.administrators())
		c.forget()
	}
	changed, err := c.changes()
	if err != nil {
		return err
	}
	if c.o.Tasks.Begin(task) {
		go c.follow(changed, apply)
	}
	return nil
}

// task is the name of follow among the tasks of the server.
const task = "flow schemas"

// serves reports whether the server serves a resource by its built-in kind.
func (c *Controller) serves(resource schema.GroupResource) bool {
	k, ok := c.o.Kinds.Stored(resource)
	if _, custom := k.(kind.Custom); custom {
		return false
	}
	return ok
}

// forget drops what a request compiled before Start created the objects.
func (c *Controller) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current.Store(nil)
}

// administrators returns the schema of administrators, with the stored UIDs.
func (c *Controller) administrators() *Schema {
	return c.exemptSchema(c.uid(schemas, flowcontrolv1.FlowSchemaNameExempt),
		c.uid(levels, flowcontrolv1.PriorityLevelConfigurationNameExempt))
}

func (c *Controller) exemptSchema(schema, level types.UID) *Schema {
	s := &Schema{name: flowcontrolv1.FlowSchemaNameExempt, exempt: true, class: c.o.Queue.Exempt()}
	s.setUIDs(schema, level)
	return s
}

// uid returns the UID of an object, or "" if it does not exist.
func (c *Controller) uid(resource schema.GroupResource, name string) types.UID {
	if o := c.o.Store.Get(object.KeyOf(resource, "", name)); o != nil {
		return o.UID
	}
	return ""
}

// Classify returns the schema of a request. It does not allocate.
func (c *Controller) Classify(user *auth.User, route *request.Route) *Schema {
	if user.In(auth.AdminGroup) {
		return c.exempt.Load()
	}
	t := c.current.Load()
	if t == nil {
		t = c.compileFirst()
	}
	return t.find(user, route)
}

// compileFirst compiles the objects unless that has happened.
func (c *Controller) compileFirst() *table {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.current.Load()
	if t == nil {
		found, err := c.read(c.o.Tasks.Context())
		if err != nil {
			c.o.Log.Error("flow schemas cannot be read; only the mandatory ones apply", "error", err)
			found = &objects{}
		}
		t = compile(found, c.o.Queue)
		c.current.Store(t)
	}
	return t
}

// read returns the stored objects. Those that this start has created need not be decoded.
func (c *Controller) read(ctx context.Context) (*objects, error) {
	found := &objects{levelUIDs: map[string]types.UID{}, schemaUIDs: map[string]types.UID{}}
	if !c.serves(levels) || !c.serves(schemas) {
		found.levels, found.schemas = flowcontrol.Suggested()
		return found, nil
	}
	snapshot, err := c.o.Store.Snapshot(ctx, store.Latest())
	if err != nil {
		return nil, err
	}
	known := map[string]kind.Object{}
	for _, i := range flowcontrol.Initial() {
		known[i.Object.GetObjectKind().GroupVersionKind().Kind+"/"+i.Object.GetName()] = i.Object
	}
	for _, resource := range []schema.GroupResource{levels, schemas} {
		k, _ := c.o.Kinds.Stored(resource)
		codec := kind.CodecOf(k)
		snapshot.Scan(object.Prefix(resource, ""), "", func(o *object.Object) bool {
			obj := known[k.Info().Kind+"/"+o.Key.Name()]
			if obj == nil || c.created == 0 || o.Revision != c.created {
				if o.Uninitialized() {
					return true
				}
				if obj, err = stored.Shared(codec, o); err != nil {
					c.o.Log.Error("an object that classifies requests cannot be read, and is ignored", "key", o.Key,
						"error", err)
					return true
				}
			}
			switch obj := obj.(type) {
			case *flowcontrolv1.PriorityLevelConfiguration:
				found.levels, found.levelUIDs[obj.Name] = append(found.levels, obj), o.UID
			case *flowcontrolv1.FlowSchema:
				found.schemas, found.schemaUIDs[obj.Name] = append(found.schemas, obj), o.UID
			}
			return true
		})
	}
	return found, nil
}

// changes returns a channel for each resource, which is closed when an object of it changes.
func (c *Controller) changes() (changed [2]<-chan struct{}, err error) {
	for i, resource := range []schema.GroupResource{levels, schemas} {
		if changed[i], err = c.o.Reader.Changes(resource); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// retryAfter is the time after which a failed write is repeated, as in Kubernetes.
const retryAfter = time.Minute

// follow compiles and maintains the objects after each change, and at once if now is set.
func (c *Controller) follow(changed [2]<-chan struct{}, now bool) {
	defer c.o.Tasks.Done(task)
	ctx := c.o.Tasks.Context()
	for {
		var retry <-chan time.Time
		if now {
			if err := c.apply(ctx); err != nil && ctx.Err() == nil {
				c.o.Log.Warn("flow schemas or priority levels are not up to date; trying again", "error", err, "after",
					retryAfter)
				retry = time.After(retryAfter)
			}
		}
		now = true
		select {
		case <-ctx.Done():
			return
		case <-changed[0]:
		case <-changed[1]:
		case <-retry:
		}
		var ok bool
		if changed, ok = c.followAgain(ctx, c.changes); !ok {
			return
		}
	}
}

// followAgain returns the next channels of follow, or false if the server ends or the store is closed. It tries again
// after other errors: the store may have compacted the revision at which the watch should begin.
func (c *Controller) followAgain(ctx context.Context, changes func() ([2]<-chan struct{}, error)) (
	[2]<-chan struct{}, bool) {
	for {
		changed, err := changes()
		if err == nil {
			return changed, true
		}
		if closed := cmp.Or(ctx.Err(), c.o.Store.Err()); closed != nil {
			return changed, false
		}
		c.o.Log.Warn("changes of flow schemas and priority levels cannot be followed; trying again", "error", err,
			"after", time.Second)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// apply compiles the objects, and corrects those that the server maintains.
func (c *Controller) apply(ctx context.Context) error {
	c.mu.Lock()
	found, err := c.read(ctx)
	if err == nil {
		c.exempt.Store(c.administrators())
		c.current.Store(compile(found, c.o.Queue))
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return c.maintain(ctx, found)
}
