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

// Option configures a plane or a fork. Whatever the order of the options is, Start creates definitions first, then
// objects, and then starts the controllers.
type Option func(*settings)

// settings holds the values that the options set.
type settings struct {
	configure   []func(*bowline.Options)
	definitions []reading
	types       []typesOf
	objects     []client.Object
	controllers []running
	timeout     time.Duration
	allowLeaks  bool
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

// onFork returns the settings that a fork inherits. Its state already has the plane's objects and definitions.
func (s settings) onFork() settings {
	s.configure, s.definitions, s.types, s.objects = nil, nil, nil, nil
	s.controllers = slices.Clip(s.controllers)
	return s
}

// With changes the options that bowline.Start receives, such as the admission plugins, the built-in controllers and
// the logger.
func With(change func(*bowline.Options)) Option {
	return func(s *settings) { s.configure = append(s.configure, change) }
}

// Socket makes the plane listen on a free local port, with TLS, for programs in other processes and for tests
// of network clients; see Plane.SocketConfig. In a Bubble, it ends the test.
func Socket() Option {
	return With(func(o *bowline.Options) { o.Listen = "127.0.0.1:0" })
}

// CRDs creates the CustomResourceDefinitions in the given files, in the YAML and JSON files of the given folders, and
// in the files that match the given patterns of filepath.Match. The plane serves them when Start returns. Other objects
// in the files are ignored. A path that names or matches no file ends the test.
func CRDs(paths ...string) Option {
	return func(s *settings) { s.definitions = append(s.definitions, fromPaths(paths)) }
}

// CRDsIn is like CRDs for the YAML and JSON files of a file system, such as an embed.FS. The names are patterns of
// path.Match: CRDsIn reads the matching files, or all files without names. If no file has a definition, Start ends the
// test.
func CRDsIn(files fs.FS, names ...string) Option {
	return func(s *settings) { s.definitions = append(s.definitions, fromFiles(files, names)) }
}

// Types registers Go types by the AddToScheme function of their package, so that Objects, Client and Wait know their
// kinds. For a kind that the plane does not serve and CRDs does not define, it creates the definition that DefinitionOf
// derives from the struct. change may modify each such definition before it is created; it may be nil.
func Types(addToScheme func(*runtime.Scheme) error, change func(*apiextensionsv1.CustomResourceDefinition)) Option {
	return func(s *settings) { s.types = append(s.types, typesOf{addToScheme, change}) }
}

// Objects creates objects, in order, before Start returns. Namespaced objects without a namespace go to the
// namespace default. The status is written too. Each object is unstructured, or of a Go type that is built-in or
// registered with Types. Objects are not modified, so tests may share them.
func Objects(objects ...client.Object) Option {
	return func(s *settings) { s.objects = append(s.objects, objects...) }
}

// Controllers runs functions concurrently with the test, each in its own goroutine. They start before Start returns;
// their context ends when the test ends. A function that returns an error before that, or does not return within
// Timeout after it, fails the test. The controllers of a plane also run on its forks.
func Controllers(run ...func(ctx context.Context, config *rest.Config) error) Option {
	return func(s *settings) {
		for _, r := range run {
			s.controllers = append(s.controllers, unmanaged(r))
		}
	}
}

// Manage runs controllers of package controller: add adds them to a manager, whose informers share the plane's
// objects. A controller that modifies a cached object fails the test. The controllers of a plane also run on its forks.
func Manage(add func(*controller.Manager) error) Option {
	return func(s *settings) { s.controllers = append(s.controllers, managed(add)) }
}

// Timeout sets the time that Wait and WaitForDeletion wait, and that the end of a test waits for the goroutines and
// watches that the test started; the default is 10 seconds. In a Bubble, it is virtual time.
func Timeout(d time.Duration) Option {
	return func(s *settings) { s.timeout = d }
}

// AllowLeaks lets a test pass although it leaks goroutines or watches. The test's log still names them.
func AllowLeaks() Option {
	return func(s *settings) { s.allowLeaks = true }
}
