package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// source is the form in which a project publishes what a user installs.
type source interface {
	// install installs a version, or upgrades to it, from the folder of its module, and returns the objects that
	// then should exist, as YAML.
	install(ctx context.Context, u *user, dir string) ([]byte, error)
	// uninstall removes what install has installed.
	uninstall(ctx context.Context, u *user, dir string) error
	// defaultNamespace is the namespace of objects that name none.
	defaultNamespace() string
}

// manifests are files, or folders of files, for kubectl apply. Their objects are in the namespace unless they name
// another one.
type manifests struct {
	namespace string
	files     []string
}

func (m manifests) arguments(dir string) (arguments []string) {
	for _, file := range m.files {
		arguments = append(arguments, "--filename", filepath.Join(dir, file))
	}
	arguments = append(arguments, "--recursive")
	if m.namespace != "" {
		arguments = append(arguments, "--namespace", m.namespace)
	}
	return arguments
}

func (m manifests) install(ctx context.Context, u *user, dir string) ([]byte, error) {
	if m.namespace != "" {
		if err := u.ensureNamespace(ctx, m.namespace); err != nil {
			return nil, err
		}
	}
	if err := u.apply(ctx, m.arguments(dir)); err != nil {
		return nil, err
	}
	return m.read(dir)
}

// read returns the content of the files.
func (m manifests) read(dir string) (text []byte, err error) {
	add := func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(path)) {
			return err
		}
		content, err := os.ReadFile(path)
		text = slices.Concat(text, []byte("\n---\n"), content)
		return err
	}
	for _, file := range m.files {
		err = errors.Join(err, filepath.WalkDir(filepath.Join(dir, file), add))
	}
	return text, err
}

func (m manifests) uninstall(ctx context.Context, u *user, dir string) error {
	return u.delete(ctx, m.arguments(dir))
}

func (m manifests) defaultNamespace() string { return cmp.Or(m.namespace, metav1.NamespaceDefault) }

// kustomization is a folder for kubectl apply -k.
type kustomization struct{ path string }

func (k kustomization) arguments(dir string) []string {
	return []string{"--kustomize", filepath.Join(dir, k.path)}
}

func (k kustomization) install(ctx context.Context, u *user, dir string) ([]byte, error) {
	if err := u.apply(ctx, k.arguments(dir)); err != nil {
		return nil, err
	}
	return u.kubectl(ctx, "kustomize", filepath.Join(dir, k.path))
}

func (k kustomization) uninstall(ctx context.Context, u *user, dir string) error {
	return u.delete(ctx, k.arguments(dir))
}

func (kustomization) defaultNamespace() string { return metav1.NamespaceDefault }

// chart is a folder with a Helm chart.
type chart struct{ namespace, path string }

// release is the name of the release of a chart.
const release = "test"

func (c chart) install(ctx context.Context, u *user, dir string) ([]byte, error) {
	if _, err := u.helm(ctx, "upgrade", "--install", release, filepath.Join(dir, c.path), "--namespace", c.namespace,
		"--create-namespace", "--timeout", "60s"); err != nil {
		return nil, err
	}
	return u.helm(ctx, "get", "manifest", release, "--namespace", c.namespace)
}

func (c chart) uninstall(ctx context.Context, u *user, _ string) error {
	_, err := u.helm(ctx, "uninstall", release, "--namespace", c.namespace, "--timeout", "60s")
	return err
}

func (c chart) defaultNamespace() string { return c.namespace }
