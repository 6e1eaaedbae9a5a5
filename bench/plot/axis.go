package plot

import "math"

// axis maps values to pixels.
type axis struct {
	log      bool
	low, top float64
	// from and to are the pixels of low and top.
	from, to float64
}

// axes returns axes that contain every point. A linear axis starts at zero; a logarithmic one starts and ends
// at powers of ten.
func (c Chart) axes() (x, y axis) {
	x = axis{log: c.LogX, from: left, to: width - right}
	y = axis{log: c.LogY, from: height - bottom, to: top}
	for _, line := range c.Lines {
		for _, p := range line.Points {
			x.include(p.X)
			y.include(p.Y)
		}
	}
	x.round()
	y.round()
	return x, y
}

func (a *axis) include(v float64) {
	switch {
	case a.log && v <= 0:
	case a.low == 0 && a.top == 0:
		a.low, a.top = v, v
	default:
		a.low, a.top = min(a.low, v), max(a.top, v)
	}
}

func (a *axis) round() {
	if a.log {
		a.low = math.Pow(10, math.Floor(math.Log10(max(a.low, 1e-9))+1e-9))
		a.top = math.Pow(10, math.Ceil(math.Log10(max(a.top, 10*a.low))-1e-9))
		return
	}
	a.low = min(a.low, 0)
	if step := a.step(); step > 0 {
		a.top = math.Ceil(a.top/step) * step
		return
	}
	a.top = a.low + 1
}

// step returns the distance between ticks of a linear axis: about five ticks at round numbers.
func (a *axis) step() float64 {
	raw := (a.top - a.low) / 5
	if raw <= 0 {
		return 0
	}
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, times := range []float64{1, 2, 5} {
		if raw <= times*power {
			return times * power
		}
	}
	return 10 * power
}

func (a *axis) ticks() (ticks []float64) {
	if a.log {
		for v := a.low; v <= a.top*1.001; v *= 10 {
			ticks = append(ticks, v)
		}
		return ticks
	}
	step := a.step()
	for i := 0; a.low+float64(i)*step <= a.top*1.001; i++ {
		ticks = append(ticks, a.low+float64(i)*step)
	}
	return ticks
}

// pixel returns the pixel of a value.
func (a *axis) pixel(v float64) float64 {
	share := (v - a.low) / (a.top - a.low)
	if a.log {
		share = math.Log(v/a.low) / math.Log(a.top/a.low)
	}
	return a.from + share*(a.to-a.from)
}

// inside returns the points that can be drawn.
func (a *axis) inside(y axis, points []Point) (drawn []Point) {
	for _, p := range points {
		if (!a.log || p.X > 0) && (!y.log || p.Y > 0) {
			drawn = append(drawn, p)
		}
	}
	return drawn
}
