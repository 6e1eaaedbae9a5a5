package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/object"
)

// NewSource is a Source over a client's connection: its objects are decoded when they are first asked for, as
// *unstructured.Unstructured.
func NewSource(c *Client) Source {
	return &wireSource{client: c, codec: &wireCodec{cache: object.NewCache(wireCache)}}
}

// wireCache bounds second encodings. A wire source's objects are normally read in the form that they came in.
const wireCache = 1 << 20

type wireSource struct {
	client *Client
	codec  *wireCodec
}

// List reads the whole list at the server's latest revision.
func (s *wireSource) List(ctx context.Context, resource schema.GroupVersionResource, options Options) (List, error) {
	query := listOptions(options)
	q := s.client.rest.Get().AbsPath(path(resource, options.Namespace, "", "")...)
	body, err := do(ctx, s.client.options(q, &query))
	if err != nil {
		return List{}, err
	}
	raw, err := decodeList(body)
	if err != nil {
		return List{}, fmt.Errorf("list of %s: %w", resource.Resource, err)
	}
	list := List{Items: make([]*object.Object, len(raw.Items)), Codec: s.codec}
	if list.Revision, err = object.ParseRevision(raw.Metadata.ResourceVersion); err != nil {
		return List{}, fmt.Errorf("list of %s: %w", resource.Resource, err)
	}
	for i, item := range raw.Items {
		if list.Items[i], err = s.object(resource.GroupResource(), item, raw.itemKind()); err != nil {
			return List{}, fmt.Errorf("item %d of the list of %s: %w", i, resource.Resource, err)
		}
	}
	return list, nil
}

// Watch follows the changes after options.After. The server is asked to end it after five to ten minutes, so that the
// watches of many clients spread over its connections anew.
func (s *wireSource) Watch(ctx context.Context, resource schema.GroupVersionResource, options Options) (Watch, error) {
	query := listOptions(options)
	query.ResourceVersion = options.After.String()
	query.AllowWatchBookmarks = true
	query.TimeoutSeconds = new(300 + rand.Int64N(300))
	frames, err := s.client.watch(ctx, resource, options.Namespace, query)
	if err != nil {
		return nil, err
	}
	return &wireWatch{source: s, resource: resource.GroupResource(), frames: frames}, nil
}

func listOptions(options Options) metav1.ListOptions {
	var query metav1.ListOptions
	if options.Labels != nil {
		query.LabelSelector = options.Labels.String()
	}
	if options.Fields != nil {
		query.FieldSelector = options.Fields.String()
	}
	return query
}

// object makes an object of what the server sent, of that kind if it does not say which itself.
func (s *wireSource) object(resource schema.GroupResource, data []byte, kind schema.GroupVersionKind) (*object.Object, error) {
	var meta metav1.PartialObjectMetadata
	if err := utiljson.Unmarshal(data, &meta); err != nil {
		return nil, fmt.Errorf("reading the metadata: %w", err)
	}
	key := object.KeyOf(resource, meta.Namespace, meta.Name)
	revision, err := object.ParseRevision(meta.ResourceVersion)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	data = compact.Bytes()
	if meta.Kind == "" {
		data = withKind(data, kind)
		meta.SetGroupVersionKind(kind)
	}
	encoding, err := object.NewEncoding(object.Form{APIVersion: meta.APIVersion, Format: object.JSON}, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	o := object.New(object.Header{Key: key, UID: meta.UID, Labels: meta.Labels, Owners: owners(&meta)}, s.codec, encoding)
	o.Revision = revision
	return o, nil
}

func owners(meta *metav1.PartialObjectMetadata) []types.UID {
	var uids []types.UID
	for _, owner := range meta.OwnerReferences {
		uids = append(uids, owner.UID)
	}
	return uids
}

// wireWatch is a watch over the wire.
type wireWatch struct {
	source   *wireSource
	resource schema.GroupResource
	frames   *frames
}

// Next waits for one event.
func (w *wireWatch) Next(ctx context.Context) ([]Event, error) {
	unlink := context.AfterFunc(ctx, w.frames.stop)
	defer unlink()
	frame, err := w.frames.next()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	event, err := w.event(frame)
	if err != nil {
		return nil, err
	}
	return []Event{event}, nil
}

func (w *wireWatch) event(f frame) (Event, error) {
	if watch.EventType(f.Type) == watch.Bookmark {
		var meta metav1.PartialObjectMetadata
		if err := utiljson.Unmarshal(f.Object, &meta); err != nil {
			return Event{}, fmt.Errorf("bookmark of a watch of %s: %w", w.resource, err)
		}
		revision, err := object.ParseRevision(meta.ResourceVersion)
		return Event{Type: watch.Bookmark, Revision: revision}, err
	}
	o, err := w.source.object(w.resource, f.Object, schema.GroupVersionKind{})
	if err != nil {
		return Event{}, fmt.Errorf("event of a watch of %s: %w", w.resource, err)
	}
	return Event{Type: watch.EventType(f.Type), Object: o, Codec: w.source.codec, Revision: o.Revision}, nil
}

// Stop ends the watch.
func (w *wireWatch) Stop() { w.frames.stop() }

// wireCodec reads the objects of a wire source.
type wireCodec struct {
	cache *object.Cache
}

func (c *wireCodec) Decode(_ object.Form, data []byte) (runtime.Object, error) {
	return Decode[*unstructured.Unstructured](data)
}

// Encode is only possible in the version that the object was read in: converting is the server's work.
func (c *wireCodec) Encode(form object.Form, obj runtime.Object) ([]byte, error) {
	if kind := obj.GetObjectKind().GroupVersionKind(); form.Format != object.JSON || kind.GroupVersion().String() != form.APIVersion {
		return nil, fmt.Errorf("it was read over the wire in %s and can only be had in that", kind.GroupVersion())
	}
	return encode(obj)
}

// Stamp is that of all wire codecs: what the server wrote is read as it came.
func (c *wireCodec) Stamp() object.Stamp { return 1 }

func (c *wireCodec) Cache() *object.Cache { return c.cache }
