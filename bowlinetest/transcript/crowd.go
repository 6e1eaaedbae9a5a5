package transcript

import (
	"fmt"
	"regexp"
)

// many is how many lines may differ in nothing but the numbers of generated names.
const many = 20

// crowds are what generated names begin with of which there are so many that nobody tells them apart.
type crowds map[string]bool

// numbered is a name that has a number, and crowded one that has none any more.
var (
	numbered = regexp.MustCompile(`([a-z0-9.-]+-)#[0-9]+`)
	crowded  = regexp.MustCompile(`[a-z0-9.-]+-#([^0-9]|$)`)
)

// gather has one line stand for many that are alike. From then on such names have no numbers: which one is which differs from
// run to run where only some of them are told of.
func (c crowds) gather(lines []string) (gathered []string) {
	alike := map[string]int{}
	for _, line := range lines {
		alike[numbered.ReplaceAllString(line, "$1#")]++
	}
	for _, line := range lines {
		if names := numbered.FindAllStringSubmatch(line, -1); alike[numbered.ReplaceAllString(line, "$1#")] > many {
			for _, name := range names {
				c[name[1]] = true
			}
		}
	}
	count := map[string]int{}
	for _, line := range lines {
		unnumbered := numbered.ReplaceAllStringFunc(line, c.unnumbered)
		if count[unnumbered]++; count[unnumbered] == 1 || unnumbered == line {
			gathered = append(gathered, unnumbered)
		}
	}
	for i, line := range gathered {
		if n := count[line]; n > 1 && crowded.MatchString(line) {
			gathered[i] = fmt.Sprintf("%s (%d alike)", line, n)
		}
	}
	return gathered
}

// unnumbered is a name without its number, if that is one of a crowd.
func (c crowds) unnumbered(name string) string {
	if begin := numbered.FindStringSubmatch(name)[1]; c[begin] {
		return begin + "#"
	}
	return name
}
