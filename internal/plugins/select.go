package plugins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/admission"
)

// Names of the plugins that callers pass to Select as last.
const (
	initializersName = "Initializers"
	mutatingName     = "MutatingAdmissionWebhook"
	policyName       = "ValidatingAdmissionPolicy"
	validatingName   = "ValidatingAdmissionWebhook"
)

// builtIn returns the plugins of this package that need no other part of the server, in Kubernetes' order.
func builtIn() []admission.Plugin {
	return []admission.Plugin{
		NamespaceLifecycle{}, NamespaceExists{}, LimitAntiAffinity{}, LimitRanger{}, ServiceAccount{}, TaintNodes{},
		AlwaysPullImages{}, PodSecurity{}, Priority{}, DefaultTolerations{}, TolerateExtendedResources{},
		DefaultStorageClass{}, ProtectStorage{}, ResizeClaims{}, RuntimeClass{}, RestrictSubjects{},
		DefaultIngressClass{}, DenyExternalIPs{}, PodTopologyLabels{},
	}
}

// off lists the plugins that are off by default, as in Kubernetes, and ServiceAccount, which is off in envtest too: it
// needs a controller that creates the accounts.
var off = []string{
	NamespaceExists{}.Name(), LimitAntiAffinity{}.Name(), AlwaysPullImages{}.Name(), TolerateExtendedResources{}.Name(),
	DenyExternalIPs{}.Name(), ServiceAccount{}.Name(),
}

// Names returns the names of all plugins in the order of their calls.
func Names() (names []string) {
	for _, p := range builtIn() {
		names = append(names, p.Name())
	}
	return append(names, initializersName, mutatingName, policyName, validatingName, ResourceQuota{}.Name())
}

// IsDefault reports whether a plugin is on by default.
func IsDefault(name string) bool { return !slices.Contains(off, name) }

// Check returns an error if a list for Select has the name of an unknown plugin.
func Check(list []string) error {
	for _, entry := range list {
		if name := strings.TrimPrefix(entry, "-"); !slices.Contains(Names(), name) {
			return fmt.Errorf("unknown admission plugin %q: must be one of %s", name, strings.Join(Names(), ", "))
		}
	}
	return nil
}

// Select returns the plugins that run, in the order of their calls: built-in plugins, then own, the plugins that a
// program has added, then last, and then ResourceQuota. In list, a name turns a built-in plugin or one of last on, and
// -name turns it off; the last entry with a name decides. A plugin that is not in list runs if IsDefault is true.
func Select(list []string, own []admission.Plugin, last ...admission.Plugin) []admission.Plugin {
	runs := func(p admission.Plugin) bool {
		for _, entry := range slices.Backward(list) {
			if strings.TrimPrefix(entry, "-") == p.Name() {
				return entry == p.Name()
			}
		}
		return IsDefault(p.Name())
	}
	unwanted := func(p admission.Plugin) bool { return !runs(p) }
	last = append(slices.Clone(last), ResourceQuota{}) // charges only for what nothing else rejects
	return slices.Concat(slices.DeleteFunc(builtIn(), unwanted), own, slices.DeleteFunc(last, unwanted))
}
