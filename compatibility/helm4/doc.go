// Package helm4 contains only tests. They show that unmodified Helm 4, as a library, installs, upgrades,
// rolls back, tests and uninstalls a chart with definitions, hooks and lookups on this server over TLS as on
// Kubernetes: by server-side and by client-side apply, with its new and its legacy way of waiting.
package helm4
