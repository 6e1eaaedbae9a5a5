/*
Package bowline is the declarative API and the control loop of Kubernetes, without the cluster: a control plane in your
process, that unmodified kubectl, client-go, controller-runtime and Helm cannot tell from a cluster's.

	plane, err := bowline.Start(ctx, bowline.Options{}) // in memory, in process, no socket
	if err != nil {
		return err
	}
	defer plane.Close()

	clients := kubernetes.NewForConfigOrDie(plane.RESTConfig())
	clients.CoreV1().ConfigMaps("default").Create(ctx, configMap, metav1.CreateOptions{})

With Options.Listen it answers on a TLS socket as well, and with Options.Storage its objects outlive it; the command bowline
up is that, with a kubeconfig.

# A write, stage by stage

Follow a POST of a ConfigMap through the code:

  - parseRoute (server/route.go) makes a verb and a resource of method and URL; server.Server.serve (server/filter.go) finds
    out who sends the request (package auth) and whether they may; enter (server/overload.go) lets it work once it is its
    turn (docs/overload.md);
  - serveResource finds the kind.Entry in the kind.Registry, and the verb's function: create (server/create.go);
  - call.decode (server/decode.go) reads the body in the version of the URL: JSON, YAML or protobuf. The kind takes it to
    the version that its rules work on, with defaults: the hub version of a typed kind, the version of the URL for a
    custom resource (docs/versions.md);
  - Server.own (server/own.go) writes down which manager set which field (package patch/ownership); admission.Chain.Admit
    lets plugins change it; fillCreate gives it a uid, a creation time and, where asked to, a name;
  - the kind's Prepare drops what a create has no say over (the status), then validateCreate checks metadata and asks the
    kind's Validate, and admission.Chain.Validate lets plugins refuse it;
  - encode makes the object.Object: its header and one encoding, in the form that the answer needs, with room for the
    revision;
  - store.Store.Commit checks that the key is absent, gives the commit its revision, stamps it into the bytes, appends it
    to the log, and publishes it when it is durable. What a Service claims (addresses, ports) commits with it;
  - Server.answer writes those same bytes to the client.

An update (server/update.go) and a patch (server/patch.go) begin with the current object and end the same way. So does an
apply (server/apply.go), which merges by who owns what and may begin with no object. The commit expects the revision that
they read; when another writer came in between, a write that named a resourceVersion is told (409), and one that did not
is made again on the new state.

Each stage is a span of the request's trace, when somebody traces (server/trace.go); docs/request.md draws them.

# A watch, stage by stage

Follow a GET with ?watch=true:

  - Server.watch (server/watch.go) reads options and selectors, and finds the revision to begin after: the client's, or
    that of a snapshot whose objects it sends first;
  - store.Store.Watch gives a cursor in the list of events that all share who watch the same: a resource, a namespace, an
    object, what has a label or a field. A commit finds the lists that its objects concern, and closes one channel for each:
    their watchers wake and take what is new (docs/watch.md);
  - object.Event.Frame encodes an event once for all watchers of one form (server/watch_send.go sends them); the stream
    (server/stream.go) gathers frames and flushes when there is nothing more to send;
  - a watcher that falls behind the history is closed, and resumes at its revision, or hears 410 Gone and lists again.

In the same process, informers take the events' objects themselves (Plane.Source): no bytes are made. From there the way
goes on in package informer (reflector, delta FIFO, indexer, handlers), workqueue and controller, which speak to the API
and to nothing below it.
*/
package bowline
