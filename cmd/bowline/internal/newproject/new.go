// Package newproject implements bowline new.
package newproject

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/scaffold"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
)

// Command returns the bowline new command.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Create a project",
		Long:  "Creates the folder of a new project that builds and whose tests pass.",
		Example: `  # A controller for the kind Greeting.
  bowline new controller greeter --group example.com --kind Greeting`,
		Args: cli.KnownSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(newControllerCommand())
	return cmd
}

const newControllerHelp = `Creates a folder with a Go project: the Go types of a custom kind, its
CustomResourceDefinition, a controller, and tests, one of which runs the controller with
each fault that can happen to it. The controller maintains a ConfigMap for each object;
replace that with what your controller manages. docs/tutorial.md continues from there.

The project builds without network access on the machine that built Bowline: its go.mod and
go.sum are complete. It requires the Bowline that this command was built from: a release,
or, for a development build, the checkout, with a replace directive. go generate ./... runs
controller-gen, a tool dependency of the project, to update the generated files.

The command overwrites nothing, and a failed one leaves nothing behind.

Exit codes: 0 success; 1 failure; 2 invalid command line.`

// newControllerFlags holds the parsed flags of bowline new controller.
type newControllerFlags struct {
	project         scaffold.Controller
	folder, bowline string
}

func newControllerCommand() *cobra.Command {
	var flags newControllerFlags
	cmd := &cobra.Command{
		Use:   "controller NAME --group GROUP --kind KIND",
		Short: "Create a project with a controller for a custom kind",
		Long:  newControllerHelp,
		Example: `  # The folder greeter with the Go module example.com/greeter, for the kind
  # Greeting of the group example.com.
  bowline new controller greeter --group example.com --kind Greeting

  # With another version, plural and module.
  bowline new controller dns --group net.example.com --kind DNSRecord --version v1alpha1 \
    --plural dnsentries --module github.com/example/dns

  # Built with a checkout of bowline.
  bowline new controller greeter --group example.com --kind Greeting --bowline ../bowline`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.project.Name = args[0]
			return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error {
				return flags.run(ctx, terminal.NewScreen(cmd.OutOrStdout(), cmd.ErrOrStderr()))
			})
		},
	}
	flags.add(cmd)
	return cmd
}

func (f *newControllerFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.project.Group, "group", "",
		"API `group` of the kind: a DNS name that you own, such as example.com")
	set.StringVar(&f.project.Kind, "kind", "", "`kind` in CamelCase, such as Greeting")
	set.StringVar(&f.project.Version, "version", "v1", "API `version` of the kind")
	set.StringVar(&f.project.Plural, "plural", "",
		"plural `name` of the kind (default: the English plural)")
	set.StringVar(&f.project.Module, "module", "", "Go `module` of the project (default: GROUP/NAME)")
	set.StringVar(&f.folder, "folder", "", "`folder` to create (default: NAME in the current folder)")
	set.StringVar(&f.bowline, "bowline", "",
		"required Bowline: a `VERSION` or the folder of a checkout (default: the one this command was built from)")
	cli.CompleteFlag(cmd, "version", []string{"v1", "v1beta1", "v1alpha1"})
	for _, flag := range []string{"group", "kind", "plural", "module"} {
		cli.CompleteFlag(cmd, flag, nil)
	}
	for _, flag := range []string{"folder", "bowline"} {
		if err := cmd.MarkFlagDirname(flag); err != nil {
			panic(err) // the flag is defined above
		}
	}
}

// run creates the project.
func (f *newControllerFlags) run(ctx context.Context, to *terminal.Screen) (err error) {
	project := &f.project
	if err := project.Complete(); err != nil {
		return cli.Usagef("%w", err)
	}
	if f.folder == "" {
		f.folder = project.Name
	}
	folder, err := filepath.Abs(f.folder)
	if err != nil {
		return err
	}
	if err := scaffold.Check(folder); err != nil {
		return err
	}
	if f.bowline == "" {
		project.Bowline, err = scaffold.RunningBowline()
	} else {
		project.Bowline, err = scaffold.NamedBowline(f.bowline)
	}
	if err != nil {
		return cli.Usagef("%w", err)
	}
	incomplete := project.Bowline.LoadSums(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	files, err := project.Files()
	if err != nil {
		return err
	}
	if err := scaffold.Write(folder, files); err != nil {
		return err
	}
	f.printNextSteps(to, incomplete, workspace(ctx, folder))
	return nil
}

// workspace returns the go.work file that applies to a folder, or an empty string. In a workspace, Go builds
// only the listed modules.
func workspace(ctx context.Context, folder string) string {
	env := exec.CommandContext(ctx, "go", "env", "GOWORK")
	env.Dir = folder
	answer, err := env.Output()
	if file := strings.TrimSpace(string(answer)); err == nil && file != "off" {
		return file
	}
	return ""
}

// printNextSteps prints the next steps for a new project. The error incomplete is the reason why go.sum lacks
// the checksums of the Bowline release, if it does; workspace is the go.work file that the project has to be
// added to, if there is one.
func (f *newControllerFlags) printNextSteps(to *terminal.Screen, incomplete error, workspace string) {
	project := f.project
	to.Println(to.Out.Color(terminal.Bold,
		terminal.Sprintf("Created %s: a controller for %s.%s in the Go module %s.",
			f.folder, project.Plural, project.Group, project.Module)))
	if project.Bowline.Folder == "" {
		to.Println(terminal.Sprintf("It is built with Bowline %s.", project.Bowline.Version))
	} else {
		to.Println(terminal.Sprintf("It is built with the checkout of Bowline in %s: see replace in its go.mod.",
			project.Bowline.Folder))
	}
	to.Println("")
	if _, err := exec.LookPath("go"); err != nil {
		to.Println("    # Go is not on the PATH: install it from https://go.dev/dl")
	}
	to.Println("    cd " + terminal.ShellQuote(f.folder))
	if workspace != "" {
		to.Println(terminal.Sprintf("    go work use .          # because this folder is in the workspace of %s",
			workspace))
	}
	switch {
	case incomplete != nil:
		to.Println(terminal.Sprintf("    go mod tidy            # go.sum is incomplete: %s", incomplete))
	case project.Bowline.Other:
		to.Println("    go mod tidy            # because that Bowline may need other libraries")
	}
	to.Println("    go test ./...          # tests the controller, also with faults")
	to.Println("    bowline up -f crd      # serves the kind; continue with README.md")
	to.Println("")
}
