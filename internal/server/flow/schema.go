package flow

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/server/fair"
	"github.com/bowline-dev/bowline/internal/server/request"
)

// Schema is a compiled FlowSchema whose level exists.
type Schema struct {
	name, level   string
	precedence    int32
	exempt        bool
	distinguisher fair.Distinguisher
	class         *fair.Class
	rules         []rule
	// schemaUID and levelUID are header values. All answers share them.
	schemaUID, levelUID []string
}

// newSchema compiles a FlowSchema. The caller sets the class.
func newSchema(s *flowcontrolv1.FlowSchema, uid types.UID, l *level) *Schema {
	compiled := &Schema{name: s.Name, level: l.config.Name, precedence: s.Spec.MatchingPrecedence,
		exempt: l.config.Exempt, distinguisher: fair.Same}
	compiled.setUIDs(uid, l.uid)
	if d := s.Spec.DistinguisherMethod; d != nil {
		switch d.Type {
		case flowcontrolv1.FlowDistinguisherMethodByUserType:
			compiled.distinguisher = fair.ByUser
		case flowcontrolv1.FlowDistinguisherMethodByNamespaceType:
			compiled.distinguisher = fair.ByNamespace
		}
	}
	if l.config.Exempt { // The server's own limits apply, and those distinguish users.
		compiled.distinguisher = fair.ByUser
	}
	for i := range s.Spec.Rules {
		compiled.rules = append(compiled.rules, newRule(&s.Spec.Rules[i]))
	}
	return compiled
}

func (s *Schema) setUIDs(schema, level types.UID) {
	s.schemaUID, s.levelUID = []string{string(schema)}, []string{string(level)}
}

// Exempt reports whether the level of the schema is exempt.
func (s *Schema) Exempt() bool { return s.exempt }

// Flow returns the flow of a request, for a program of a user. If the schema does not distinguish users, several share
// the user of the flow. Then the name of the user takes the place of the program's, since a client chooses that of the
// program freely.
func (s *Schema) Flow(user *auth.User, route *request.Route, program string, heavy bool) fair.Flow {
	name := bounded(user.Name)
	switch s.distinguisher {
	case fair.ByUser:
		return fair.Flow{Class: s.class, User: name, Program: program, Heavy: heavy}
	case fair.ByNamespace:
		return fair.Flow{Class: s.class, User: namespaceOf(route), Program: name, Heavy: heavy}
	}
	return fair.Flow{Class: s.class, Program: name, Heavy: heavy}
}

// The queue remembers the texts of a flow, and clients choose them: a namespace in a path need not exist.
const (
	// maxNamespaceLength is that of valid names, in bytes.
	maxNamespaceLength = validation.DNS1123LabelMaxLength
	// maxNameLength is the number of bytes up to which a user's name is used as it is. Those of service accounts are
	// shorter.
	maxNameLength = 512
)

// namespaceOf returns the namespace of a request. Invalid namespaces that are too long count as one namespace.
func namespaceOf(route *request.Route) string {
	if len(route.Namespace) > maxNamespaceLength {
		return "(too long)"
	}
	return route.Namespace
}

// bounded returns the name of a user, or its hash if it is long.
func bounded(name string) string {
	if len(name) <= maxNameLength {
		return name
	}
	hash := sha256.Sum256([]byte(name))
	return "sha256:" + hex.EncodeToString(hash[:])
}

// The headers of SetHeaders in their canonical form.
var (
	schemaHeader = http.CanonicalHeaderKey(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID)
	levelHeader  = http.CanonicalHeaderKey(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID)
)

// SetHeaders names the schema and its level in an answer, by their UIDs, like Kubernetes.
func (s *Schema) SetHeaders(h http.Header) {
	h[schemaHeader], h[levelHeader] = s.schemaUID, s.levelUID
}

// matches reports whether a request is one of the schema's.
func (s *Schema) matches(user *auth.User, route *request.Route) bool {
	for i := range s.rules {
		if s.rules[i].matches(user, route) {
			return true
		}
	}
	return false
}

// rule is a compiled PolicyRulesWithSubjects.
type rule struct {
	users, groups set
	// accounts are users whose names begin with one of these texts: all service accounts of a namespace.
	accounts  []string
	resources []resourceRule
	paths     []pathRule
}

// resourceRule is a compiled ResourcePolicyRule.
type resourceRule struct {
	verbs, groups, namespaces set
	allResources              bool
	// resources are the pairs of resource and subresource.
	resources    map[resource]struct{}
	clusterScope bool
}

type resource struct{ name, sub string }

// pathRule is a compiled NonResourcePolicyRule.
type pathRule struct {
	verbs set
	all   bool
	exact set
	// below are paths with their final slash. They match all paths below them.
	below []string
}

func newRule(from *flowcontrolv1.PolicyRulesWithSubjects) rule {
	var r rule
	for i := range from.Subjects {
		switch s := &from.Subjects[i]; {
		case s.Kind == flowcontrolv1.SubjectKindUser && s.User != nil:
			r.users.add(s.User.Name)
		case s.Kind == flowcontrolv1.SubjectKindGroup && s.Group != nil:
			r.groups.add(s.Group.Name)
		case s.Kind == flowcontrolv1.SubjectKindServiceAccount && s.ServiceAccount != nil:
			of := auth.AccountPrefix + s.ServiceAccount.Namespace + ":"
			if s.ServiceAccount.Name == flowcontrolv1.NameAll {
				r.accounts = append(r.accounts, of)
			} else {
				r.users.add(of + s.ServiceAccount.Name)
			}
		}
	}
	for i := range from.ResourceRules {
		of := &from.ResourceRules[i]
		compiled := resourceRule{verbs: newSet(of.Verbs), groups: newSet(of.APIGroups),
			namespaces: newSet(of.Namespaces), clusterScope: of.ClusterScope, resources: map[resource]struct{}{}}
		for _, name := range of.Resources {
			compiled.allResources = compiled.allResources || name == flowcontrolv1.ResourceAll
			name, sub, _ := strings.Cut(name, "/")
			compiled.resources[resource{name, sub}] = struct{}{}
		}
		r.resources = append(r.resources, compiled)
	}
	for i := range from.NonResourceRules {
		of := &from.NonResourceRules[i]
		compiled := pathRule{verbs: newSet(of.Verbs)}
		for _, path := range of.NonResourceURLs {
			if path == flowcontrolv1.NonResourceAll {
				compiled.all = true
				continue
			}
			compiled.exact.add(path)
			compiled.below = append(compiled.below, strings.TrimSuffix(strings.TrimSuffix(path, "*"), "/")+"/")
		}
		r.paths = append(r.paths, compiled)
	}
	return r
}

func (r *rule) matches(user *auth.User, route *request.Route) bool {
	if !r.matchesUser(user) {
		return false
	}
	if !route.IsResource {
		for i := range r.paths {
			if r.paths[i].matches(route) {
				return true
			}
		}
		return false
	}
	for i := range r.resources {
		if r.resources[i].matches(route) {
			return true
		}
	}
	return false
}

func (r *rule) matchesUser(user *auth.User) bool {
	if r.groups.all || r.users.has(user.Name) {
		return true
	}
	for _, group := range user.Groups {
		if r.groups.has(group) {
			return true
		}
	}
	for _, prefix := range r.accounts {
		if strings.HasPrefix(user.Name, prefix) {
			return true
		}
	}
	return false
}

func (r *resourceRule) matches(route *request.Route) bool {
	if !r.verbs.has(route.Verb) || !r.groups.has(route.GVR.Group) {
		return false
	}
	if !r.allResources {
		if _, ok := r.resources[resource{route.GVR.Resource, route.Subresource}]; !ok {
			return false
		}
	}
	if route.Namespace == "" {
		return r.clusterScope
	}
	return r.namespaces.has(route.Namespace)
}

func (r *pathRule) matches(route *request.Route) bool {
	if !r.verbs.has(route.Verb) {
		return false
	}
	if r.all || r.exact.has(route.Path) {
		return true
	}
	for _, prefix := range r.below {
		if strings.HasPrefix(route.Path, prefix) {
			return true
		}
	}
	return false
}

// set is a set of texts, or all texts.
type set struct {
	all bool
	// few has the texts, or many if there are more than maxFew: comparing a few is quicker than hashing.
	few  []string
	many map[string]struct{}
}

const maxFew = 8

func newSet(values []string) set {
	var s set
	for _, v := range values {
		s.add(v)
	}
	return s
}

// add adds a text, or all texts if it is the wildcard.
func (s *set) add(value string) {
	switch {
	case value == "*":
		s.all = true
	case s.many == nil && len(s.few) < maxFew:
		s.few = append(s.few, value)
	default:
		if s.many == nil {
			s.many = map[string]struct{}{}
			for _, v := range s.few {
				s.many[v] = struct{}{}
			}
			s.few = nil
		}
		s.many[value] = struct{}{}
	}
}

func (s *set) has(value string) bool {
	if s.all {
		return true
	}
	if s.many == nil {
		return slices.Contains(s.few, value)
	}
	_, ok := s.many[value]
	return ok
}
