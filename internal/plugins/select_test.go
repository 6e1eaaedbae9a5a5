package plugins_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/plugins"
	"github.com/bowline-dev/bowline/internal/plugins/policy"
	"github.com/bowline-dev/bowline/internal/plugins/webhook"
)

// last returns the plugins that a server passes to Select.
func last(t *testing.T) []admission.Plugin {
	t.Helper()
	mutating, validating, _ := webhook.Plugins(context.Background(), slog.New(slog.DiscardHandler))
	return []admission.Plugin{&plugins.Initializers{}, policy.Mutating(kind.NewRegistry()), mutating,
		policy.Validating(kind.NewRegistry()), validating}
}

func names(all []admission.Plugin) (names []string) {
	for _, p := range all {
		names = append(names, p.Name())
	}
	return names
}

// TestNamesListsAllPlugins checks that Names returns the names of the plugins that Select returns if all are on.
func TestNamesListsAllPlugins(t *testing.T) {
	t.Parallel()
	got, want := plugins.Names(), names(plugins.Settings{}.Select(plugins.Names(), nil, last(t)...))
	if !slices.Equal(got, want) {
		t.Errorf("names %q, plugins %q", got, want)
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list    []string
		name    string
		running bool
	}{
		{nil, "LimitRanger", true},
		{nil, "AlwaysPullImages", false},
		{nil, "Mine", true},
		{[]string{"-LimitRanger"}, "LimitRanger", false},
		{[]string{"-LimitRanger"}, "Priority", true},
		{[]string{"AlwaysPullImages"}, "AlwaysPullImages", true},
		{[]string{"AlwaysPullImages"}, "LimitRanger", true},
		{nil, "PodGroupProtection", true},
		{[]string{"-PodGroupProtection"}, "PodGroupProtection", false},
		{[]string{"-Priority", "Priority"}, "Priority", true},
		{[]string{"Priority", "-Priority"}, "Priority", false},
		{[]string{"-ValidatingAdmissionWebhook"}, "ValidatingAdmissionWebhook", false},
		{[]string{"-ValidatingAdmissionWebhook"}, "MutatingAdmissionWebhook", true},
		{[]string{"-Initializers"}, "Initializers", false},
		{nil, "MutatingAdmissionPolicy", true},
		{[]string{"-MutatingAdmissionPolicy"}, "MutatingAdmissionPolicy", false},
		{nil, "ValidatingAdmissionPolicy", true},
		{[]string{"-ValidatingAdmissionPolicy"}, "ValidatingAdmissionPolicy", false},
	} {
		got := names(plugins.Settings{}.Select(c.list, []admission.Plugin{plugin{}}, last(t)...))
		if slices.Contains(got, c.name) != c.running {
			t.Errorf("%q: plugins %q, want %s running: %t", c.list, got, c.name, c.running)
		}
	}
	if err := plugins.Check([]string{"-LimitRanger", "AlwaysPullImages", "None"}); err == nil {
		t.Error("a plugin that does not exist was accepted")
	}
	if err := plugins.Check([]string{"-LimitRanger", "AlwaysPullImages"}); err != nil {
		t.Error(err)
	}
}
