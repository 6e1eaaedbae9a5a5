package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

// onDisk returns a measurement with a server that stores its objects on disk.
func onDisk(m measurement, target float64) measurement {
	run := m.run
	m.figures = []figure{{m.figures[0].work + ", on disk", m.figures[0].unit, target}}
	m.starts = true
	m.run = func(ctx context.Context, l *lab) ([]reading, error) {
		keeping := *l
		keeping.keeps = true
		return run(ctx, &keeping)
	}
	return m
}

// restart measures the start of a server with existing ConfigMaps of 1 KiB on disk.
func restart(work string, objects int, target float64) measurement {
	var state string // filled by the first run
	return measurement{
		figures: []figure{{work, milliseconds, target}},
		starts:  true,
		run: func(ctx context.Context, l *lab) ([]reading, error) {
			if state == "" {
				var err error
				if state, err = fillState(ctx, l.dir, objects); err != nil {
					return nil, err
				}
			}
			return l.timeStart(ctx, state)
		},
	}
}

// fillState creates a state folder with objects.
func fillState(ctx context.Context, dir string, objects int) (state string, err error) {
	if state, err = os.MkdirTemp(dir, "state-"); err != nil {
		return "", err
	}
	log, err := disk.Open(filepath.Join(state, "bowline", "objects"), disk.Options{})
	if err != nil {
		return "", err
	}
	plane, err := bowline.Start(ctx, bowline.Options{Storage: log})
	if err != nil {
		return "", err
	}
	client, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err == nil {
		err = drive(ctx, 128, objects, createConfigMap(ctx, client, "default"))
	}
	return state, errors.Join(err, plane.Close())
}
