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

// Option changes how a plane starts, or a fork. Their order does not matter: definitions come first, then objects, then
// controllers.
type Option func(*settings)

// settings are what options have set.
type settings struct {
	with        []func(*bowline.Options)
	definitions []reading
	types       []typesOf
	objects     []client.Object
	controllers []running
	patience    time.Duration
	leaky       bool
	bubble      bool
}

// patience is how long a test waits for what should happen soon.
const patience = 10 * time.Second

func settingsOf(options []Option) settings {
	s := settings{patience: patience}
	s.change(options)
	return s
}

func (s *settings) change(options []Option) {
	for _, option := range options {
		option(s)
	}
}

// onFork is what a fork takes over: its objects and definitions are the plane's already.
func (s settings) onFork() settings {
	s.with, s.definitions, s.types, s.objects = nil, nil, nil, nil
	s.controllers = slices.Clip(s.controllers)
	return s
}

// With changes the options of the plane itself: its admission plugins, which of its own controllers run, its log.
func With(change func(*bowline.Options)) Option {
	return func(s *settings) { s.with = append(s.with, change) }
}

// Socket makes the plane listen on a free port of this machine, over TLS, for programs in other processes and for the tests
// of them: see Plane.SocketConfig. Not in a Bubble.
func Socket() Option {
	return With(func(o *bowline.Options) { o.Listen = "127.0.0.1:0" })
}

// CRDs defines custom resources: from files, from all YAML and JSON files of folders, and from what matches a pattern of
// path.Match. They are served when Start returns. A file may have other objects between its definitions, which are left
// out.
func CRDs(paths ...string) Option {
	return func(s *settings) { s.definitions = append(s.definitions, fromPaths(paths)) }
}

// CRDsIn is CRDs for the files of a file system, such as an embed.FS; no name means all of it.
func CRDsIn(files fs.FS, names ...string) Option {
	return func(s *settings) { s.definitions = append(s.definitions, fromFiles(files, names)) }
}

// Types tells the plane of Go types, as the AddToScheme of their package names them, so that Objects, Client and Wait know
// what they are. A kind that neither CRDs nor the plane defines is defined from its struct: see DefinitionOf for what that
// can know. change corrects a definition before it is made, and may be nil.
func Types(addToScheme func(*runtime.Scheme) error, change func(*apiextensionsv1.CustomResourceDefinition)) Option {
	return func(s *settings) { s.types = append(s.types, typesOf{addToScheme, change}) }
}

// Objects are created before the test begins, in order; those without a namespace, where they need one, in default. A
// status is written too. They are typed as the plane knows it (Kubernetes' own and those of Types), or unstructured.
func Objects(objects ...client.Object) Option {
	return func(s *settings) { s.objects = append(s.objects, objects...) }
}

// Controllers run beside the test, each in a goroutine, from before Start returns until the test has ended; the context ends
// then. One that returns an error before that fails the test, and so does one that does not return. They run on forks too,
// each as one more.
func Controllers(run ...func(ctx context.Context, config *rest.Config) error) Option {
	return func(s *settings) {
		for _, r := range run {
			s.controllers = append(s.controllers, unmanaged(r))
		}
	}
}

// Manage is Controllers for those of package controller: add adds them to a manager that shares the plane's objects. Whoever
// changes a cached object fails the test.
func Manage(add func(*controller.Manager) error) Option {
	return func(s *settings) { s.controllers = append(s.controllers, managed(add)) }
}

// Patience is how long Wait and Gone wait, and the end of a test for what it has started; 10 seconds unless told. In a Bubble
// they are virtual, and cost nothing.
func Patience(d time.Duration) Option {
	return func(s *settings) { s.patience = d }
}

// AllowLeaks lets the test pass although goroutines or watches are left behind, which its log still names.
func AllowLeaks() Option {
	return func(s *settings) { s.leaky = true }
}
