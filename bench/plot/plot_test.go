package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestSVGIsXMLWithLabels(t *testing.T) {
	t.Parallel()
	svg := string(SVG(
		Chart{Title: "a < b", X: "objects", Y: "ms", LogX: true, LogY: true, Lines: []Line{
			{Name: "one", Points: []Point{{1e3, 0.5}, {1e6, 20}, {1e7, 0}}},
			{Name: "two", Points: []Point{{1e3, 0.5}, {1e6, 20}}},
		}},
		Chart{Title: "flat", X: "s", Y: "MiB", Lines: []Line{{Name: "three", Points: []Point{{0, 7}, {10, 7}}}}},
	))
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
	}
	for _, want := range []string{"a &lt; b", ">one<", ">two<", ">three<", ">1 M<", ">0.1<", ">100<", ">MiB<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %s", want)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("the position of a point is not a number")
	}
}

func TestTicksAreRoundAndCoverAllPoints(t *testing.T) {
	t.Parallel()
	for _, top := range []float64{0.3, 1, 7, 99, 1234, 3.2e6} {
		a := axis{from: 100, to: 0}
		a.include(0)
		a.include(top)
		a.round()
		ticks := a.ticks()
		if a.top < top || len(ticks) < 4 || len(ticks) > 11 || a.pixel(a.top) != 0 || a.pixel(0) != 100 {
			t.Errorf("up to %v the axis ends at %v with the ticks %v", top, a.top, ticks)
		}
	}
}
