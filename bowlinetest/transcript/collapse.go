package transcript

import (
	"fmt"
	"regexp"
)

// maxSimilar is the number of lines that may differ only in the numbers of generated names before they are
// combined.
const maxSimilar = 20

// collapsed are the prefixes of generated names whose numbers are no longer shown.
type collapsed map[string]bool

// numbered matches a name with a number, unnumberedName a name whose number was removed.
var (
	numbered       = regexp.MustCompile(`([a-z0-9.-]+-)#[0-9]+`)
	unnumberedName = regexp.MustCompile(`[a-z0-9.-]+-#([^0-9]|$)`)
)

// collapse combines many lines that differ only in numbers into one. From then on these names are shown without
// numbers, since a later line about only some of them would name different ones in each run.
func (c collapsed) collapse(lines []string) (gathered []string) {
	similar := map[string]int{}
	for _, line := range lines {
		similar[numbered.ReplaceAllString(line, "$1#")]++
	}
	for _, line := range lines {
		if names := numbered.FindAllStringSubmatch(line,
			-1); similar[numbered.ReplaceAllString(line, "$1#")] > maxSimilar {
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
		if n := count[line]; n > 1 && unnumberedName.MatchString(line) {
			gathered[i] = fmt.Sprintf("%s (%d alike)", line, n)
		}
	}
	return gathered
}

// unnumbered removes the number from a name whose prefix is in c.
func (c collapsed) unnumbered(name string) string {
	if begin := numbered.FindStringSubmatch(name)[1]; c[begin] {
		return begin + "#"
	}
	return name
}
