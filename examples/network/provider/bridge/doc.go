// Package bridge is the provider that makes real networks of a Linux machine: for each Network a named network
// namespace, so that `ip netns list` shows it, with a bridge in it that carries the gateway address. Nothing on the
// host's own network changes. It needs Linux and root (CAP_SYS_ADMIN and CAP_NET_ADMIN); Probe says whether it may work
// here. The controller uses it through provider.Provider.
//
// A network is built in a namespace that has no name yet and named last, so a process that is killed on the way leaves
// nothing: the kernel drops a namespace that nobody holds. What can be left is an empty file under the name, which List
// shows and Apply and Delete finish with.
package bridge
