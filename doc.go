/*
Package bowline is the declarative API and the control loop of Kubernetes, without the cluster. It starts a control
plane in your process, which works with unmodified kubectl, client-go, controller-runtime and Helm.

	plane, err := bowline.Start(ctx, bowline.Options{}) // in memory, in process, no socket
	if err != nil {
		return err
	}
	defer plane.Close()

	clients := kubernetes.NewForConfigOrDie(plane.RESTConfig())
	clients.CoreV1().ConfigMaps("default").Create(ctx, configMap, metav1.CreateOptions{})

With Options.Listen it also listens on a TLS socket, and with Options.Storage its objects are stored on disk. The
command bowline up does both, and writes a kubeconfig.

# A write, stage by stage

Follow a POST of a ConfigMap through the code:

  - request.ParseRoute derives a verb and a resource from method and URL. serve (internal/server/httpapi/filter.go)
    authenticates and authorizes the request, and enter (internal/server/httpapi/overload.go) waits for its seats in the
    fair queue (docs/overload.md).
  - serveResource (internal/server/httpapi/dispatch.go) finds the kind.Entry in the kind.Registry, makes a
    request.Request, and calls the function of the verb: write.Writer.Create (internal/server/write/create.go). The
    write is an operation, whose methods are the stages.
  - decode decodes the body in the version of the URL: JSON, YAML or protobuf. The kind sets defaults and converts the
    object to the version that its rules work on: the hub version of a typed kind, the version of the URL for a custom
    resource (docs/versions.md).
  - own records which manager set which field (package internal/patch/ownership). admit lets the admission plugins
    change the object. Then create sets its uid, its creation time and a generated name.
  - The kind's Prepare removes what a create cannot set (the status). validate checks the metadata and calls the kind's
    Validate, and then the admission plugins may reject the object.
  - encode makes the object.Object: its header and one encoding, in the form that the answer needs, with room for the
    revision.
  - store.Store.Commit checks that the key is absent, assigns a revision, writes it into the bytes, appends the change
    to the log, and publishes it when it is durable. The claims of a Service (addresses, ports) are committed with it.
  - render.Result takes the same bytes for the answer, and httpapi sends them to the client.

An update (internal/server/write/update.go) and a patch (patch.go) start from the current object and end in the same
way. So does an apply (apply.go), which merges by ownership and may create the object. The commit expects the revision
that was read. If another writer committed first, a write that names a resourceVersion fails with a 409, and one that
names none is retried on the new state.

Each stage is a span of the request's trace (internal/server/stage). docs/request.md has a diagram.

# A watch, stage by stage

Follow a GET with ?watch=true:

  - read.Reader.Watch (internal/server/read/feed.go) reads options and selectors, and returns a Feed, whose Begin
    determines the revision to start after: the client's, or that of a snapshot whose objects are sent first.
  - store.Store.Watch returns a cursor in the list of events that all watchers with the same filter share: a resource, a
    namespace, an object, a label or a field. A commit finds the lists of its objects and closes one channel for each,
    which wakes their watchers (docs/watch.md).
  - Feed.Next is the one event loop. httpapi follows it for a watch over HTTP: object.Event.Frame encodes an event once
    for all watchers of one form, and the stream (internal/server/httpapi/stream.go) gathers frames and flushes when no
    more are ready.
  - A watch ends if the history drops events that it has not read. Its client resumes at its last revision, or receives
    410 Gone and lists again.

In the same process, informers receive the events' objects themselves from such a Feed (Plane.Source); nothing is
encoded. The packages informer (reflector, delta FIFO, indexer, handlers), workqueue and controller follow. They use
the API and nothing below it.
*/
package bowline
