package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/serviceaccount"
)

// impersonationPrefix is the start of the headers that name a user, a uid, groups and extra attributes.
const impersonationPrefix = "Impersonate-"

// impersonate returns the user that a request runs as: the user whom its headers name if the sender may act as that
// user, and otherwise an error. Without such headers it is the sender. It removes the headers from x.r, so that neither
// an aggregated API server nor a kubelet applies them again.
//
// The limit of net/http for the headers of a request, 1 MiB, bounds the number of groups and attributes.
func (h *Handler) impersonate(x *exchange, sender *auth.User) (*auth.User, error) {
	wanted, rest, err := wantedUser(x.r.Header)
	if err != nil || wanted == nil {
		return sender, err
	}
	i := impersonation{ctx: x.r.Context(), by: h.o.Authorizer, sender: sender, wanted: wanted,
		request: x.route.Attributes(sender)}
	user, err := i.allowed()
	if err != nil {
		return nil, err
	}
	x.r = x.r.WithContext(x.r.Context())
	x.r.Header = rest
	if h.o.Log.Enabled(i.ctx, slog.LevelDebug) {
		h.o.Log.Debug("a user acts as another", "user", sender.Name, "as", user.Name)
	}
	return user, nil
}

// wantedUser returns the user that the headers of a request name, nil if they name none, and the other headers. The
// user is in each group once, also if the headers repeat it.
func wantedUser(headers http.Header) (wanted *auth.User, rest http.Header, err error) {
	names := impersonationHeaders(headers)
	if len(names) == 0 {
		return nil, headers, nil
	}
	wanted, rest = &auth.User{}, maps.Clone(headers)
	named := false // by a header other than that of the name
	for _, name := range names {
		values := headers[name]
		switch canonical := textproto.CanonicalMIMEHeaderKey(name); {
		case canonical == authenticationv1.ImpersonateUserHeader:
			wanted.Name = first(values)
		case canonical == authenticationv1.ImpersonateUIDHeader:
			wanted.UID = first(values)
			named = named || wanted.UID != ""
		case canonical == authenticationv1.ImpersonateGroupHeader:
			wanted.Groups = append(wanted.Groups, values...)
			named = named || len(values) > 0
		case strings.HasPrefix(canonical, authenticationv1.ImpersonateUserExtraHeaderPrefix):
			named = true
			if len(values) > 0 {
				if wanted.Extra == nil {
					wanted.Extra = map[string][]string{}
				}
				key := strings.ToLower(canonical[len(authenticationv1.ImpersonateUserExtraHeaderPrefix):])
				if decoded, err := url.PathUnescape(key); err == nil {
					key = decoded
				}
				wanted.Extra[key] = append(wanted.Extra[key], values...)
			}
		default:
			continue // unknown, as in Kubernetes
		}
		delete(rest, name)
	}
	if wanted.Name != "" {
		wanted.Groups = unrepeated(wanted.Groups)
		return wanted, rest, nil
	}
	if !named {
		return nil, headers, nil
	}
	for key, values := range wanted.Extra {
		wanted.Extra[key] = shortened(values)
	}
	text := fmt.Sprintf("%#v", &user.DefaultInfo{UID: shortened([]string{wanted.UID})[0],
		Groups: shortened(wanted.Groups), Extra: wanted.Extra})
	return nil, nil, apierrors.NewBadRequest("requested " + text[:min(len(text), maxShownUser)] +
		" without impersonating a user name")
}

// maxShownUser bounds the description of a user in an error, in bytes.
const maxShownUser = 4 << 10

// shortened returns as much of some values as an error can show.
func shortened(values []string) (short []string) {
	for _, v := range values[:min(len(values), maxShownUser/len(`"", `))] {
		short = append(short, v[:min(len(v), maxShownUser)])
	}
	return short
}

// impersonationHeaders returns the names of a request's headers with impersonationPrefix, sorted. Callers in the same
// process need not send canonical names.
func impersonationHeaders(headers http.Header) (names []string) {
	for name := range headers {
		if len(name) > len(impersonationPrefix) &&
			strings.EqualFold(name[:len(impersonationPrefix)], impersonationPrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// unrepeated returns the first of equal values, in the same memory.
func unrepeated(values []string) []string {
	has := make(map[string]bool, len(values))
	return slices.DeleteFunc(values, func(v string) bool {
		again := has[v]
		has[v] = true
		return again
	})
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// impersonation checks whether a sender may act as a user. Like kube-apiserver it tries the modes of constrained
// impersonation (KEP-5284), which need a right for the user and one for what the request does, and then the verb
// impersonate alone. Unlike kube-apiserver, it caches nothing: a right that is withdrawn is gone at once.
type impersonation struct {
	ctx     context.Context
	by      auth.Authorizer
	sender  *auth.User
	wanted  *auth.User      // as the headers name it
	request auth.Attributes // with the sender as its user
}

// The modes of constrained impersonation.
const (
	associatedNode = "associated-node" // the node of the pod of a service account
	arbitraryNode  = "arbitrary-node"
	accountMode    = "serviceaccount"
	userInfo       = "user-info" // other users, with all their attributes
)

const (
	nodeUserPrefix = "system:node:"
	nodesGroup     = user.NodesGroup
	// nodeNameKey is the key in User.Extra for the node of a service account's pod.
	nodeNameKey = "authentication.kubernetes.io/node-name"
)

// allowed returns the user that the request runs as, or the error of the first mode that applies to the user.
func (i *impersonation) allowed() (*auth.User, error) {
	onlyName := i.wanted.UID == "" && len(i.wanted.Groups) == 0 && len(i.wanted.Extra) == 0
	node, isNode := nodeOf(i.wanted.Name)
	_, _, isAccount := serviceaccount.ParseUserName(i.wanted.Name)
	var modes []string
	switch {
	case isNode && onlyName:
		if _, _, account := serviceaccount.ParseUserName(i.sender.Name); account &&
			slices.Equal(i.sender.Extra[nodeNameKey], []string{node}) {
			modes = append(modes, associatedNode)
		}
		modes = append(modes, arbitraryNode)
	case isAccount && onlyName:
		modes = append(modes, accountMode)
	case !isNode && !isAccount:
		modes = append(modes, userInfo)
	}
	var failure error
	for _, mode := range append(modes, "") {
		user, err := i.allowedIn(mode)
		if err == nil {
			return user, nil
		}
		if failure == nil {
			failure = err
		}
	}
	return nil, failure
}

// nodeOf returns the node that a user name is of.
func nodeOf(name string) (node string, ok bool) {
	node, ok = strings.CutPrefix(name, nodeUserPrefix)
	return node, ok && len(apivalidation.NameIsDNSSubdomain(node, false)) == 0
}

// allowedIn returns the user that the request runs as if a mode allows that. The empty mode is the verb impersonate.
func (i *impersonation) allowedIn(mode string) (*auth.User, error) {
	verb := "impersonate"
	if mode != "" {
		on := i.request
		on.Verb = "impersonate-on:" + mode + ":" + on.Verb
		if err := i.check(on); err != nil {
			return nil, err
		}
		verb += ":" + mode
	}
	user := *i.wanted
	if err := i.checkName(mode, verb, &user); err != nil {
		return nil, err
	}
	if user.UID != "" {
		if err := i.check(i.attribute(verb, authenticationv1.GroupName, "uids", user.UID)); err != nil {
			return nil, err
		}
	}
	if err := i.checkGroups(mode, verb); err != nil {
		return nil, err
	}
	if err := i.checkExtra(mode, verb); err != nil {
		return nil, err
	}
	switch {
	case user.Name == auth.AnonymousName:
		addGroup(&user, auth.UnauthenticatedGroup)
	case !user.In(auth.UnauthenticatedGroup):
		addGroup(&user, auth.AuthenticatedGroup)
	}
	return &user, nil
}

// addGroup adds a group to a user unless the user is a member.
func addGroup(user *auth.User, group string) {
	if !user.In(group) {
		user.Groups = append(slices.Clip(user.Groups), group)
	}
}

// checkName checks the right to use the name, and sets the groups of nodes and service accounts.
func (i *impersonation) checkName(mode, verb string, user *auth.User) error {
	a := i.attribute(verb, groupOf(mode), "users", user.Name)
	if node, ok := nodeOf(user.Name); ok && mode != "" {
		a.Resource, a.Name, user.Groups = "nodes", node, []string{nodesGroup}
		if mode == associatedNode {
			a.Name = "*" // the node is whichever the sender runs on
		}
	}
	if namespace, account, ok := serviceaccount.ParseUserName(user.Name); ok {
		a.Resource, a.Namespace, a.Name = "serviceaccounts", namespace, account
		if len(user.Groups) == 0 {
			user.Groups = serviceaccount.Groups(namespace)
		}
	}
	return i.check(a)
}

// manyChecks is the number of values from which constrained impersonation first checks the right for all values.
const manyChecks = 4

func (i *impersonation) checkGroups(mode, verb string) error {
	a := i.attribute(verb, groupOf(mode), "groups", "")
	groups := i.wanted.Groups
	if mode != "" {
		if slices.Contains(groups, "") {
			return auth.Forbidden(a, "impersonating the empty string group is not allowed")
		}
		if slices.Contains(groups, auth.AdminGroup) {
			a.Name = auth.AdminGroup
			return auth.Forbidden(a, "impersonating the system:masters group is not allowed")
		}
		if a.Name = "*"; len(groups) >= manyChecks && i.check(a) == nil {
			return nil
		}
	}
	for _, group := range groups {
		a.Name = group
		if err := i.check(a); err != nil {
			return err
		}
	}
	return nil
}

func (i *impersonation) checkExtra(mode, verb string) error {
	a := i.attribute(verb, authenticationv1.GroupName, "userextras", "")
	extra := i.wanted.Extra
	count := 0
	for _, values := range extra {
		count += len(values)
	}
	if mode != "" && len(extra) > 0 {
		if err := validateExtra(extra); err != nil {
			return auth.Forbidden(a, err.Error())
		}
		if count >= manyChecks {
			all := a
			if all.Subresource, all.Name = "*", "*"; i.check(all) == nil {
				return nil
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		a.Subresource = key
		for _, value := range extra[key] {
			a.Name = value
			if err := i.check(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// validateExtra returns an error for extra attributes that constrained impersonation does not allow.
func validateExtra(extra map[string][]string) error {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		if key == "" {
			return errors.New("impersonating the empty string key in extra is not allowed")
		}
		if err := validation.IsDomainPrefixedPath(field.NewPath("extra", "key"), key).ToAggregate(); err != nil {
			return fmt.Errorf("impersonating an invalid key in extra is not allowed: %w", err)
		}
		if key != strings.ToLower(key) {
			return fmt.Errorf("impersonating a non-lowercase key in extra is not allowed: %q", key)
		}
		if slices.Contains(extra[key], "") {
			return errors.New("impersonating the empty string value in extra is not allowed")
		}
	}
	return nil
}

// groupOf returns the API group of users, groups and nodes in a mode.
func groupOf(mode string) string {
	if mode == "" {
		return ""
	}
	return authenticationv1.GroupName
}

// attribute returns the right to use a name or another attribute.
func (i *impersonation) attribute(verb, group, resource, name string) auth.Attributes {
	return auth.Attributes{User: i.sender, Verb: verb, IsResource: true, Group: group, Version: "v1",
		Resource: resource, Name: name}
}

// check returns an error unless the sender has a right.
func (i *impersonation) check(a auth.Attributes) error {
	decision, reason, err := i.by.Authorize(i.ctx, a)
	switch {
	case decision == auth.Allow:
		return nil
	case err == nil:
	case reason == "":
		reason = err.Error()
	default:
		reason = err.Error() + ": " + reason
	}
	return auth.Forbidden(a, reason)
}
