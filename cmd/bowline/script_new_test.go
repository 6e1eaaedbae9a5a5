package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// goEnvironment returns the go command's settings, including its caches. Scripts share them although each has
// its own home.
var goEnvironment = sync.OnceValues(func() (variables map[string]string, err error) {
	answer, err := exec.Command("go", "env", "-json", "CGO_ENABLED", "GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS",
		"GOPROXY", "GOSUMDB").Output()
	if err != nil {
		return nil, err
	}
	return variables, json.Unmarshal(answer, &variables)
})

// setUpGo makes the go command usable in a script. It also sets $WITHOUT_GO to a PATH that contains only the
// programs of scripts.
func setUpGo(env *testscript.Env) error {
	variables, err := goEnvironment()
	if err != nil {
		return err
	}
	for name, value := range variables {
		env.Setenv(name, value)
	}
	programs, _, _ := strings.Cut(env.Getenv("PATH"), string(os.PathListSeparator))
	env.Setenv("WITHOUT_GO", programs)
	return nil
}
