package plugins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/plugins/imagepolicy"
)

// Names of the plugins that callers pass to Select as last.
const (
	initializersName   = "Initializers"
	mutatingPolicyName = "MutatingAdmissionPolicy"
	mutatingName       = "MutatingAdmissionWebhook"
	policyName         = "ValidatingAdmissionPolicy"
	validatingName     = "ValidatingAdmissionWebhook"
)

// builtIn returns the plugins of this package except for the last ones, in Kubernetes' order.
func (s Settings) builtIn() []admission.Plugin {
	return []admission.Plugin{
		AlwaysAdmit{}, ProvisionNamespaces{}, NamespaceLifecycle{}, NamespaceExists{}, LimitAntiAffinity{},
		LimitRanger{}, ServiceAccount{}, RestrictNodes{}, TaintNodes{}, AlwaysPullImages{}, s.images, s.security,
		s.selectors, Priority{}, DefaultTolerations{}, s.tolerations, s.events, TolerateExtendedResources{},
		DefaultStorageClass{}, ProtectStorage{}, ProtectPodGroups{}, ProtectOwners{Kinds: s.Kinds}, ResizeClaims{},
		RuntimeClass{}, ApproveRequests{}, SignRequests{}, AttestBundles{}, RestrictSubjects{}, DefaultIngressClass{},
		DenyExternalIPs{}, PodTopologyLabels{}, CheckNodeFeatures{}, ResizePods{},
	}
}

// off lists the plugins that are off by default, as in Kubernetes, and ServiceAccount, which is off in envtest too: it
// needs a controller that creates the accounts.
var off = []string{
	NamespaceExists{}.Name(), LimitAntiAffinity{}.Name(), AlwaysPullImages{}.Name(), TolerateExtendedResources{}.Name(),
	DenyExternalIPs{}.Name(), ServiceAccount{}.Name(), AlwaysAdmit{}.Name(), ProvisionNamespaces{}.Name(),
	RestrictNodes{}.Name(), ProtectOwners{}.Name(), SelectNodes{}.Name(), RestrictTolerations{}.Name(),
	LimitEvents{}.Name(), (*imagepolicy.Plugin)(nil).Name(), AlwaysDeny{}.Name(),
}

// Names returns the names of all plugins in the order of their calls.
func Names() (names []string) {
	for _, p := range (Settings{}).builtIn() {
		names = append(names, p.Name())
	}
	names = append(names, initializersName, mutatingPolicyName, mutatingName, policyName, validatingName)
	return append(names, ResourceQuota{}.Name(), AlwaysDeny{}.Name())
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
// program has added, then last, and then ResourceQuota and AlwaysDeny. In list, a name turns a built-in plugin or one
// of last on, and -name turns it off; the last entry with a name decides. A plugin that is not in list runs if
// IsDefault is true.
func (s Settings) Select(list []string, own []admission.Plugin, last ...admission.Plugin) []admission.Plugin {
	unwanted := func(p admission.Plugin) bool { return !runs(list, p.Name()) }
	// quotas are charged only for what no other plugin rejects
	last = append(slices.Clone(last), s.quotas, AlwaysDeny{})
	return slices.Concat(slices.DeleteFunc(s.builtIn(), unwanted), own, slices.DeleteFunc(last, unwanted))
}

// runs reports whether a list for Select lets a plugin run.
func runs(list []string, name string) bool {
	for _, entry := range slices.Backward(list) {
		if strings.TrimPrefix(entry, "-") == name {
			return entry == name
		}
	}
	return IsDefault(name)
}
