package bowlinetest

import (
	"context"
	"io/fs"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
)

// Option changes how a plane or a fork starts. The order of options does not matter: definitions are created
// first, then objects, and then controllers start.
type Option func(*settings)

// settings holds what the options have set.
type settings struct {
	with        []func(*bowline.Options)
	definitions []reading
	types       []typesOf
	objects     []client.Object
	controllers []running
	timeout     time.Duration
	leaky       bool
	bubble      bool
}

// defaultTimeout is the default of Timeout.
const defaultTimeout = 10 * time.Second

func settingsOf(options []Option) settings {
	s := settings{timeout: defaultTimeout}
	s.change(options)
	return s
}

func (s *settings) change(options []Option) {
	for _, option := range options {
		option(s)
	}
}

// onFork returns the settings that a fork inherits. The fork's state already has the plane's objects and
// definitions.
func (s settings) onFork() settings {
	s.with, s.definitions, s.types, s.objects = nil, nil, nil, nil
	s.controllers = slices.Clip(s.controllers)
	return s
}

// With changes the options of the plane itself, such as its admission plugins, its built-in controllers and
// its logger.
func With(change func(*bowline.Options)) Option {
	return func(s *settings) { s.with = append(s.with, change) }
}

// Socket makes the plane listen on a free local port, with TLS, for programs in other processes and for tests
// of network clients: see Plane.SocketConfig. It cannot be used in a Bubble.
func Socket() Option {
	return With(func(o *bowline.Options) { o.Listen = "127.0.0.1:0" })
}

// CRDs defines custom resources from files, from all YAML and JSON files of folders, and from files that
// match a pattern of path.Match. They are served when Start returns. Other objects in the files are ignored.
func CRDs(paths ...string) Option {
	return func(s *settings) { s.definitions = append(s.definitions, fromPaths(paths)) }
}

// CRDsIn does the same as CRDs for the files of a file system, such as an embed.FS. The names are patterns of
// path.Match; without names it uses all YAML and JSON files.
func CRDsIn(files fs.FS, names ...string) Option {
	return func(s *settings) { s.definitions = append(s.definitions, fromFiles(files, names)) }
}

// Types registers Go types through the AddToScheme function of their package, so that Objects, Client and
// Wait know their kinds. A kind that neither CRDs nor the plane defines is defined from its struct; see
// DefinitionOf for the limits. change may adjust each definition before it is created; it may be nil.
func Types(addToScheme func(*runtime.Scheme) error, change func(*apiextensionsv1.CustomResourceDefinition)) Option {
	return func(s *settings) { s.types = append(s.types, typesOf{addToScheme, change}) }
}

// Objects creates objects, in order, before Start returns. Namespaced objects without a namespace go to the
// namespace default. The status is written too. Each object is unstructured or of a Go type that the plane
// knows: a built-in one or one registered with Types.
func Objects(objects ...client.Object) Option {
	return func(s *settings) { s.objects = append(s.objects, objects...) }
}

// Controllers runs functions beside the test, each in its own goroutine. They start before Start returns;
// their context ends with the test. A function that returns an error before that, or that does not return
// after it, fails the test. The controllers of a plane also run on its forks.
func Controllers(run ...func(ctx context.Context, config *rest.Config) error) Option {
	return func(s *settings) {
		for _, r := range run {
			s.controllers = append(s.controllers, unmanaged(r))
		}
	}
}

// Manage runs controllers of package controller: add registers them with a manager that shares the plane's
// objects. Changing a cached object fails the test.
func Manage(add func(*controller.Manager) error) Option {
	return func(s *settings) { s.controllers = append(s.controllers, managed(add)) }
}

// Timeout sets how long Wait and WaitForDeletion wait, and how long the end of a test waits for the goroutines and
// watches that the test started; the default is 10 seconds. In a Bubble this is virtual time and costs nothing.
func Timeout(d time.Duration) Option {
	return func(s *settings) { s.timeout = d }
}

// AllowLeaks lets a test pass that leaks goroutines or watches. The test's log still names them.
func AllowLeaks() Option {
	return func(s *settings) { s.leaky = true }
}
