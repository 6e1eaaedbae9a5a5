package main

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	commandLine = regexp.MustCompile(`(?m)^    (\S.*?)(?: +# (.*))?$`)
	fencedBlock = regexp.MustCompile("(?ms)^```.*?^```")
	answerLine  = regexp.MustCompile(`^one answers`)
)

// ingressScript converts the README's commands to a script. It replaces the ports by free ones.
func ingressScript(readme string) string {
	var s ingressPage
	for _, line := range commandLine.FindAllStringSubmatch(fencedBlock.ReplaceAllString(readme, ""), -1) {
		s.add(line[1], line[2])
	}
	s.end()
	return s.commands.String() + s.files.String()
}

// ingressPage is a script under construction.
type ingressPage struct {
	commands, files strings.Builder
	running         []string // background programs other than bowline up
	up              bool
	typed           int
}

const (
	ingressPorts   = " --%shttp=127.0.0.1:0 --%shttps=127.0.0.1:0"
	ingressListens = "await -of=%[1]s -as=HTTP 'requests for Ingresses go to http://(\\S+) and'\n" +
		"await -of=%[1]s -as=HTTPS 'requests for Ingresses go to .* and https://([^\" ]+)'\n"
)

// add adds a command; comment is the README's comment on it.
func (s *ingressPage) add(command, comment string) {
	command = strings.NewReplacer("~/.local/state/bowline/kubeconfig", "$KUBECONFIG",
		"127.0.0.1:8080", "$HTTP", "127.0.0.1:8443", "$HTTPS", "/tmp/tls", "$WORK/tls").Replace(command)
	if arguments, ok := strings.CutPrefix(command, "go run ./cmd/bowline up"); ok {
		s.end()
		s.up = true
		run := strings.Contains(arguments, "ingress'")
		if run {
			arguments += fmt.Sprintf(ingressPorts, "ingress-", "ingress-")
		}
		s.commands.WriteString("up" + arguments + "\nawait 'declared objects ready'\n")
		if run {
			fmt.Fprintf(&s.commands, ingressListens, "up")
		}
		return
	}
	if arguments, ok := strings.CutPrefix(command, "go run ./examples/ingress/cmd "); ok {
		s.running = append(s.running, "ingress")
		s.commands.WriteString("spawn ingress $INGRESS " + arguments + fmt.Sprintf(ingressPorts, "", "") + "\n")
		fmt.Fprintf(&s.commands, ingressListens, "ingress")
		return
	}
	if arguments, ok := strings.CutPrefix(command, "go run ./examples/ingress/backend "); ok {
		s.running = append(s.running, "backend")
		s.commands.WriteString("spawn backend $BACKEND " + arguments + "\nawait -of=backend 'serving as an endpoint'\n")
		return
	}
	s.shell(strings.Replace(command, "go run ./cmd/bowline ", "bowline ", 1), comment)
}

// shell adds a command that runs in a shell. If the command is about the Ingress, the script waits first
// until the Ingress exists.
func (s *ingressPage) shell(command, comment string) {
	s.typed++
	if strings.Contains(command, "ingress web") {
		s.commands.WriteString("kubectl wait --for=create ingress/web --timeout=20s\n")
	}
	fmt.Fprintf(&s.commands, "exec sh -e typed-%d\n", s.typed)
	fmt.Fprintf(&s.files, "-- typed-%d --\n%s\n", s.typed, command)
	if answerLine.MatchString(comment) {
		fmt.Fprintf(&s.commands, "stdout '^%s$'\n", regexp.QuoteMeta(comment))
	}
}

// end stops the running programs.
func (s *ingressPage) end() {
	for _, name := range s.running {
		s.commands.WriteString("down -of=" + name + "\n")
	}
	if s.up {
		s.commands.WriteString("down\n")
	}
	s.running, s.up = nil, false
}
