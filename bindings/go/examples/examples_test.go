// Package examples holds programs to start from. Each prints what its output.txt says.
package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestExamplesPrintWhatTheyPromise(t *testing.T) {
	outputs, err := filepath.Glob("*/output.txt")
	if err != nil || len(outputs) < 4 {
		t.Fatal(outputs, err)
	}
	for _, output := range outputs {
		name := filepath.Dir(output)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), name)
			run(t, ".", "go", "build", "-o", program, "./"+name)
			expected, err := os.ReadFile(output)
			if err != nil {
				t.Fatal(err)
			}
			if told := run(t, ".", program, t.TempDir()); told != string(expected) {
				t.Errorf("it printed:\n%s\nexpected:\n%s", told, expected)
			}
		})
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
