// Package helm3 holds no code: its tests show that unmodified Helm 3, as a library, installs, upgrades, rolls back, tests and
// removes a chart with definitions, hooks and lookups on this server over TLS as on Kubernetes.
package helm3
