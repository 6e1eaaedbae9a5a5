// Package aggregation tests that Bowline aggregates Kubernetes' unmodified sample of an API server, whose objects are
// in an unmodified etcd. It is a module of its own, because that server and etcd bring many dependencies.
package aggregation
