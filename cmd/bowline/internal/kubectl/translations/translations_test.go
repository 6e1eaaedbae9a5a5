package translations_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/kubectl/pkg/cmd/options"

	_ "github.com/bowline-dev/bowline/cmd/bowline/internal/kubectl/translations"
)

// TestMain prints a text that kubectl translated, instead of running the tests, in the processes that
// TestOnlyKubectlIsTranslated starts.
func TestMain(m *testing.M) {
	if os.Getenv("BOWLINE_PRINT_TEXT") != "" {
		fmt.Println(options.NewCmdOptions(io.Discard).Short)
		return
	}
	os.Exit(m.Run())
}

func TestOnlyKubectlIsTranslated(t *testing.T) {
	t.Parallel()
	const (
		english = "Print the list of flags inherited by all commands"
		german  = "Schreibt die Liste von Optionen, die alle Befehle erben"
	)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"bowline", "up", "--ephemeral"}, english},
		{[]string{"bowline"}, english},
		{[]string{"/usr/bin/kubectl", "options"}, german},
		{[]string{"bowline", "kubectl", "options"}, german},
		{[]string{"bowline", "__complete", "kubectl", ""}, german},
	} {
		process := exec.CommandContext(t.Context(), os.Args[0])
		process.Args = c.args
		process.Env = append(os.Environ(), "BOWLINE_PRINT_TEXT=1", "LC_ALL=de_DE.UTF-8")
		text, err := process.CombinedOutput()
		if err != nil || strings.TrimSpace(string(text)) != c.want {
			t.Errorf("%q: got %q, %v; want %q", c.args, text, err, c.want)
		}
	}
}
