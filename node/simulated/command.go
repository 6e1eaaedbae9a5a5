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

// sleepTime returns how long a container runs whose command only sleeps, or Never if it does not end: sleep 30,
// sleep 1m 30s, sleep infinity, or a shell with such a script, sh -c "sleep 30". ok is false for other commands. A
// container without a command runs its arguments, as images without an entry point do.
func sleepTime(c *corev1.Container) (d time.Duration, ok bool) {
	if len(c.Command)+len(c.Args) > maxWords {
		return 0, false
	}
	words := slices.Concat(c.Command, c.Args)
	if len(words) >= 3 && isProgram(words[0], "sh", "bash", "ash", "dash") && words[1] == "-c" {
		if len(words[2]) > maxScript {
			return 0, false
		}
		words = strings.Fields(strings.TrimSuffix(strings.TrimSpace(words[2]), ";"))
		if len(words) > 0 && words[0] == "exec" {
			words = words[1:]
		}
	}
	if len(words) < 2 || !isProgram(words[0], "sleep") {
		return 0, false
	}
	for _, word := range words[1:] {
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
