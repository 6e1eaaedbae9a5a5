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

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/wire"
)

// NewSource returns a Source that lists and watches over c's connection. Unless Options.New is set, it decodes only the
// metadata that an object's header needs; the rest stays as the server sent it: in protobuf if Options.Protobuf is set
// and the server supports it, otherwise in JSON. The codec of its objects knows no Go types: it decodes JSON into
// *unstructured.Unstructured.
//
// Lists are read in pages. If the server compacts the revision of the first pages before the last is read
// (410 Gone), the list is read again in one piece.
func NewSource(c *Client) Source {
	return &wireSource{client: c, codec: wire.NewCodec(wireCache)}
}

// NewStreamingSource is like NewSource but streams lists from servers that support it (Kubernetes 1.27 and
// later, KEP-3157): the objects arrive as events of a watch, which then continues with the changes. That
// needs less memory in the server, and more time in both; docs/decisions has the figures. From other servers, it reads
// lists in pages.
func NewStreamingSource(c *Client) Source {
	return &wireSource{client: c, codec: wire.NewCodec(wireCache), streaming: true}
}

// wireCache bounds the cache of converted encodings, which is rarely used: objects are normally read in the
// format received.
const wireCache = 1 << 20

type wireSource struct {
	client *Client
	codec  *wire.Codec

	streaming   bool
	notStreamed sync.Map // set of the schema.GroupVersionResource whose lists the server does not stream
}

// pageSize is the largest number of objects per page: most resources fit in one page, and no single response
// occupies the server for long.
const pageSize = 5_000

// List reads the whole list at the server's latest revision.
func (s *wireSource) List(ctx context.Context, resource schema.GroupVersionResource, options Options) (List, error) {
	if !s.streams(resource) {
		return s.pages(ctx, resource, options)
	}
	list, err := s.stream(ctx, resource, options)
	if cannotStream(err) {
		s.disableStreaming(resource)
		return s.pages(ctx, resource, options)
	}
	return list, err
}

// pages reads a list page by page.
func (s *wireSource) pages(ctx context.Context, resource schema.GroupVersionResource, options Options) (List, error) {
	query := listOptions(options)
	query.Limit = pageSize
	list := List{Codec: s.codec}
	objects := object.NewReceiver(resource.GroupResource(), s.codec)
	ready := newReadyReader(resource.GroupResource(), s.codec, options.New)
	for {
		next, err := s.page(ctx, resource, options, query, objects, ready, &list)
		if query.Continue != "" && (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) {
			// The server has compacted the revision of the first pages. Another paged list could fail in the
			// same way, so read everything in one page.
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

// page appends one page to list and returns the continue token of the next.
func (s *wireSource) page(ctx context.Context, resource schema.GroupVersionResource, options Options,
	query metav1.ListOptions,
	objects *object.Receiver, ready *readyReader, list *List) (next string, err error) {
	body, err := open(ctx, s.request(resource, options, &query, "List"))
	if err != nil {
		return "", err
	}
	defer body.Close()
	l := wire.NewListReader(body, func(format object.Format, data []byte) {
		list.add(objects.Receive(format, data))
	})
	if ready != nil {
		l.Ready = func(message []byte) bool { return ready.read(l.ItemKind(), message, list) }
	}
	if err := l.Read(); err != nil {
		return "", fmt.Errorf("list of %s: %w", resource.Resource, err)
	}
	if list.Revision, err = object.ParseRevision(l.Meta.ResourceVersion); err != nil {
		return "", fmt.Errorf("list of %s: %w", resource.Resource, err)
	}
	return l.Meta.Continue, nil
}

// add appends an item, or the error of reading it.
func (l *List) add(o *object.Object, err error) {
	if err != nil {
		l.Unreadable = append(l.Unreadable, err)
		return
	}
	l.Items = append(l.Items, o)
}

// request returns a list or watch request with its Accept header. as is "List" for a list and empty for a
// watch.
func (s *wireSource) request(resource schema.GroupVersionResource, options Options, query *metav1.ListOptions,
	as string) *rest.Request {
	q := s.client.request(http.MethodGet, resource, options.Namespace, "", "")
	if options.Uninitialized {
		q = q.Param(includeUninitialized, "true")
	}
	return s.client.options(q, query).SetHeader("Accept", acceptHeader(options, as))
}

// includeUninitialized is the query parameter that includes objects with pending initializers. Servers
// without initializers ignore it.
const includeUninitialized = "includeUninitialized"

// acceptHeader returns the Accept header for a reader, with the preferred format first.
func acceptHeader(options Options, as string) string {
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
