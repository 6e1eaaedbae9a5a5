package simulated

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// terminatedCode is the exit code of a program that the signal SIGTERM ended.
const terminatedCode = 128 + 15

// maxWords and maxScript bound the commands that are recognized; longer ones are not simple.
const (
	maxWords  = 8
	maxScript = 128
)

// longestSleep bounds the time that a command can sleep; a container with a longer sleep runs until it is stopped.
const longestSleep = 100 * 365 * 24 * time.Hour

// ending is how a program ends by itself: after a time, or Never, with an exit code. If pauses is set, the program is
// Kubernetes' pause, which exits with code 0 when it is stopped.
type ending struct {
	after  time.Duration
	code   int32
	pauses bool
}

// endingOf returns how a container with a simple command ends: sleep 30, sleep 1m 30s, sleep infinity, true, false, or
// a shell with such a script or the script exit 1. The image pause, without a command, runs until it is stopped. ok is
// false for other commands. A container without a command runs its arguments, as images without an entry point do.
func endingOf(c *corev1.Container) (e ending, ok bool) {
	if len(c.Command)+len(c.Args) > maxWords {
		return ending{}, false
	}
	words := slices.Concat(c.Command, c.Args)
	if len(words) == 0 {
		return ending{after: Never, pauses: true}, isPause(c.Image)
	}
	if len(words) >= 3 && isProgram(words[0], "sh", "bash", "ash", "dash") && words[1] == "-c" {
		if len(words[2]) > maxScript {
			return ending{}, false
		}
		words = strings.Fields(strings.TrimSuffix(strings.TrimSpace(words[2]), ";"))
		if len(words) > 0 && words[0] == "exit" {
			return exitBuiltin(words[1:])
		}
		if len(words) > 0 && words[0] == "exec" {
			words = words[1:]
		}
	}
	switch {
	case len(words) == 1 && isProgram(words[0], "true"):
		return ending{}, true
	case len(words) == 1 && isProgram(words[0], "false"):
		return ending{code: 1}, true
	case len(words) > 1 && isProgram(words[0], "sleep"):
		after, ok := sleepTime(words[1:])
		return ending{after: after}, ok
	}
	return ending{}, false
}

// isPause reports whether an image is Kubernetes' pause, in any registry and version.
func isPause(image string) bool {
	name, _, _ := strings.Cut(path.Base(image), ":")
	name, _, _ = strings.Cut(name, "@")
	return name == "pause"
}

// exitBuiltin returns the ending of a script that consists of the shell's exit, with its operands: none, or a code of
// at most 255.
func exitBuiltin(operands []string) (ending, bool) {
	if len(operands) == 0 {
		return ending{}, true
	}
	code, err := strconv.ParseUint(operands[0], 10, 8)
	return ending{code: int32(code)}, err == nil && len(operands) == 1
}

// sleepTime returns the sum of the operands of sleep, or Never if it does not end.
func sleepTime(operands []string) (d time.Duration, ok bool) {
	for _, word := range operands {
		part, ok := sleepInterval(word)
		if !ok {
			return 0, false
		}
		if part == Never || d == Never || d+part > longestSleep {
			d = Never
		} else {
			d += part
		}
	}
	return d, true
}

// isProgram reports whether a word of a command is one of the programs, by name or by path in one of the usual folders.
func isProgram(word string, programs ...string) bool {
	folder, name := path.Split(word)
	return slices.Contains(programs, name) && slices.Contains([]string{"", "/bin/", "/usr/bin/"}, folder)
}

// sleepInterval parses an operand of sleep: a decimal number with an optional unit, or infinity.
func sleepInterval(word string) (time.Duration, bool) {
	if word == "infinity" || word == "inf" {
		return Never, true
	}
	if word == "" || len(word) > maxScript {
		return 0, false
	}
	unit := time.Second
	switch word[len(word)-1] {
	case 's':
		word = word[:len(word)-1]
	case 'm':
		unit, word = time.Minute, word[:len(word)-1]
	case 'h':
		unit, word = time.Hour, word[:len(word)-1]
	case 'd':
		unit, word = 24*time.Hour, word[:len(word)-1]
	}
	if strings.Trim(word, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return 0, false
	}
	if n > float64(longestSleep/unit) {
		return Never, true
	}
	return time.Duration(n * float64(unit)), true
}
