package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
)

// groupVersion is a group version with the kinds that it serves, sorted by plural name.
type groupVersion struct {
	schema.GroupVersion
	kinds []kind.Entry
}

// servedGroups returns what a registry serves, by group and version, starting with the core group.
func servedGroups(registry *kind.Registry) []groupVersion {
	var served []groupVersion
	for _, g := range registry.Groups() {
		for _, v := range g.Versions {
			of := groupVersion{GroupVersion: schema.GroupVersion{Group: g.Name, Version: v}}
			for _, k := range registry.Kinds() {
				if e := k.Info().Endpoint(of.GroupVersion); e != nil && !e.Unserved {
					of.kinds = append(of.kinds, kind.Entry{Kind: k, Endpoint: e})
				}
			}
			slices.SortFunc(of.kinds, func(a, b kind.Entry) int {
				return cmp.Compare(a.Kind.Info().Plural, b.Kind.Info().Plural)
			})
			served = append(served, of)
		}
	}
	slices.SortStableFunc(served, func(a, b groupVersion) int { return cmp.Compare(a.Group, b.Group) })
	return served
}

// allVerbs are the verbs of a resource without restrictions.
var allVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// writeServed writes a table for each group version.
func writeServed(w *bytes.Buffer, served []groupVersion) {
	fmt.Fprintf(w,
		"## What is served\n\n\"All\" stands for %s.\nApply is a patch. An asterisk marks a namespaced resource.\n\n",
		strings.Join(allVerbs, ", "))
	for _, gv := range served {
		fmt.Fprintf(w, "### %s\n\n", gv)
		writeWarnings(w, gv.kinds)
		w.WriteString("| resource | kind | verbs | subresources |\n|---|---|---|---|\n")
		for _, k := range gv.kinds {
			info := k.Kind.Info()
			name := info.Plural
			if info.Namespaced {
				name += " *"
			}
			fmt.Fprintf(w, "| %s | %s | %s | %s |\n", name, info.Kind, verbs(info.ServedVerbs()), subresources(k))
		}
		w.WriteByte('\n')
	}
	w.WriteString(`### Custom resources

Each served version of a CustomResourceDefinition, under its group: all verbs, and the subresources scale (get, patch,
update; autoscaling/v1 Scale) and status (get, patch, update) where the version declares them.

`)
}

// writeWarnings writes the deprecations of a group version: one for all kinds, or those of some.
func writeWarnings(w *bytes.Buffer, kinds []kind.Entry) {
	some := slices.DeleteFunc(slices.Clone(kinds), func(k kind.Entry) bool { return k.Endpoint.Deprecated == "" })
	if len(some) == len(kinds) {
		fmt.Fprintf(w, "Each response has the warning: %s.\n\n", some[0].Endpoint.Deprecated)
		return
	}
	for _, k := range some {
		fmt.Fprintf(w, "Each response for %s has the warning: %s.\n\n", k.Kind.Info().Plural, k.Endpoint.Deprecated)
	}
}

func verbs(served []string) string {
	if slices.Equal(slices.Sorted(slices.Values(served)), allVerbs) {
		return "all"
	}
	return strings.Join(served, ", ")
}

func subresources(e kind.Entry) string {
	info := e.Kind.Info()
	var out []string
	for _, s := range info.SubresourcesOf(e.Endpoint.GroupVersion()) {
		text := strings.Join(s.Verbs, ", ")
		if s.Kind.Kind != "" && s.Kind.GroupVersion() != info.Endpoints[0].GroupVersion() {
			text += "; " + s.Kind.GroupVersion().String() + " " + s.Kind.Kind
		}
		out = append(out, s.Name+" ("+text+")")
	}
	return strings.Join(out, "<br>")
}
