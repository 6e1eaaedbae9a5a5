// Package neutrontest provides Neutrons for tests of the neutron provider. Server is a real one in a separate
// process, with its database in a folder. Fake is one in memory, for tests that need a hundred of them or run
// in virtual time. Contract is the contract test that both must pass. Proxy is a reverse proxy that injects
// faults; Keystone issues tokens. Only tests, the bench, and the command examples/network/cmd/neutron import
// it.
//
// A Server has no Keystone: it trusts the headers that identify the client (X-User-Id, X-Project-Id,
// X-Roles), as a Neutron does behind the filter that checks tokens. Tenancy, policy and quotas are Neutron's
// own.
package neutrontest
