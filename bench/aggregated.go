package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// aggregation is the module that builds Kubernetes' sample API server, and etcd for it.
var aggregation = filepath.Join("..", "compatibility", "aggregation")

// aggregatedRequests measures requests to an aggregated server through bowline, relative to requests to that server
// itself. The first run builds the sample API server and etcd, which takes minutes.
func aggregatedRequests() measurement {
	return measurement{
		figures: []figure{
			{"get from an aggregated server, relative to a direct request", times, 1.3},
			{"create in an aggregated server, relative to a direct request", times, 1.3},
		},
		starts: true,
		run: func(ctx context.Context, l *lab) ([]reading, error) {
			compare := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "Requests", "-benchtime", "2000x", ".")
			compare.Dir, compare.Env = aggregation, append(os.Environ(), "GOWORK=off") // it is in no workspace
			out, err := compare.CombinedOutput()
			if err != nil {
				return nil, fmt.Errorf("%s: %w: %s", compare, err, out)
			}
			var readings []reading
			for _, request := range []string{"get", "create"} {
				ratio := regexp.MustCompile(`BenchmarkRequests/` + request + `\S*\s.*\s([\d.]+) x\b`).FindSubmatch(out)
				if ratio == nil {
					return nil, fmt.Errorf("%s: no result for %s: %s", compare, request, out)
				}
				value, err := strconv.ParseFloat(string(ratio[1]), 64)
				if err != nil {
					return nil, err
				}
				readings = append(readings, reading{Value: value})
			}
			return readings, nil
		},
	}
}
