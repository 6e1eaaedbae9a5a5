package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/pprof/profile"
)

// part is a part of the server's work, with the functions below which it is done.
type part struct {
	name string
	in   *regexp.Regexp
}

// parts are in order of precedence: a sample counts for the first part that matches a function of its stack.
// The stages of a request are those in docs/request.md.
var parts = []part{
	{"collecting garbage", regexp.MustCompile(`^runtime\.(gcBgMarkWorker|bgsweep|bgscavenge)`)},
	{"own: managedFields",
		regexp.MustCompile(`bowline/internal/patch/ownership\.|sigs\.k8s\.io/structured-merge-diff|` +
			`write\.\(\*operation\)\.own|write\.(see|raw|light)Ownership`)},
	{"patch", regexp.MustCompile(`bowline/internal/patch\.|write\.\(\*(patching|applying)\)\.`)},
	{"decode and convert", regexp.MustCompile(`write\.\(\*operation\)\.decode|httpapi\.\(\*exchange\)\.ReadBody|` +
		`stored\.(Read|Decode)$|bowline/internal/kind\.Unmarshal|object\.\(\*Object\)\.Decode`)},
	{"admit", regexp.MustCompile(`bowline/(admission|internal/plugins)\.|write\.\(\*operation\)\.admit`)},
	{"validate", regexp.MustCompile(`write\.\(\*operation\)\.(validate|assign)`)},
	{"encode", regexp.MustCompile(`write\.\(\*operation\)\.encode|stored\.Encode|bowline/internal/kind\.Marshal|` +
		`object\.NewEncoding`)},
	{"commit", regexp.MustCompile(`store\.\(\*(Store\)\.Commit|committer\))|write\.\(\*operation\)\.commit`)},
	{"watch: events to frames, frames to streams",
		regexp.MustCompile(`httpapi\.\(\*(watching|stream)\)|read\.\(\*Feed\)`)},
	{"read", regexp.MustCompile(`store\.\(\*(Store|Snapshot)\)|server/read\.`)},
	{"answer", regexp.MustCompile(`server/render\.|httpapi\.send`)},
	{"metrics, log", regexp.MustCompile(`httpapi\.\(\*Handler\)\.finish|server/metrics\.`)},
	{"authenticate, authorize, route, and between the stages",
		regexp.MustCompile(`httpapi\.\(\*Handler\)\.|server/request\.`)},
	{"TLS: encrypt, write to the socket", regexp.MustCompile(`crypto/tls\.\(\*Conn\)\.[wW]rite`)},
	{"TLS: read from the socket, decrypt", regexp.MustCompile(`crypto/tls\.\(\*Conn\)\.(read|Read)`)},
	{"HTTP/2", regexp.MustCompile(`^net/http\.`)},
	{"growing stacks", regexp.MustCompile(`^runtime\.(newstack|copystack)`)},
	{"scheduling", regexp.MustCompile(`^runtime\.`)},
}

// printShares prints for each server profile in a folder how the CPU time is distributed.
func printShares(to io.Writer, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*-server.pprof"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := printShare(to, file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func printShare(to io.Writer, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	parsed, err := profile.Parse(f)
	if err != nil {
		return err
	}
	spent, total := map[string]int64{}, int64(0)
	for _, sample := range parsed.Sample {
		took := sample.Value[len(sample.Value)-1] // nanoseconds
		spent[partOf(sample)] += took
		total += took
	}
	fmt.Fprintf(to, "%s: %.2f s\n", strings.TrimSuffix(filepath.Base(file), "-server.pprof"), float64(total)/1e9)
	for _, p := range append(parts, part{name: "other"}) {
		if percent := 100 * float64(spent[p.name]) / float64(total); percent >= 0.5 {
			fmt.Fprintf(to, "%5.0f %%  %s\n", percent, p.name)
		}
	}
	return nil
}

// partOf returns the name of the part that a sample counts for.
func partOf(sample *profile.Sample) string {
	for _, p := range parts {
		for _, location := range sample.Location {
			for _, line := range location.Line {
				if p.in.MatchString(line.Function.Name) {
					return p.name
				}
			}
		}
	}
	return "other"
}
