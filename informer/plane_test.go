package informer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/object"
)

var configmaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// plane is a simple client.Source: the config maps of a server, and faults to inject.
type plane struct {
	codec codec
	reads object.Codec // the codec of lists and events; nil for codec

	mu       sync.Mutex
	changed  *sync.Cond
	revision object.Revision
	objects  map[informer.Key]*object.Object
	history  []client.Event
	oldest   object.Revision // changes up to it are compacted

	missing     bool // nothing serves the resource
	down        bool // connections are refused
	breaks      int  // counts the times that all watches were broken off
	lists       int
	watches     int
	listOptions []client.Options // by lists

	faults *faults // of what watches yield; nil for none
}

func newPlane() *plane {
	p := &plane{objects: map[informer.Key]*object.Object{}, revision: 1000, codec: codec{object.NewCache(1 << 20)}}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// put creates or changes a config map.
func (p *plane) put(name, value string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revision++
	key := informer.Key{Namespace: "ns", Name: name}
	old, event := p.objects[key], watch.Modified
	uid := types.UID("uid-" + p.revision.String())
	if old == nil {
		event = watch.Added
	} else {
		uid = old.UID
	}
	p.objects[key] = p.object(name, value, uid)
	p.publish(client.Event{Type: event, Object: p.objects[key], Revision: p.revision})
}

// remove deletes a config map.
func (p *plane) remove(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := informer.Key{Namespace: "ns", Name: name}
	old := p.objects[key]
	if old == nil {
		return
	}
	p.revision++
	delete(p.objects, key)
	last, err := old.At(p.revision)
	if err != nil {
		panic(err)
	}
	p.publish(client.Event{Type: watch.Deleted, Object: last, Revision: p.revision})
}

func (p *plane) object(name, value string, uid types.UID) *object.Object {
	encoded, err := p.codec.Encode(object.Form{APIVersion: "v1"}, &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: uid, ResourceVersion: p.revision.String(),
			Labels:          map[string]string{"value": value},
			OwnerReferences: []metav1.OwnerReference{{UID: types.UID("owner of " + name)}},
		},
		Data: map[string]string{"value": value},
	})
	if err != nil {
		panic(err)
	}
	encoding, err := object.NewEncoding(object.Form{APIVersion: "v1"}, encoded)
	if err != nil {
		panic(err)
	}
	o := object.New(object.Header{
		Key: object.KeyOf(configmaps.GroupResource(), "ns", name), UID: uid,
		Labels: map[string]string{"value": value}, Owners: []types.UID{types.UID("owner of " + name)},
	}, p.codec, encoding)
	o.Revision = p.revision
	return o
}

func (p *plane) reader() object.Codec {
	if p.reads != nil {
		return p.reads
	}
	return p.codec
}

// corrupt makes an object undecodable, or creates such an object: its data is not a map.
func (p *plane) corrupt(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revision++
	key := informer.Key{Namespace: "ns", Name: name}
	old, event := p.objects[key], watch.Modified
	if old == nil {
		old, event = p.object(name, "", types.UID("uid-"+p.revision.String())), watch.Added
	}
	data := fmt.Appendf(nil, `{"kind":"ConfigMap","apiVersion":"v1",`+
		`"metadata":{"namespace":"ns","name":%q,"uid":%q,"resourceVersion":%q},"data":5}`, name, old.UID, p.revision)
	encoding, err := object.NewEncoding(object.Form{APIVersion: "v1"}, data)
	if err != nil {
		panic(err)
	}
	o := object.New(old.Header, p.codec, encoding)
	o.Revision = p.revision
	p.objects[key] = o
	p.publish(client.Event{Type: event, Object: o, Revision: p.revision})
}

func (p *plane) publish(event client.Event) {
	event.Codec = p.reader()
	p.history = append(p.history, event)
	p.changed.Broadcast()
}

// compact drops the history.
func (p *plane) compact() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.oldest, p.history = p.revision, nil
}

// set changes the faults to inject, and ends all watches.
func (p *plane) set(change func(*plane)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
	p.breaks++
	p.changed.Broadcast()
}

// values returns the values of the objects by name.
func (p *plane) values() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	values := map[string]string{}
	for key, o := range p.objects {
		obj, err := o.Decoded(p.codec)
		if err != nil {
			panic(err)
		}
		values[key.Name] = obj.(*corev1.ConfigMap).Data["value"]
	}
	return values
}

func (p *plane) requests() (lists, watches int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lists, p.watches
}

var errRefused = errors.New("connection refused")

// requestError returns the error of a request of a resource at this time, or nil.
func (p *plane) requestError(resource schema.GroupVersionResource) error {
	switch {
	case p.down:
		return errRefused
	case p.missing || resource != configmaps:
		return apierrors.NewNotFound(resource.GroupResource(), "")
	}
	return nil
}

func (p *plane) List(_ context.Context, resource schema.GroupVersionResource,
	options client.Options) (client.List, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists++
	if err := p.requestError(resource); err != nil {
		return client.List{}, err
	}
	list := client.List{Revision: p.revision, Codec: p.reader()}
	p.listOptions = append(p.listOptions, options)
	for _, o := range p.objects {
		if selected(o, options) {
			list.Items = append(list.Items, o)
		}
	}
	return list, nil
}

// selected reports whether options select an object.
func selected(o *object.Object, options client.Options) bool {
	return (options.Namespace == "" || options.Namespace == o.Key.Namespace()) &&
		(options.Labels == nil || options.Labels.Matches(labels.Set(o.Labels)))
}

func (p *plane) Watch(_ context.Context, resource schema.GroupVersionResource,
	options client.Options) (client.Watch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watches++
	if err := p.requestError(resource); err != nil {
		return nil, err
	}
	if options.After < p.oldest {
		return nil, apierrors.NewResourceExpired("too old resource version")
	}
	if options.After > p.revision {
		err := apierrors.NewTimeoutError("Too large resource version", 1)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
		return nil, err
	}
	return &planeWatch{plane: p, options: options, after: options.After, breaks: p.breaks}, nil
}

// codec decodes and encodes config maps as JSON.
type codec struct{ cache *object.Cache }

func (codec) Stamp() object.Stamp { return 1 }

func (codec) Decode(_ object.Form, data []byte) (runtime.Object, error) {
	obj := &corev1.ConfigMap{}
	return obj, json.Unmarshal(data, obj)
}

func (codec) Encode(_ object.Form, obj runtime.Object) ([]byte, error) { return json.Marshal(obj) }

func (c codec) Cache() *object.Cache { return c.cache }

// pause lets virtual time pass until all goroutines are idle.
func pause() { time.Sleep(time.Minute) }
