package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// goEnvironment is where the go command keeps what it has downloaded and built, which scripts share though their home is another.
var goEnvironment = sync.OnceValues(func() (variables map[string]string, err error) {
	answer, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "GOSUMDB").Output()
	if err != nil {
		return nil, err
	}
	return variables, json.Unmarshal(answer, &variables)
})

// setUpGo lets a script use the go command, and leave it out: $WITHOUT_GO is a PATH with no more than the programs of scripts.
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
