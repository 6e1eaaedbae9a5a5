// Package helm4 holds no code: its tests show that unmodified Helm 4, as a library, installs, upgrades, rolls back, tests and
// removes a chart with definitions, hooks and lookups on this server over TLS as on Kubernetes, by server-side apply and
// as Helm 3 did, waiting by watches and as Helm 3 did.
package helm4
