package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// progressFilter writes a line for each spec that ended, from Ginkgo's verbose output. There, a line such as
// "• [FAILED] [1.2 seconds]" has the name of the spec below it, and then its output. Of specs that run one after the
// other, the name and the output are above the line, and a rule is below it.
type progressFilter struct {
	out     io.Writer
	partial []byte
	above   string // the last line that looks like a name
	result  string // the line of a spec that ended, if the next line is to be read for its name
	count   int
}

func (p *progressFilter) Write(text []byte) (int, error) {
	p.partial = append(p.partial, text...)
	for {
		line, rest, found := bytes.Cut(p.partial, []byte("\n"))
		if !found {
			return len(text), nil
		}
		p.line(strings.TrimSpace(string(line)))
		p.partial = rest
	}
}

func (p *progressFilter) line(line string) {
	switch {
	case strings.HasPrefix(line, "• ["):
		p.result = strings.TrimPrefix(line, "• ")
	case p.result != "" && line != "":
		if strings.HasPrefix(line, "---") {
			line = p.above
		}
		p.count++
		fmt.Fprintf(p.out, "%4d %s %s\n", p.count, p.result, line)
		p.result = ""
	case strings.HasPrefix(line, "[sig-"):
		p.above = line
	}
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(text []byte) (int, error) {
	const limit = 4096
	t.text = append(t.text, text...)
	t.text = t.text[max(0, len(t.text)-limit):]
	return len(text), nil
}
