// Package neutrontest is where tests of the neutron provider find a Neutron: Server is a real one, a process of its own
// with its database in a folder; Fake is one in memory, for tests that need a hundred of them, or none of the real time
// they take. Behaves is the test that holds both to the same answers. Proxy stands between a client and either, and lets
// a test fail what passes; Keystone issues tokens. Only tests, the bench, and
// the command that tries things out (examples/network/cmd/neutron) import it.
//
// There is no Keystone behind Server: it believes the headers that say who asks (X-User-Id, X-Project-Id, X-Roles), as it
// does behind the filter that checks tokens. Tenancy, policy and quotas are Neutron's own.
package neutrontest
