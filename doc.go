/*
Package bowline is the declarative API and the control loop of Kubernetes, without the cluster. It starts a control plane
in your process, which works with unmodified kubectl, client-go, controller-runtime and Helm.

	plane, err := bowline.Start(ctx, bowline.Options{}) // in memory, in process, no socket
	if err != nil {
		return err
	}
	defer plane.Close()

	clients := kubernetes.NewForConfigOrDie(plane.RESTConfig())
	clients.CoreV1().ConfigMaps("default").Create(ctx, configMap, metav1.CreateOptions{})

With Options.Listen it also listens on a TLS socket, and with Options.Storage its objects are stored on disk. The command
bowline up does both, and writes a kubeconfig.

# A write, stage by stage

Follow a POST of a ConfigMap through the code:

  - parseRoute (internal/server/route.go) derives a verb and a resource from method and URL. server.Server.serve
    (internal/server/filter.go) authenticates and authorizes the request, and enter (internal/server/overload.go) waits
    for its seats in the fair queue (docs/overload.md).
  - serveResource finds the kind.Entry in the kind.Registry and the function of the verb: create
    (internal/server/create.go).
  - call.decode (internal/server/decode.go) decodes the body in the version of the URL: JSON, YAML or protobuf. The kind
    sets defaults and converts the object to the version that its rules work on: the hub version of a typed kind, the
    version of the URL for a custom resource (docs/versions.md).
  - Server.own (internal/server/own.go) records which manager set which field (package internal/patch/ownership). The
    admission plugins may change the object. fillCreate sets its uid, its creation time and a generated name.
  - The kind's Prepare removes what a create cannot set (the status). validateCreate checks the metadata and calls the
    kind's Validate, and then the admission plugins may reject the object.
  - encode makes the object.Object: its header and one encoding, in the form that the answer needs, with room for the
    revision.
  - store.Store.Commit checks that the key is absent, assigns a revision, writes it into the bytes, appends the change to
    the log, and publishes it when it is durable. The claims of a Service (addresses, ports) are committed with it.
  - Server.answer writes the same bytes to the client.

An update (internal/server/update.go) and a patch (internal/server/patch.go) start from the current object and end in the
same way. So does an apply (internal/server/apply.go), which merges by ownership and may create the object. The commit
expects the revision that was read. If another writer committed first, a write that names a resourceVersion fails with a
409, and one that names none is retried on the new state.

Each stage is a span of the request's trace (internal/server/trace.go). docs/request.md has a diagram.

# A watch, stage by stage

Follow a GET with ?watch=true:

  - Server.watch (internal/server/watch.go) reads options and selectors, and determines the revision to start after: the
    client's, or that of a snapshot whose objects it sends first.
  - store.Store.Watch returns a cursor in the list of events that all watchers with the same filter share: a resource, a
    namespace, an object, a label or a field. A commit finds the lists of its objects and closes one channel for each,
    which wakes their watchers (docs/watch.md).
  - object.Event.Frame encodes an event once for all watchers of one form, and internal/server/watch_send.go sends it. The
    stream (internal/server/stream.go) gathers frames and flushes when no more are ready.
  - A watcher that falls behind the history is closed. It resumes at its revision, or receives 410 Gone and lists again.

In the same process, informers receive the events' objects themselves (Plane.Source); nothing is encoded. The packages
informer (reflector, delta FIFO, indexer, handlers), workqueue and controller follow. They use the API and nothing below it.
*/
package bowline
