package serve

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
)

func TestSelectControllersLikeKubeControllerManager(t *testing.T) {
	t.Parallel()
	known := []string{"garbage", "namespace"}
	for list, want := range map[string]Selection{
		"*":                  {List: []string{"*"}},
		"*,network":          {List: []string{"*"}, Network: true},
		"network":            {List: []string{}, Network: true},
		"":                   {List: []string{}},
		"*,-namespace":       {List: []string{"*", "-namespace"}},
		"namespace, network": {List: []string{"namespace"}, Network: true},
		"-network,network,*": {List: []string{"*"}},
		"network,-network,*": {List: []string{"*"}, Network: true},
		"*,network,ingress":  {List: []string{"*"}, Network: true, Ingress: true},
		"ingress,-network":   {List: []string{}, Ingress: true},
	} {
		var entries []string
		if list != "" {
			entries = strings.Split(list, ",")
		}
		got, err := SelectControllers(entries, known)
		if err != nil || !slices.Equal(got.List, want.List) || got.List == nil || got.Network != want.Network ||
			got.Ingress != want.Ingress {
			t.Errorf("%q: got %+v (%v), want %+v", list, got, err, want)
		}
	}
}

func TestServiceAccountPluginFollowsItsController(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ controllers, admission, want string }{
		{"*", "", "ServiceAccount"},
		{"*", "-ServiceAccount", "ServiceAccount,-ServiceAccount"}, // the last entry decides
		{"serviceaccount", "-Priority", "ServiceAccount,-Priority"},
		{"*,-serviceaccount", "", ""},
		{"namespace", "-Priority", "-Priority"},
		{"namespace", "ServiceAccount", "ServiceAccount"},
		{"", "", ""},
	} {
		split := func(list string) []string {
			return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
		}
		got := Selection{List: split(c.controllers)}.Admission(split(c.admission))
		if strings.Join(got, ",") != c.want {
			t.Errorf("controllers %q, admission %q: got %q, want %q", c.controllers, c.admission, got, c.want)
		}
	}
}

func TestUnknownControllerErrorListsKnown(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"netwrok", "-netwrok", "", "--namespace"} {
		_, err := SelectControllers([]string{"*", entry}, []string{"namespace"})
		var usage *cli.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), "ingress, namespace, network") {
			t.Errorf("%q: got error %v, want one that lists the known controllers", entry, err)
		}
	}
}
