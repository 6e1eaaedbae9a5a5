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

// bowlineModule is what the project of this package is to others.
const bowlineModule = "github.com/bowline-dev/bowline"

// Bowline is where a project has this library from: a release, or else a checkout.
type Bowline struct {
	Version string // of a release, such as v1.2.3
	Folder  string // of a checkout
	// Other says that it is not what this program was built from, and may need other libraries than the project names: go mod tidy
	// finds out.
	Other bool

	sums []string // the release's lines of go.sum
}

// Running is the bowline that this program was built from: the release that was installed, or the checkout that it was built in.
func Running() (Bowline, error) {
	if version := release(); version != "" {
		return Bowline{Version: version}, nil
	}
	_, file, _, _ := runtime.Caller(0)
	folder := filepath.Join(filepath.Dir(file), "..", "..", "..", "..")
	if err := isCheckout(folder); !filepath.IsAbs(file) || err != nil {
		return Bowline{}, errors.New("this bowline is a development build whose source is not where it was: say what the project is " +
			"to be built with, by --bowline FOLDER of a checkout or --bowline VERSION")
	}
	return Bowline{Folder: folder}, nil
}

// release is the version that was installed; a build in a checkout has no checksum, whatever version it is stamped with.
func release() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == bowlineModule && info.Main.Sum != "" {
		return info.Main.Version
	}
	return ""
}

// Named is a bowline that somebody asks for: the version of a release, or the folder of a checkout.
func Named(name string) (Bowline, error) {
	if semver.IsValid(name) && semver.Canonical(name) == name {
		return Bowline{Version: name, Other: name != release()}, nil
	}
	folder, err := filepath.Abs(name)
	if err != nil {
		return Bowline{}, err
	}
	if err := isCheckout(folder); err != nil {
		return Bowline{}, fmt.Errorf("%s is neither a version, such as v1.2.3, nor a checkout of bowline: %w", name, err)
	}
	own, err := Running()
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

// Sum asks the go command for the checksums of a release, which go.sum needs: those that Go verified when the release was
// installed, or those of the module proxy. A checkout needs none.
func (b *Bowline) Sum(ctx context.Context) error {
	if b.Folder != "" {
		return nil
	}
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", bowlineModule+"@"+b.Version)
	download.Dir = os.TempDir() // which is no module
	var stderr bytes.Buffer
	download.Stderr = &stderr
	answer, failed := download.Output()
	var found struct{ Sum, GoModSum, Error string }
	if err := json.Unmarshal(answer, &found); err != nil {
		return fmt.Errorf("go mod download: %w: %s", errors.Join(failed, err), bytes.TrimSpace(stderr.Bytes()))
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
