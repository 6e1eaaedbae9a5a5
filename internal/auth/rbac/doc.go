// Package rbac decides requests by roles and their bindings, as Kubernetes' RBAC authorizer does
// (plugin/pkg/auth/authorizer/rbac), and checks that a user grants only rights that the user has
// (pkg/registry/rbac/validation).
//
// An [Index] is immutable. It finds the bindings of a user by namespace and subject, so a request costs as much as its
// user has bindings, however many bindings there are. An [Editor] derives the next Index from the changed objects.
//
// The package has no store and validates no objects: package internal/server/roles keeps an Index current, and package
// internal/server/write calls [CheckGrant].
package rbac
