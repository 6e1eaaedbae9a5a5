package client

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/object"
)

// NewSource is a Source over a client's connection. Of an object it reads what is in the header; the rest stays as the
// server sent it, in protobuf where Options ask for it and the server has it, else in JSON. Its codec knows no Go types:
// ReadObject does.
//
// Lists come in pages. When the server forgets the first pages' revision before the last is read (410), the list is read in
// one piece.
func NewSource(c *Client) Source {
	return &wireSource{client: c, codec: &wireCodec{cache: object.NewCache(wireCache)}}
}

// NewStreamingSource is NewSource with lists that are streamed where the server can (Kubernetes from 1.27 on, KEP-3157): the
// objects come as events of a watch, which goes on with the changes. That costs the server less memory, and both sides more
// time: docs/decisions has the figures.
func NewStreamingSource(c *Client) Source {
	return &wireSource{client: c, codec: &wireCodec{cache: object.NewCache(wireCache)}, streaming: true}
}

// wireCache bounds second encodings. A wire source's objects are normally read in the form that they came in.
const wireCache = 1 << 20

type wireSource struct {
	client *Client
	codec  *wireCodec

	streaming  bool
	streamless sync.Map // by schema.GroupVersionResource, what the server does not stream
}

// pageSize is how many objects a page has at most: enough for most resources to come in one, few enough for no answer to
// keep a server busy for long.
const pageSize = 5_000

// List reads the whole list at the server's latest revision.
func (s *wireSource) List(ctx context.Context, resource schema.GroupVersionResource, options Options) (List, error) {
	if !s.streams(resource) {
		return s.pages(ctx, resource, options)
	}
	list, err := s.stream(ctx, resource, options)
	if streamless(err) {
		s.dontStream(resource)
		return s.pages(ctx, resource, options)
	}
	return list, err
}

// pages reads a list in pages.
func (s *wireSource) pages(ctx context.Context, resource schema.GroupVersionResource, options Options) (List, error) {
	query := listOptions(options)
	query.Limit = pageSize
	list := List{Codec: s.codec}
	objects := object.NewReceiver(resource.GroupResource(), s.codec)
	ready := newReadyReader(resource.GroupResource(), s.codec, options.New)
	for {
		next, err := s.page(ctx, resource, options, query, objects, ready, &list)
		if query.Continue != "" && (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) {
			// The server has forgotten the revision of the first pages. Where that happens once it may happen again.
			list, query.Continue, query.Limit = List{Codec: s.codec}, "", 0
			continue
		}
		if err != nil {
			return List{}, err
		}
		if next == "" {
			return list, nil
		}
		query.Continue = next
	}
}

// page adds a page to a list, and tells where the next begins.
func (s *wireSource) page(ctx context.Context, resource schema.GroupVersionResource, options Options, query metav1.ListOptions,
	objects *object.Receiver, ready *readyReader, list *List) (next string, err error) {
	body, err := open(ctx, s.request(resource, options, &query, "List"))
	if err != nil {
		return "", err
	}
	defer body.Close()
	l := listReader{in: &stream{body: body}, item: func(format object.Format, data []byte) { list.add(objects.Receive(format, data)) }}
	if ready != nil {
		l.ready = func(message []byte) bool { return ready.read(l.itemKind(), message, list) }
	}
	if err := l.read(); err != nil {
		return "", fmt.Errorf("list of %s: %w", resource.Resource, err)
	}
	if list.Revision, err = object.ParseRevision(l.meta.ResourceVersion); err != nil {
		return "", fmt.Errorf("list of %s: %w", resource.Resource, err)
	}
	return l.meta.Continue, nil
}

// add takes an item in, or what is wrong with it.
func (l *List) add(o *object.Object, err error) {
	if err != nil {
		l.Unreadable = append(l.Unreadable, err)
		return
	}
	l.Items = append(l.Items, o)
}

// request is one for a list or a watch, in the forms that the reader reads. As is List for a list.
func (s *wireSource) request(resource schema.GroupVersionResource, options Options, query *metav1.ListOptions, as string) *rest.Request {
	q := s.client.ask(http.MethodGet, resource, options.Namespace, "", "")
	if options.Uninitialized {
		q = q.Param(includeUninitialized, "true")
	}
	return s.client.options(q, query).SetHeader("Accept", accepted(options, as))
}

// includeUninitialized is the parameter that asks for objects which initializers have still to act on. A server that knows no
// initializers passes over it.
const includeUninitialized = "includeUninitialized"

// accepted is what a reader takes, the best first.
func accepted(options Options, as string) string {
	const json, protobuf = "application/json", "application/vnd.kubernetes.protobuf"
	all := json
	if options.Protobuf {
		all = protobuf + "," + json
	}
	if options.MetadataOnly {
		partial := ";as=PartialObjectMetadata" + as + ";g=meta.k8s.io;v=v1,"
		if all = json + partial + all; options.Protobuf {
			all = protobuf + partial + all
		}
	}
	return all
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
