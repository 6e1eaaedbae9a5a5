// Package bridge implements provider.Provider with network namespaces of a Linux machine: for each Network a
// named namespace, which `ip netns list` shows, with a bridge in it that has the gateway address. The host's
// own network does not change. It needs Linux and root (CAP_SYS_ADMIN and CAP_NET_ADMIN); Probe reports
// whether these are available.
//
// A network is built in an unnamed namespace, which gets its name last. If the process is killed before that,
// the kernel removes the unnamed namespace. At most an empty file under the name is left, which List
// includes, and which Apply completes and Delete removes.
package bridge
