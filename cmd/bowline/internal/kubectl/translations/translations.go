// Package translations lets a process that does not run kubectl start without reading kubectl's translations.
//
// Each of kubectl's packages translates its help texts when it is initialised, and the first one reads the catalogue of
// messages. Of all packages in bowline, that one took longest to initialise: GODEBUG=inittrace=1 bowline version lists
// them. Go initialises this package first: of the packages whose imports are initialised, it takes the first one in
// the order of their paths.
package translations

import (
	"os"
	"path/filepath"
	"slices"

	"k8s.io/kubectl/pkg/util/i18n"
)

func init() {
	// The error says that translations have been loaded: then there is nothing to save.
	_ = i18n.SetLoadTranslationsFunc(func() error {
		if !mayRunKubectl(os.Args) {
			return nil
		}
		return i18n.LoadTranslations("kubectl", nil)
	})
}

// mayRunKubectl reports whether a process with these arguments can become kubectl: by its name, or by an argument.
func mayRunKubectl(args []string) bool {
	return len(args) > 0 && filepath.Base(args[0]) == "kubectl" || slices.Contains(args, "kubectl")
}
