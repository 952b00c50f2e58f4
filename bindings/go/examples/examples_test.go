// Package examples holds programs to start from. Each prints what its output.txt says.
package examples

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// What an example runs on, if not on an empty directory.
var prepared = map[string]func(t *testing.T, append, dir string) []string{
	"fetch": func(t *testing.T, append, dir string) []string {
		run(t, ".", append, dir)
		run(t, ".", append, dir)
		return []string{"10"}
	},
}

// printed is what a program prints on a directory of its own.
func printed(t *testing.T, name, program, append string) string {
	dir := t.TempDir()
	args := []string{dir}
	if prepare := prepared[name]; prepare != nil {
		args = slices.Concat(args, prepare(t, append, dir))
	}
	return run(t, ".", program, args...)
}

func built(t *testing.T, name string) string {
	program := filepath.Join(t.TempDir(), name)
	run(t, ".", "go", "build", "-o", program, "./"+name)
	return program
}

func TestExamplesPrintWhatTheyPromiseAndWhatCPrints(t *testing.T) {
	outputs, err := filepath.Glob("*/output.txt")
	if err != nil || len(outputs) < 5 {
		t.Fatal(outputs, err)
	}
	library := filepath.Join("..", "lib", runtime.GOOS+"_"+runtime.GOARCH, "libklog.a")
	append := built(t, "append")
	for _, output := range outputs {
		name := filepath.Dir(output)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expected, err := os.ReadFile(output)
			if err != nil {
				t.Fatal(err)
			}
			if told := printed(t, name, built(t, name), append); told != string(expected) {
				t.Errorf("it printed:\n%s\nexpected:\n%s", told, expected)
			}
			source := "../../c/" + name + ".c"
			if _, err := os.Stat(source); err != nil {
				t.Skip("there is no such sample in C")
			}
			inC := filepath.Join(t.TempDir(), name)
			run(t, ".", "cc", "-I../../../include", source, library, "-o", inC, "-lgcc_s", "-lpthread", "-ldl", "-lm")
			if told := printed(t, name, inC, append); told != string(expected) {
				t.Errorf("in C it printed:\n%s\nexpected:\n%s", told, expected)
			}
		})
	}
}

func TestFetchFollowsWhatAnotherProgramAppends(t *testing.T) {
	append, fetch, dir := built(t, "append"), built(t, "fetch"), t.TempDir()
	run(t, ".", append, dir)
	follower := exec.Command(fetch, dir, "10")
	told, err := follower.StdoutPipe()
	if err == nil {
		err = follower.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Wait()
	lines := bufio.NewScanner(told)
	for n := 0; lines.Scan(); n++ {
		switch {
		case n == 0 && !strings.HasPrefix(lines.Text(), "fetched 3 batches"):
			t.Error(lines.Text())
		case n > 0 && !strings.HasPrefix(lines.Text(), fmt.Sprint(n-1, " order-")):
			t.Error(lines.Text())
		case n == 5:
			// It has all that there is, and waits.
			run(t, ".", append, dir)
		case n > 10:
			t.Error("too much:", lines.Text())
		}
	}
}

// The program of the README, in a module of its own as a newcomer makes it, by the README's words.
func TestTheReadmesProgramDoesWhatItSays(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, program, found := strings.Cut(string(readme), "```go\n")
	program, _, _ = strings.Cut(program, "```")
	_, commands, told := strings.Cut(string(readme), "    go mod init ")
	commands, _, _ = strings.Cut("go mod init "+commands, "\n\n")
	if !found || !told {
		t.Fatal("the README has no Go program")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	// The last command runs the program.
	lines := strings.Split(strings.ReplaceAll(commands, "/path/to/klog", root), "\n")
	for _, line := range lines[:len(lines)-1] {
		run(t, dir, "sh", "-c", line)
	}
	for _, expected := range []string{"0 paid\n", "0 paid\n1 paid\n"} {
		if told := run(t, dir, "sh", "-c", lines[len(lines)-1]); told != expected {
			t.Errorf("%q, expected %q", told, expected)
		}
	}
}

// run gives what a program prints.
func run(t *testing.T, dir string, name string, args ...string) string {
	t.Helper()
	command := exec.Command(name, args...)
	command.Dir = dir
	var problems strings.Builder
	command.Stderr = &problems
	told, err := command.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, problems.String())
	}
	return string(told)
}
