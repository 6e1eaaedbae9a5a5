package main

import (
	"context"
	"path/filepath"
)

// virtualYear measures the controllers of cronjobs, jobs and garbage collection in a virtual year of hourly
// runs. It runs the test of internal/controllers/cronjob that normally covers two days, precompiled.
func virtualYear() measurement {
	return measurement{
		figures: []figure{{"CronJob, Job and garbage collection through a virtual year of hourly runs", seconds, 30}},
		starts:  true,
		most:    3,
		run: func(ctx context.Context, l *lab) ([]reading, error) {
			program := filepath.Join(l.dir, "cronjob.test")
			if _, err := timed(ctx, "..", "go", "test", "-c", "-o", program,
				"./internal/controllers/cronjob"); err != nil {
				return nil, err
			}
			took, err := timed(ctx, l.dir, program, "-test.run=^TestHourlyRuns$", "-runs=8760")
			return []reading{{Value: took.Seconds()}}, err
		},
	}
}
