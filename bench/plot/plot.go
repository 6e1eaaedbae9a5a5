// Package plot draws line charts as SVG for the project's documents, without a plotting library. Each line is
// labeled at its end, so that a chart can be read without color.
package plot

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Chart is a pair of axes with lines.
type Chart struct {
	Title string
	// X and Y are the labels of the axes, with the unit.
	X, Y string
	// LogX and LogY make an axis logarithmic. Points that are not above zero are then omitted.
	LogX, LogY bool
	Lines      []Line
}

// Line connects points in the order of their X.
type Line struct {
	Name   string
	Points []Point
}

// Point is a measurement.
type Point struct{ X, Y float64 }

// The size of a chart and its margins in pixels.
const (
	width, height            = 800, 320
	left, right, top, bottom = 76, 190, 44, 52
)

var colours = []string{"#0b62a4", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#be123c"}

// SVG draws charts, one below another.
func SVG(charts ...Chart) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		width, height*len(charts), width, height*len(charts))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height*len(charts))
	for i, c := range charts {
		fmt.Fprintf(&b, `<g transform="translate(0 %d)">`+"\n", i*height)
		c.draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (c Chart) draw(b *bytes.Buffer) {
	x, y := c.axes()
	text(b, left, 22, `font-size="15" font-weight="bold"`, c.Title)
	text(b, (left+width-right)/2, height-10, `text-anchor="middle" fill="#444444"`, c.X)
	text(b, left, 38, `fill="#444444"`, c.Y)
	for _, t := range y.ticks() {
		at := y.pixel(t)
		fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#dddddd"/>`+"\n", left, at, width-right, at)
		text(b, left-8, at+4, `text-anchor="end" fill="#444444"`, number(t))
	}
	for _, t := range x.ticks() {
		at := x.pixel(t)
		fmt.Fprintf(b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#999999"/>`+"\n", at, height-bottom, at,
			height-bottom+5)
		text(b, at, height-bottom+19, `text-anchor="middle" fill="#444444"`, number(t))
	}
	fmt.Fprintf(b, `<path d="M%d %d V%d H%d" fill="none" stroke="#999999"/>`+"\n", left, top, height-bottom,
		width-right)
	var ends []float64
	for i, line := range c.Lines {
		if points := x.inside(y, line.Points); len(points) > 0 {
			ends = drawLine(b, x, y, points, line.Name, colours[i%len(colours)], ends)
		}
	}
}

// drawLine draws a line, with dots if it has few points, and its name at the end. It moves the name away from
// the names at ends, and returns ends with the position of the new one.
func drawLine(b *bytes.Buffer, x, y axis, points []Point, name, colour string, ends []float64) []float64 {
	var path strings.Builder
	for i, p := range points {
		fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: " L"}[i == 0], x.pixel(p.X), y.pixel(p.Y))
		if len(points) <= 20 {
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x.pixel(p.X), y.pixel(p.Y), colour)
		}
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.8"/>`+"\n", path.String(), colour)
	last := points[len(points)-1]
	at := y.pixel(last.Y)
	for slices.ContainsFunc(ends, func(end float64) bool { return math.Abs(end-at) < 13 }) {
		at -= 13
	}
	text(b, x.pixel(last.X)+8, at+4, fmt.Sprintf(`fill="%s"`, colour), name)
	return append(ends, at)
}

func text[N int | float64](b *bytes.Buffer, x N, y float64, attributes, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", float64(x), y, attributes, html.EscapeString(s))
}

// number returns the label of a tick.
func number(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 4, 64) + " M"
	case v >= 1e3:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + " k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
