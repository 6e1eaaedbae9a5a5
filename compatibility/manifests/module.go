package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
)

// download returns the folder with the source of a module, from the module proxy or the module cache. It is called in
// a folder outside of any module, so that only this module is downloaded, and not what it requires.
func download(ctx context.Context, outside, module, version string) (string, error) {
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", module+"@"+version)
	command.Dir = outside
	command.Env = append(command.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := command.Output()
	var answer struct{ Dir, Error string }
	if decodeErr := json.Unmarshal(out, &answer); decodeErr != nil && err == nil {
		err = decodeErr
	}
	if answer.Error != "" {
		err = fmt.Errorf("%s", answer.Error)
	}
	return answer.Dir, err
}

// download downloads all versions of a project, and returns their folders.
func (p *project) download(ctx context.Context, outside string) (folders []string, err error) {
	for _, version := range p.versions {
		folder, err := download(ctx, outside, p.module, version)
		if err != nil {
			return nil, fmt.Errorf("downloading %s@%s: %w", p.module, version, err)
		}
		folders = append(folders, folder)
	}
	return folders, nil
}
