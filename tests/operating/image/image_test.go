// SPDX-License-Identifier: Apache-2.0

// Package image reads the Dockerfile with the parser of BuildKit, as `docker build` does, and looks whether what it names is there, and
// whether its health check works at a daemon (LOCKKEEPERD) that listens with TLS. It builds no image: that needs an engine.
package image

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

const top = "../../.."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parse(text string) ([]instructions.Stage, []instructions.ArgCommand, error) {
	tree, err := parser.Parse(strings.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	return instructions.Parse(tree.AST)
}

// problems says what is wrong with a Dockerfile.
func problems(t *testing.T, text string) []string {
	t.Helper()
	stages, arguments, err := parse(text)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	say := func(format string, values ...interface{}) { found = append(found, fmt.Sprintf(format, values...)) }
	if len(arguments) != 1 || arguments[0].Args[0].Key != "BASE_DIGEST" {
		say("BASE_DIGEST is no argument of the stages")
	}
	earlier := map[string]bool{}
	for _, stage := range stages {
		if !strings.Contains(stage.BaseName, "${BASE_DIGEST:+@$BASE_DIGEST}") || stage.BaseName != stages[0].BaseName {
			say("the base image of a stage is not pinned by BASE_DIGEST, or differs: %s", stage.BaseName)
		}
		for _, command := range stage.Commands {
			copied, is := command.(*instructions.CopyCommand)
			if !is || len(copied.SourcePaths) == 0 {
				continue
			}
			if copied.From != "" {
				if !earlier[copied.From] {
					say("COPY from a stage that does not come before: %s", copied.From)
				}
				continue
			}
			for _, source := range copied.SourcePaths {
				if _, err := os.Stat(filepath.Join(top, source)); err != nil {
					say("COPY of what is not there: %s", source)
				}
			}
		}
		earlier[stage.Name] = true
	}
	found = append(found, problemsOfImage(stages[len(stages)-1])...)
	for _, name := range installed(stages) {
		if !regexp.MustCompile(`[( ]` + regexp.QuoteMeta(name) + `[ )\n]`).MatchString(packagesOfDev(t)) {
			say("./dev installs no %s", name)
		}
	}
	return found
}

func problemsOfImage(image instructions.Stage) []string {
	var found []string
	user, entry, check := "", "", ""
	for _, command := range image.Commands {
		switch command := command.(type) {
		case *instructions.UserCommand:
			user = command.User
		case *instructions.EntrypointCommand:
			entry = strings.Join(command.CmdLine, " ")
		case *instructions.HealthCheckCommand:
			check = strings.Join(command.Health.Test, " ")
		}
	}
	// The manifests ask for this one.
	if user != "10001" {
		found = append(found, "the user is "+user)
	}
	if entry != "lockkeeperd" {
		found = append(found, "the entry point is "+entry)
	}
	if !strings.HasPrefix(check, "CMD-SHELL lockkeeper health ") || !strings.Contains(check, "--http") {
		found = append(found, "the health check is "+check)
	}
	return found
}

// missing names a file that git knows and that this .dockerignore keeps from the build; "" if there is none.
func missing(t *testing.T, ignore string) string {
	t.Helper()
	known, err := exec.Command("git", "-C", top, "ls-files").Output()
	if err != nil || len(known) == 0 {
		t.Fatalf("git ls-files: %v", err)
	}
	for _, line := range strings.Split(ignore, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		for _, path := range strings.Split(string(known), "\n") {
			if strings.HasPrefix(path, line) {
				return path
			}
		}
	}
	return ""
}

// installed names the packages that the stages ask apt for.
func installed(stages []instructions.Stage) []string {
	var names []string
	for _, stage := range stages {
		for _, command := range stage.Commands {
			run, is := command.(*instructions.RunCommand)
			if !is {
				continue
			}
			for _, part := range strings.Split(strings.Join(run.CmdLine, " "), "&&") {
				if !strings.Contains(part, "apt-get install") {
					continue
				}
				part = regexp.MustCompile(`\$\([^)]*\)`).ReplaceAllString(part, "")
				for _, word := range strings.Fields(part)[2:] {
					if !strings.HasPrefix(word, "-") {
						names = append(names, word)
					}
				}
			}
		}
	}
	return names
}

func packagesOfDev(t *testing.T) string {
	t.Helper()
	return strings.Join(regexp.MustCompile(`(?s)readonly [A-Z]+_PACKAGES=\([^)]*\)`).FindAllString(read(t, "dev"), -1), "\n")
}

func TestDockerfileBuildsWhatTheManifestsRun(t *testing.T) {
	text := read(t, "Dockerfile")
	for _, problem := range problems(t, text) {
		t.Error(problem)
	}
	stages, _, err := parse(text)
	if err != nil || len(installed(stages)) < 2 {
		t.Errorf("no packages are found: %v", err)
	}
	for what, change := range map[string][2]string{
		"another instruction": {"EXPOSE 7600", "EXPOSES 7600"},
		"root":                {"USER 10001", "USER root"},
		"a base of its own":   {"${BASE_DIGEST:+@$BASE_DIGEST}\n#", "\n#"},
		"a package":           {"redis-server ca-certificates", "redis-servers ca-certificates"},
		"a file":              {"COPY LICENSE", "COPY LICENCE"},
		"another stage":       {"COPY --from=build", "COPY --from=builder"},
		"a check by gRPC":     {` --http "${LOCKKEEPERD_SERVER_HTTP_LISTEN:-127.0.0.1:7601}"`, ""},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		if changed == text || len(problems(t, changed)) == 0 {
			t.Errorf("%s is not noticed", what)
		}
	}
}

// Else the version that the programs tell of themselves ends with "-dirty".
func TestImageIsBuiltFromAllThatGitKnows(t *testing.T) {
	ignore := read(t, ".dockerignore")
	if path := missing(t, ignore); path != "" {
		t.Errorf(".dockerignore keeps %s from the build", path)
	}
	if missing(t, ignore+"docs/\n") == "" {
		t.Error("a folder that is left out is not noticed")
	}
}

func TestPackagesOfTheImageAreInTheArchive(t *testing.T) {
	stages, _, err := parse(read(t, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("apt-cache", "show", "bash").Run(); err != nil {
		t.Skip("no lists of packages here")
	}
	for _, name := range installed(stages) {
		if output, err := exec.Command("apt-cache", "show", name).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", name, output)
		}
	}
}

// daemon starts one with mutual TLS for gRPC, and returns where its HTTP listens: on this host.
func daemon(t *testing.T, redis, host string) string {
	t.Helper()
	place := t.TempDir()
	certificate, key := filepath.Join(place, "tls.crt"), filepath.Join(place, "tls.key")
	output, err := exec.Command("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
		"-subj", "/CN=lockkeeper", "-keyout", key, "-out", certificate).CombinedOutput()
	if err != nil {
		t.Fatalf("openssl: %v: %s", err, output)
	}
	store := []string{"--redis", redis}
	if redis == "" {
		store = []string{"--embedded", "--data-dir", filepath.Join(place, "data")}
	}
	command := exec.Command(os.Getenv("LOCKKEEPERD"), append(store, "--listen", "mtls://127.0.0.1:0", "--http-listen", host+":0",
		"--tls-cert", certificate, "--tls-key", key, "--tls-client-ca", certificate)...)
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if found := regexp.MustCompile(`^lockkeeperd ready .* http=(\S+)`).FindStringSubmatch(lines.Text()); found != nil {
			return found[1]
		}
	}
	t.Fatal("the daemon did not start")
	return ""
}

// healthy runs the health check of the Dockerfile, as the shell of a container would.
func healthy(t *testing.T, address string) bool {
	t.Helper()
	stages, _, err := parse(read(t, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range stages[len(stages)-1].Commands {
		if of, is := command.(*instructions.HealthCheckCommand); is {
			check := exec.Command("/bin/sh", "-c", of.Health.Test[1])
			check.Env = append(os.Environ(), "LOCKKEEPERD_SERVER_HTTP_LISTEN="+address,
				"PATH="+filepath.Dir(os.Getenv("LOCKKEEPER"))+":"+os.Getenv("PATH"))
			return check.Run() == nil
		}
	}
	t.Fatal("no health check")
	return false
}

func TestHealthCheckWorksBesideTls(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		address := daemon(t, "", host)
		for until := time.Now().Add(time.Minute); !healthy(t, address); {
			if time.Now().After(until) {
				t.Fatalf("a daemon that is ready is not healthy: %s", address)
			}
		}
	}
	if healthy(t, daemon(t, "unix:///nowhere/redis.sock", "127.0.0.1")) || healthy(t, "127.0.0.1:1") {
		t.Error("a daemon without its store is healthy, or none")
	}
}
