package klog_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	klog "klog/bindings/go"
)

func TestTheLibraryTellsItsVersion(t *testing.T) {
	if version := klog.LibraryVersion(); !regexp.MustCompile(`^\d+\.\d+\.\d+`).MatchString(version) {
		t.Error(version)
	}
}

// copied is the module beside a copy of the header, without the library.
func copied(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "bindings", "go")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	include := must[string](t)(filepath.Abs("../../include"))
	if err := os.Symlink(include, filepath.Join(root, "include")); err != nil {
		t.Fatal(err)
	}
	files := must[[]string](t)(filepath.Glob("*"))
	for _, file := range files {
		switch ext := filepath.Ext(file); {
		case file == "klog_library.h", strings.HasSuffix(file, "_test.go"), ext != ".go" && ext != ".h" && ext != ".mod":
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, file), must[[]byte](t)(os.ReadFile(file)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// build runs the go command in a directory, and gives what it said.
func build(dir string, env []string, args ...string) (string, error) {
	command := exec.Command("go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), env...)
	said, err := command.CombinedOutput()
	return string(said), err
}

// oncePerRun leaves a test out where the same code is run again in another way, which builds of other programs do not know.
func oncePerRun(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short")
	}
}

func TestABuildThatCannotWorkSaysWhatToDo(t *testing.T) {
	oncePerRun(t)
	dir := copied(t)
	if said, err := build(dir, nil, "build", "."); err == nil || !strings.Contains(said, "run `make go-lib`") {
		t.Errorf("without the library: %v\n%s", err, said)
	}
	if said, err := build(dir, nil, "build", "-tags", "musl", "."); err == nil || !strings.Contains(said, "this one has glibc") {
		t.Errorf("for another C library: %v\n%s", err, said)
	}
	said, err := build(dir, []string{"CGO_ENABLED=0"}, "build", ".")
	if err == nil || !strings.Contains(said, "klog_needs_cgo__set_CGO_ENABLED_1_and_CC") {
		t.Errorf("without cgo: %v\n%s", err, said)
	}
	if lines := strings.Count(said, "\n"); lines > 3 {
		t.Errorf("without cgo: %d lines\n%s", lines, said)
	}
}

// The go command's other ways to build.
func TestOtherBuildsWork(t *testing.T) {
	if partOfRounds(t) > 1 {
		t.Skip("in make test-long: each way builds the standard library anew")
	}
	here := must[string](t)(filepath.Abs("."))
	dir := t.TempDir()
	program := `package main

import "C"

import klog "klog/bindings/go"

//export klog_go_version
func klog_go_version() *C.char { return C.CString(klog.LibraryVersion()) }

func main() { println(klog.LibraryVersion()) }
`
	caller := `#include <stdio.h>
#include "user.h"
int main(void) { puts(klog_go_version()); return 0; }
`
	module := "module user\n\ngo 1.24\n\nrequire klog/bindings/go v0.0.0\n\nreplace klog/bindings/go => " + here + "\n"
	for name, text := range map[string]string{"main.go": program, "c/caller.c": caller, "go.mod": module} {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := build(dir, nil, "run", "-trimpath", "."); err != nil || strings.TrimSpace(said) != klog.LibraryVersion() {
		t.Errorf("-trimpath: %v\n%s", err, said)
	}
	static := filepath.Join(dir, "static")
	if said, err := build(dir, nil, "build", "-ldflags", `-extldflags "-static"`, "-o", static, "."); err != nil {
		t.Errorf("static: %v\n%s", err, said)
	} else if said, err := exec.Command(static).CombinedOutput(); err != nil || strings.TrimSpace(string(said)) != klog.LibraryVersion() {
		t.Errorf("static: %v\n%s", err, said)
	}
	if said, err := build(dir, nil, "build", "-buildmode=c-shared", "-o", "c/user.so", "."); err != nil {
		t.Fatalf("c-shared: %v\n%s", err, said)
	}
	os.Rename(filepath.Join(dir, "c/user.h"), filepath.Join(dir, "user.h"))
	compile := exec.Command("cc", "-I", dir, "c/caller.c", "c/user.so", "-Wl,-rpath,"+filepath.Join(dir, "c"), "-o", "caller")
	compile.Dir = dir
	if said, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	run := exec.Command("./caller")
	run.Dir = dir
	said, err := run.CombinedOutput()
	if err != nil || strings.TrimSpace(string(said)) != klog.LibraryVersion() {
		t.Errorf("c-shared: %v\n%s", err, said)
	}
}

// With -tags klog_dynamic the library is the one that pkg-config knows.
func TestTheSharedLibraryIsFoundByPkgConfig(t *testing.T) {
	oncePerRun(t)
	shared := os.Getenv("KLOG_SHARED")
	if shared == "" {
		t.Skip("KLOG_SHARED names no shared library")
	}
	if _, err := exec.LookPath("pkg-config"); err != nil {
		t.Skip("there is no pkg-config")
	}
	dir, lib := copied(t), t.TempDir()
	for _, name := range []string{"libklog.so", "libklog.so.0"} {
		if err := os.Symlink(must[string](t)(filepath.Abs(shared)), filepath.Join(lib, name)); err != nil {
			t.Fatal(err)
		}
	}
	description := fmt.Sprintf("Name: klog\nDescription: klog\nVersion: 0.1.0\nCflags: -I%s\nLibs: -L%s -lklog\n",
		filepath.Join(dir, "../../include"), lib)
	program := `package main

import klog "klog/bindings/go"

func main() { println(klog.LibraryVersion()) }
`
	for path, text := range map[string]string{
		filepath.Join(lib, "klog.pc"):         description,
		filepath.Join(dir, "version/main.go"): program,
	} {
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PKG_CONFIG_PATH=" + lib, "LD_LIBRARY_PATH=" + lib}
	said, err := build(dir, env, "run", "-tags", "klog_dynamic", "./version")
	if err != nil || strings.TrimSpace(said) != klog.LibraryVersion() {
		t.Errorf("%v\n%s", err, said)
	}

	// From a vendor directory, where there is nothing of this repository but the module itself.
	user := t.TempDir()
	module := "module user\n\ngo 1.24\n\nrequire klog/bindings/go v0.0.0\n\nreplace klog/bindings/go => " + dir + "\n"
	for name, text := range map[string]string{"main.go": program, "go.mod": module} {
		if err := os.WriteFile(filepath.Join(user, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := build(user, nil, "mod", "vendor"); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	said, err = build(user, env, "run", "-mod=vendor", "-tags", "klog_dynamic", ".")
	if err != nil || strings.TrimSpace(said) != klog.LibraryVersion() {
		t.Errorf("vendored: %v\n%s", err, said)
	}
}
