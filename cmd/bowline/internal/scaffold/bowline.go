package scaffold

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// bowlineModule is the module path of Bowline.
const bowlineModule = "github.com/bowline-dev/bowline"

// Bowline is the version of the library that a project is built with: a release or a checkout.
type Bowline struct {
	Version string // of a release, such as v1.2.3
	Folder  string // of a checkout
	// Other is set if it differs from the version that this program was built from. It may then need other
	// libraries than those in the project's go.mod, and the user must run go mod tidy.
	Other bool

	sums []string // the release's lines in go.sum
}

// RunningBowline returns the Bowline that this program was built from: the installed release, or the checkout.
func RunningBowline() (Bowline, error) {
	if version := release(); version != "" {
		return Bowline{Version: version}, nil
	}
	_, file, _, _ := runtime.Caller(0)
	folder := filepath.Join(filepath.Dir(file), "..", "..", "..", "..")
	if err := isCheckout(folder); !filepath.IsAbs(file) || err != nil {
		return Bowline{},
			errors.New("the source of this development build was moved: name the Bowline to " +
				"build with: --bowline FOLDER of a checkout or --bowline VERSION")
	}
	return Bowline{Folder: folder}, nil
}

// release returns the version of the library in an installed program, or an empty string for a build in a
// checkout. Such a build may name a version, but has no checksum of it.
func release() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == bowlineModule && module.Sum != "" {
			return module.Version
		}
	}
	return ""
}

// NamedBowline returns the Bowline that the user names: by the version of a release, or by the folder of a checkout.
func NamedBowline(name string) (Bowline, error) {
	if semver.IsValid(name) && semver.Canonical(name) == name {
		return Bowline{Version: name, Other: name != release()}, nil
	}
	folder, err := filepath.Abs(name)
	if err != nil {
		return Bowline{}, err
	}
	if err := isCheckout(folder); err != nil {
		return Bowline{},
			fmt.Errorf("invalid --bowline %q: must be a version, such as v1.2.3, or a checkout of bowline: %w", name,
				err)
	}
	own, err := RunningBowline()
	return Bowline{Folder: folder, Other: err != nil || own.Folder != folder}, nil
}

func isCheckout(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return err
	}
	if path := modfile.ModulePath(text); path != bowlineModule {
		return fmt.Errorf("its module is %q", path)
	}
	return nil
}

// LoadSums gets the checksums of a release for go.sum from the go command, which has them from the installation of
// the release or from the module proxy. A checkout needs none.
func (b *Bowline) LoadSums(ctx context.Context) error {
	if b.Folder != "" {
		return nil
	}
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", bowlineModule+"@"+b.Version)
	download.Dir = os.TempDir() // outside of any module
	var stderr bytes.Buffer
	download.Stderr = &stderr
	answer, runErr := download.Output()
	var found struct{ Sum, GoModSum, Error string }
	if err := json.Unmarshal(answer, &found); err != nil {
		return fmt.Errorf("go mod download: %w: %s", errors.Join(runErr, err), bytes.TrimSpace(stderr.Bytes()))
	}
	if found.Error != "" {
		return errors.New(found.Error)
	}
	b.sums = []string{
		fmt.Sprintf("%s %s %s\n", bowlineModule, b.Version, found.Sum),
		fmt.Sprintf("%s %s/go.mod %s\n", bowlineModule, b.Version, found.GoModSum),
	}
	return nil
}
