package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestControllersAreSelectedAsKubeControllerManagerDoes(t *testing.T) {
	t.Parallel()
	known := []string{"garbage", "namespace"}
	for list, want := range map[string]selection{
		"*":                  {list: []string{"*"}},
		"*,network":          {list: []string{"*"}, network: true},
		"network":            {list: []string{}, network: true},
		"":                   {list: []string{}},
		"*,-namespace":       {list: []string{"*", "-namespace"}},
		"namespace, network": {list: []string{"namespace"}, network: true},
		"-network,network,*": {list: []string{"*"}},
		"network,-network,*": {list: []string{"*"}, network: true},
		"*,network,ingress":  {list: []string{"*"}, network: true, ingress: true},
		"ingress,-network":   {list: []string{}, ingress: true},
	} {
		var entries []string
		if list != "" {
			entries = strings.Split(list, ",")
		}
		got, err := selectControllers(entries, known)
		if err != nil || !slices.Equal(got.list, want.list) || got.list == nil || got.network != want.network || got.ingress != want.ingress {
			t.Errorf("%q: got %+v (%v), want %+v", list, got, err, want)
		}
	}
}

func TestUnknownControllerIsAnErrorThatListsTheKnown(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"netwrok", "-netwrok", "", "--namespace"} {
		_, err := selectControllers([]string{"*", entry}, []string{"namespace"})
		var usage *usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), "ingress, namespace, network") {
			t.Errorf("%q: error %v", entry, err)
		}
	}
}
