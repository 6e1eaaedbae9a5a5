// Package helm3 contains only tests. They show that unmodified Helm 3, as a library, installs, upgrades,
// rolls back, tests and uninstalls a chart with definitions, hooks and lookups on this server over TLS as on
// Kubernetes.
package helm3
