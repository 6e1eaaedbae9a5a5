package main

import (
	"context"
	"path/filepath"
)

// virtualYear times the controllers of cronjobs, jobs and garbage through a year of hourly runs, in virtual time: the test of
// controllers/cronjob that does so for two days, compiled before.
func virtualYear() measurement {
	return measurement{
		figures: []figure{{"CronJob, Job and garbage collection through a virtual year of hourly runs", seconds, 30}},
		starts:  true,
		most:    3,
		run: func(ctx context.Context, l *lab) ([]reading, error) {
			program := filepath.Join(l.dir, "cronjob.test")
			if _, err := timed(ctx, "..", "go", "test", "-c", "-o", program, "./controllers/cronjob"); err != nil {
				return nil, err
			}
			took, err := timed(ctx, l.dir, program, "-test.run=^TestHourlyRuns$", "-runs=8760")
			return []reading{{Value: took.Seconds()}}, err
		},
	}
}
