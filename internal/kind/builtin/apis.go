package builtin

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// APIs selects the group versions and resources of the built-in kinds that a server serves. A resource that is off is
// in no discovery or OpenAPI document, and its paths are not found. Its objects remain stored, and are served again
// when the resource is on, or in another version of it that is on. The zero value selects all that are on by default.
type APIs struct {
	settings map[string]bool // by stage, GROUP/VERSION or GROUP/VERSION/RESOURCE; the core group's name is empty
}

// stages are the settings of many versions, in the order of their precedence.
var stages = []struct {
	name    string
	matches *regexp.Regexp
}{
	{"api/alpha", regexp.MustCompile(`^v\d+alpha\d+$`)},
	{"api/beta", regexp.MustCompile(`^v\d+beta\d+$`)},
	{"api/ga", regexp.MustCompile(`^v\d+$`)},
	{"api/all", regexp.MustCompile(``)},
}

// required are the resources that a server cannot be without, with the reason.
var required = []struct {
	resource schema.GroupVersionResource
	reason   string
}{
	{schema.GroupVersionResource{Version: "v1", Resource: "namespaces"},
		"every namespaced object needs one, and clients could no longer create or delete them"},
	{schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		"they define the custom kinds, and clients could no longer change them"},
}

// ParseAPIs returns the selection of a list in the syntax of kube-apiserver's --runtime-config. An entry is KEY=true or
// KEY=false. The key is GROUP/VERSION, GROUP/VERSION/RESOURCE, or one of api/all, api/ga, api/beta and api/alpha. The
// core group has no name and no slash: v1 and v1/pods. A resource has precedence over its version, a version over
// api/ga, api/beta and api/alpha, and these over api/all; of two entries with one key, the last decides. A version or
// resource without a value is on. Without an entry, the versions that Kubernetes disables by default are off, and all
// others are on. ParseAPIs returns an *UnknownAPIError for a group, version or resource that no built-in kind has.
func ParseAPIs(list []string) (APIs, error) {
	a := APIs{map[string]bool{}}
	for _, entry := range list {
		key, value, given := strings.Cut(entry, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if key == "" && !given || key == "api/legacy" { // kube-apiserver ignores both
			continue
		}
		if err := a.set(key, value, given); err != nil {
			return APIs{}, err
		}
	}
	if len(a.settings) == 0 {
		return a, nil
	}
	return a, a.checkKnown()
}

// set adds an entry of a list.
func (a APIs) set(key, value string, given bool) error {
	if isStage(key) {
		if value != "true" && value != "false" {
			return fmt.Errorf("invalid value %s=%s: must be true or false", key, value)
		}
		a.settings[key] = value == "true"
		return nil
	}
	on := true
	if given && value != "" {
		var err error
		if on, err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("invalid value %s=%s: must be true or false", key, value)
		}
	}
	name := key
	if core := strings.TrimPrefix(key, "api/"); core == "v1" || strings.HasPrefix(core, "v1/") {
		name = "/" + core
	}
	parts := strings.Split(name, "/")
	if n := len(parts); n != 2 && n != 3 || slices.Contains(parts[1:], "") {
		return fmt.Errorf("invalid key %q: must be GROUP/VERSION, GROUP/VERSION/RESOURCE, v1 or v1/RESOURCE for the "+
			"core group, or one of api/all, api/ga, api/beta and api/alpha", key)
	}
	a.settings[name] = on
	return nil
}

// isStage reports whether a key names the versions of a stage, or all.
func isStage(key string) bool {
	for _, s := range stages {
		if s.name == key {
			return true
		}
	}
	return false
}

// UnknownAPIError reports settings of groups, versions or resources that no built-in kind has.
type UnknownAPIError struct {
	// On reports whether one of the settings turns an API on. If it is false, what the settings name is off anyway.
	On bool

	message string
}

// Error implements error.
func (e *UnknownAPIError) Error() string { return e.message }

// checkKnown returns an *UnknownAPIError that names all unknown groups, or else the first unknown version or resource.
func (a APIs) checkKnown() error {
	known := builtinResources()
	var groups []string
	var other string
	on := false
	for _, key := range slices.Sorted(maps.Keys(a.settings)) {
		group, rest, _ := strings.Cut(key, "/")
		version, resource, one := strings.Cut(rest, "/")
		resources := known[group+"/"+version]
		var message string
		switch inGroup := versionsOf(known, group); {
		case isStage(key):
			continue
		case len(inGroup) == 0:
			groups = append(groups, shown(key))
		case resources == nil:
			message = fmt.Sprintf("unknown api version %s: the group has %s", shown(group+"/"+version),
				strings.Join(inGroup, ", "))
		case one && !slices.Contains(resources, resource):
			message = fmt.Sprintf("unknown resource %q of %s: it has %s", resource, shown(group+"/"+version),
				strings.Join(resources, ", "))
		default:
			continue
		}
		on = on || a.settings[key]
		other = cmp.Or(other, message)
	}
	switch {
	case len(groups) > 0:
		return &UnknownAPIError{on, fmt.Sprintf("unknown api groups %s: known are %s", strings.Join(groups, ","),
			strings.Join(GroupVersions(), ", "))}
	case other != "":
		return &UnknownAPIError{on, other}
	}
	return nil
}

// builtinResources returns the sorted resources of each GROUP/VERSION, including those that are off by default. That of
// the core group begins with a slash.
func builtinResources() map[string][]string {
	resources := map[string][]string{}
	for _, k := range Kinds(object.NewCache(0)) {
		for _, e := range k.Info().Endpoints {
			version := e.Group + "/" + e.Version
			resources[version] = append(resources[version], k.Info().Plural)
		}
	}
	for _, plurals := range resources {
		slices.Sort(plurals)
	}
	return resources
}

// versionsOf returns the sorted group versions of a group, as users write them.
func versionsOf(known map[string][]string, group string) (versions []string) {
	for version := range known {
		if strings.HasPrefix(version, group+"/") {
			versions = append(versions, shown(version))
		}
	}
	slices.Sort(versions)
	return versions
}

// shown returns a key of APIs.settings as users write it: the core group has no slash.
func shown(key string) string { return strings.TrimPrefix(key, "/") }

// OptionalResources returns the sorted GROUP/VERSION/RESOURCE of the built-in kinds that are off by default.
func OptionalResources() []string {
	var resources []string
	for _, k := range Kinds(object.NewCache(0)) {
		for _, e := range k.Info().Endpoints {
			if e.Unserved {
				resources = append(resources, shown(resourceKey(e.GroupVersion().WithResource(k.Info().Plural))))
			}
		}
	}
	slices.Sort(resources)
	return resources
}

// GroupVersions returns the sorted group versions of the built-in kinds, in the form of the apiVersion field.
// They include the group versions of OptionalResources.
func GroupVersions() []string {
	var versions []string
	for version := range builtinResources() {
		versions = append(versions, shown(version))
	}
	slices.Sort(versions)
	return versions
}

// Serves reports whether a resource of a built-in kind is on, unless a setting is needed to turn it on.
func (a APIs) Serves(gvr schema.GroupVersionResource) bool {
	on, set := a.setting(gvr)
	return on || !set
}

// setting returns the setting with the highest precedence for a resource. set is false if there is none.
func (a APIs) setting(gvr schema.GroupVersionResource) (on, set bool) {
	version := gvr.Group + "/" + gvr.Version
	for _, key := range []string{version + "/" + gvr.Resource, version} {
		if on, set := a.settings[key]; set {
			return on, true
		}
	}
	for _, s := range stages {
		if on, set := a.settings[s.name]; set && s.matches.MatchString(gvr.Version) {
			return on, true
		}
	}
	return false, false
}

// CheckAPIs returns an error if ParseAPIs rejects a list, or Check what it selects.
func CheckAPIs(list []string, needs map[string][]schema.GroupVersionResource) error {
	apis, err := ParseAPIs(list)
	if err != nil {
		return err
	}
	return apis.Check(needs)
}

// Check returns an error if a resource is off that the server itself, or one of its parts, cannot be without. needs
// maps the names of parts, such as controllers, to what they watch or write.
func (a APIs) Check(needs map[string][]schema.GroupVersionResource) error {
	for _, r := range required {
		if !a.Serves(r.resource) {
			return fmt.Errorf("%s cannot be turned off, because %s: add %s=true", shown(resourceKey(r.resource)),
				r.reason, shown(resourceKey(r.resource)))
		}
	}
	var parts, missing []string // parts with their missing resources; all missing resources
	for _, part := range slices.Sorted(maps.Keys(needs)) {
		var off []string
		for _, need := range needs[part] {
			if !a.Serves(need) {
				off = append(off, shown(resourceKey(need)))
			}
		}
		if len(off) > 0 {
			parts = append(parts, fmt.Sprintf("%s needs %s", part, strings.Join(off, " and ")))
			missing = append(missing, off...)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("APIs that are needed are turned off: %s; add %s=true, or do not use what needs them",
		strings.Join(parts, ", "), strings.Join(slices.Compact(missing), "=true,"))
}

func resourceKey(gvr schema.GroupVersionResource) string {
	return gvr.Group + "/" + gvr.Version + "/" + gvr.Resource
}

// Kinds returns all built-in kinds, as the function Kinds does, with exactly the endpoints that are off marked as
// unserved.
func (a APIs) Kinds(cache *object.Cache) []kind.Kind {
	kinds := Kinds(cache)
	for _, k := range kinds {
		info := k.Info()
		// Nothing else refers to the new kinds yet. The slice may be shared with those of another server.
		info.Endpoints = slices.Clone(info.Endpoints)
		for i := range info.Endpoints {
			e := &info.Endpoints[i]
			if on, set := a.setting(e.GroupVersion().WithResource(info.Plural)); set {
				e.Unserved = !on
			}
		}
	}
	return kinds
}
