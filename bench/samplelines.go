package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// lines is the number of lines of Go in a program: the total, and the lines written by hand.
type lines struct {
	all, written float64
}

// samplesFolder contains the two programs; ours is in its subfolder bowline.
var samplesFolder = filepath.Join("..", "examples", "sample-controller")

// sampleLines counts the lines of the two programs. It excludes the shared package pkg/neutron and the folder
// internal, which contains test code.
func sampleLines() (theirs, ours lines, err error) {
	own := filepath.Join(samplesFolder, "bowline")
	shared, tests := filepath.Join(samplesFolder, "pkg", "neutron"), filepath.Join(samplesFolder, "internal")
	theirs, err = countLines(samplesFolder, own, shared, tests)
	if err == nil {
		ours, err = countLines(own)
	}
	return theirs, ours, err
}

// countSamples compares the numbers of lines.
func countSamples() ([]reading, error) {
	theirs, ours, err := sampleLines()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "lines of Go: generated %.0f, of which written %.0f; ours %.0f, of which written %.0f\n",
		theirs.all, theirs.written, ours.all, ours.written)
	return []reading{{Value: ours.all / theirs.all}, {Value: ours.written / theirs.written}}, nil
}

// countLines counts the lines of the Go files below a folder that are neither blank nor comments, without
// tests and some folders.
func countLines(folder string, without ...string) (sum lines, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains(without, path) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		n, generated, err := countFile(path)
		sum.all += n
		if !generated {
			sum.written += n
		}
		return err
	})
	return sum, err
}

// countFile counts the lines of a file that are neither blank nor comments.
func countFile(path string) (n float64, generated bool, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments)
	if err != nil {
		return 0, false, err
	}
	for _, group := range file.Comments {
		for i := set.Position(group.Pos()).Offset; i < set.Position(group.End()).Offset; i++ {
			if text[i] != '\n' {
				text[i] = ' '
			}
		}
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) != "" {
			n++
		}
	}
	return n, ast.IsGenerated(file), nil
}
