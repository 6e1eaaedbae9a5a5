// Command manifests installs what projects publish for Kubernetes on planes, unmodified: the install manifests and
// charts that come with the projects' Go modules. On a plane of its own, each project is installed, upgraded if two
// versions of it are listed, and uninstalled, with the real kubectl or Helm. Then the command checks with a client of
// its own that each object exists, and after the uninstall that none does.
//
//	cd compatibility
//	go run ./manifests                   # all projects, on bowline up and on planes in a process
//	go run ./manifests -project 'Argo'   # some
//	go run ./manifests -o json           # for a program
//
// It downloads the modules, about a gigabyte, from the module proxy, once. It fails if an object is not accepted.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	pattern := flag.String("project", "", "install the projects whose names match this `regexp`")
	format := flag.String("o", "table", "the output `format`: table or json")
	bowline := flag.String("bowline", "", "the `file` of the bowline program; built if empty")
	flag.Parse()
	selected, err := regexp.Compile(*pattern)
	if err != nil || *format != "table" && *format != "json" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "manifests: usage: manifests [-project REGEXP] [-bowline FILE] [-o table|json]")
		os.Exit(2)
	}
	results, err := installAll(ctx, selected, *bowline)
	if err == nil {
		err = show(results, *format)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "manifests: %v\n", err)
		os.Exit(1)
	}
}

// result is what became of a project on a plane.
type result struct {
	Project string `json:"project"`
	Version string `json:"version"`
	On      string `json:"on"` // bowline up, or a plane of the library
	// Objects is the number of objects of the newest version, and Accepted the number of those that existed after it
	// was installed.
	Objects  int `json:"objects"`
	Accepted int `json:"accepted"`
	// Upgraded is true if an older version was installed before.
	Upgraded bool    `json:"upgraded"`
	Seconds  float64 `json:"seconds"`
	Error    string  `json:"error,omitempty"`
}

// outcome describes a result.
func (r *result) outcome() string {
	switch {
	case r.Error != "":
		return "failed"
	case r.Upgraded:
		return "installed, upgraded, uninstalled"
	}
	return "installed, uninstalled"
}

func installAll(ctx context.Context, selected *regexp.Regexp, bowline string) (results []result, err error) {
	dir, err := os.MkdirTemp("", "manifests-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintln(os.Stderr, "building the programs")
	built, err := build(ctx, dir, bowline)
	if err != nil {
		return nil, err
	}
	for _, p := range projects {
		if !selected.MatchString(p.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s: downloading\n", p.name)
		folders, err := p.download(ctx, dir)
		if err != nil {
			return nil, err
		}
		for i, w := range ways {
			fmt.Fprintf(os.Stderr, "%s: %s\n", p.name, w.name)
			r := result{Project: p.name, Version: p.versions[len(p.versions)-1], On: w.name,
				Upgraded: len(p.versions) > 1}
			start := time.Now()
			kubeconfig := filepath.Join(dir, fmt.Sprintf("kubeconfig-%d-%d", len(results), i))
			if err := r.try(ctx, p, folders, w, &user{built, kubeconfig}); err != nil {
				r.Error = err.Error()
			}
			r.Seconds = time.Since(start).Seconds()
			results = append(results, r)
		}
	}
	return results, ctx.Err()
}

// try installs, upgrades and uninstalls a project on a new plane.
func (r *result) try(ctx context.Context, p project, folders []string, w way, u *user) (err error) {
	stop, err := w.start(ctx, u.programs, u.kubeconfig)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	config, err := clientcmd.BuildConfigFromFlags("", u.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	i, err := newInspector(config, p.from.defaultNamespace())
	if err != nil {
		return err
	}
	var newest []byte
	for n, folder := range folders {
		newest, err = p.from.install(ctx, u, folder)
		if err != nil {
			return fmt.Errorf("installing %s: %w", p.versions[n], err)
		}
		if err := r.count(ctx, i, newest); err != nil {
			return fmt.Errorf("%s: %w", p.versions[n], err)
		}
		if r.Accepted < r.Objects || r.Objects == 0 {
			return fmt.Errorf("%s: %d of %d objects exist", p.versions[n], r.Accepted, r.Objects)
		}
	}
	if err := p.from.uninstall(ctx, u, folders[len(folders)-1]); err != nil {
		return fmt.Errorf("uninstalling: %w", err)
	}
	left := *r
	if err := left.count(ctx, i, newest); err != nil {
		return err
	}
	if left.Accepted > 0 {
		return fmt.Errorf("%d of %d objects remain after the uninstall", left.Accepted, left.Objects)
	}
	return nil
}

// count sets how many objects a version has, and how many of them exist.
func (r *result) count(ctx context.Context, i *inspector, text []byte) error {
	objects, err := decode(text)
	if err != nil {
		return err
	}
	r.Objects, r.Accepted = len(objects), 0
	i.mapper.Reset()
	for _, obj := range objects {
		found, err := i.exists(ctx, obj)
		if err != nil {
			return err
		}
		if found {
			r.Accepted++
		}
	}
	return nil
}

// show prints the results. It returns an error if one is not as expected.
func show(results []result, format string) error {
	if format == "json" {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(results); err != nil {
			return err
		}
	} else if err := showTable(results); err != nil {
		return err
	}
	failed := 0
	for _, r := range results {
		if r.Error != "" {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d projects were not accepted", failed, len(results))
	}
	return nil
}

func showTable(results []result) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "PROJECT\tVERSION\tON\tOBJECTS\tACCEPTED\tSECONDS\tRESULT")
	for _, r := range results {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%.1f\t%s\n", r.Project, r.Version, r.On, r.Objects, r.Accepted, r.Seconds,
			r.outcome())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		if r.Error != "" {
			fmt.Printf("\n%s on %s: %s\n", r.Project, r.On, r.Error)
		}
	}
	return nil
}
