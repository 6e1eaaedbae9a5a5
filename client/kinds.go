package client

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/bowline-dev/bowline/internal/wire"
)

// Option configures a Client.
type Option func(*Client)

// Types returns an Option that registers Go types, so that For finds their resources. Each function registers the types
// of one package; generated code calls it AddToScheme. If one returns an error, so does each request of a Resource that
// For returned. The built-in types of k8s.io/api need no registration.
func Types(add ...func(*runtime.Scheme) error) Option {
	return func(c *Client) { c.kinds = newKinds(slices.Concat(c.kinds.add, add)) }
}

// With returns a copy of the client with additional options. The copy and c share connections; c does not change.
func (c *Client) With(options ...Option) *Client {
	copied := *c
	for _, option := range options {
		option(&copied)
	}
	return &copied
}

// served is a kind and the resource under which a server serves it.
type served struct {
	resource schema.GroupVersionResource
	kind     string
}

// kinds maps Go types to resources: the scheme gives the kind of a type, discovery gives the resource of the
// kind.
type kinds struct {
	add    []func(*runtime.Scheme) error
	scheme *runtime.Scheme
	err    error    // from registering the types
	known  sync.Map // caches reflect.Type to served
}

func newKinds(add []func(*runtime.Scheme) error) *kinds {
	k := &kinds{add: add, scheme: runtime.NewScheme()}
	for _, f := range add {
		k.err = errors.Join(k.err, f(k.scheme))
	}
	return k
}

// find returns the resource of a Go type, which is a pointer to a struct. Successful lookups are cached until
// invalidate removes them.
func (k *kinds) find(ctx context.Context, c *Client, t reflect.Type) (served, error) {
	if found, ok := k.known.Load(t); ok {
		return found.(served), nil
	}
	kind, err := k.kindOf(ctx, c, t)
	if err != nil {
		return served{}, fmt.Errorf("the resource of %s: %w", t, err)
	}
	found, err := c.serves(ctx, kind)
	if err != nil {
		return served{}, fmt.Errorf("the resource of %s: %w", t, err)
	}
	k.known.Store(t, found)
	return found, nil
}

// invalidate removes the cached resource of a type if err reports that the resource does not exist: its
// definition may have been deleted and may be created again with another plural. An error that names an
// object is about the object, not the resource.
func (k *kinds) invalidate(t reflect.Type, err error) {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return
	}
	if details := status.Status().Details; details == nil || details.Name == "" {
		k.known.Delete(t)
	}
}

// kindOf returns the kind that a type is registered for, or that of a built-in type.
func (k *kinds) kindOf(ctx context.Context, c *Client, pointer reflect.Type) (schema.GroupVersionKind, error) {
	t := pointer.Elem()
	if k.err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("registering the client's types: %w", k.err)
	}
	if strings.HasPrefix(t.PkgPath(), "k8s.io/apimachinery/") {
		return schema.GroupVersionKind{},
			errors.New("the type does not determine the resource: name the resource with client.Of")
	}
	registered, _, err := k.scheme.ObjectKinds(reflect.New(t).Interface().(Object))
	switch {
	case err == nil && len(registered) == 1:
		return registered[0], nil
	case err == nil:
		return schema.GroupVersionKind{},
			fmt.Errorf("it is registered for several kinds (%v): name the resource with client.Of", registered)
	case wire.IsBuiltin(t):
		return c.builtinKind(ctx, t)
	}
	return schema.GroupVersionKind{},
		errors.New("its kind is unknown: pass client.New the option client.Types with the " +
			"AddToScheme of its package, or name its resource with client.Of")
}

// builtinKind returns the kind of a built-in type. The package path holds only the first part of the group,
// as in k8s.io/api/rbac/v1; the server's discovery holds the whole name, rbac.authorization.k8s.io.
func (c *Client) builtinKind(ctx context.Context, t reflect.Type) (schema.GroupVersionKind, error) {
	parts := strings.Split(t.PkgPath(), "/")
	folder, version := parts[len(parts)-2], parts[len(parts)-1]
	if folder == "core" {
		return schema.GroupVersionKind{Version: version, Kind: t.Name()}, nil
	}
	if folder == "apiserverinternal" { // the only folder that is not a prefix of its group
		folder = "internal.apiserver.k8s.io"
	}
	var groups metav1.APIGroupList
	if err := c.discover(ctx, &groups, "/apis"); err != nil {
		return schema.GroupVersionKind{}, err
	}
	group := groupOf(folder, groups.Groups)
	if group == nil || !slices.ContainsFunc(group.Versions, func(v metav1.GroupVersionForDiscovery) bool {
		return v.Version == version
	}) {
		return schema.GroupVersionKind{},
			fmt.Errorf("the server has no group %s, or only of another version than %s", folder, version)
	}
	return schema.GroupVersionKind{Group: group.Name, Version: version, Kind: t.Name()}, nil
}

// groupOf returns the group that a folder of k8s.io/api stands for: the group of that name, or else the
// shortest group under k8s.io that begins with it. There can be several: policy.k8s.io and
// policy.networking.k8s.io.
func groupOf(folder string, groups []metav1.APIGroup) *metav1.APIGroup {
	var found *metav1.APIGroup
	for i := range groups {
		group := &groups[i]
		if group.Name == folder {
			return group
		}
		ours := strings.HasPrefix(group.Name, folder+".") && strings.HasSuffix(group.Name, ".k8s.io")
		if ours && (found == nil || len(group.Name) < len(found.Name)) {
			found = group
		}
	}
	return found
}

// serves returns the resource of a kind. If the server has none, the error is a *meta.NoKindMatchError.
func (c *Client) serves(ctx context.Context, kind schema.GroupVersionKind) (served, error) {
	var list metav1.APIResourceList
	err := c.discover(ctx, &list, path(kind.GroupVersion())...)
	if err != nil && !apierrors.IsNotFound(err) {
		return served{}, err
	}
	for _, resource := range list.APIResources {
		if resource.Kind == kind.Kind && !strings.Contains(resource.Name, "/") {
			return served{kind.GroupVersion().WithResource(resource.Name), kind.Kind}, nil
		}
	}
	missing := &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	return served{},
		fmt.Errorf("the server has none: %w; apply its CustomResourceDefinition first, if it is a custom resource",
			missing)
}

// discover reads a discovery document.
func (c *Client) discover(ctx context.Context, into any, segments ...string) error {
	body, err := do(ctx, c.rest.Get().AbsPath(segments...))
	if err != nil {
		return fmt.Errorf("reading the server's discovery: %w", err)
	}
	if err := utiljson.Unmarshal(body, into); err != nil {
		return fmt.Errorf("reading the server's discovery: %w", wire.NewDecodeError(body, into, err))
	}
	return nil
}
