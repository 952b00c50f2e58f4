# Commands for people. Each sets up what it needs; .ci/run calls `make test`.
CARGO ?= cargo
CC ?= cc
CFLAGS ?= -O2
STRICT := -std=c99 -Wall -Wextra -pedantic -Werror
TARGET := $(or $(CARGO_TARGET_DIR),target)
QUICK := $(TARGET)/quick
SHOW := target/quickstart
PREFIX ?= /usr/local
VERSION := $(shell sed -n '/^version = /{s/.*"\(.*\)"/\1/p;q}' Cargo.toml)
FIXTURE := tests/fixtures/kafka-4.4.0-broker.tar.gz

.DEFAULT_GOAL := help
.PHONY: help quickstart install go-lib test test-long header bench bench-long growth peers interop java java-install java-bench tools clean

help: ## List these commands.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

quickstart: ## Build the library, and run the C example on a directory that a Kafka broker wrote.
	$(CARGO) rustc --profile quick --lib --crate-type cdylib --no-default-features
	rm -rf $(SHOW)
	mkdir -p $(SHOW)/lib $(SHOW)/data
	cp $(QUICK)/libklog.so $(SHOW)/lib/libklog.so.0
	ln -s libklog.so.0 $(SHOW)/lib/libklog.so
	gzip -dc $(FIXTURE) | tar -xf - -C $(SHOW)/data
	$(CC) $(STRICT) $(CFLAGS) -Iinclude examples/quickstart.c -o $(SHOW)/quickstart \
		-L$(SHOW)/lib -lklog -Wl,-rpath,'$$ORIGIN/lib'
	$(SHOW)/quickstart $(SHOW)/data/kafka-4.4.0-broker

# The command first: what it leaves as the library was not optimised as a whole.
install: ## Build and install libraries, headers, pkg-config and CMake files, command and its manual: PREFIX=, DESTDIR=.
	packaging/build --command
	packaging/build
	ARCHIVE=$(TARGET)/release/libklog.a COMMAND=$(TARGET)/release/klog VERSION=$(VERSION) \
		PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) packaging/install

go-lib: ## Build the static library, and put it where bindings/go looks for it. GO_LIBRARY=FILE takes a built one.
	@tests/run/go-lib "$(GO_LIBRARY)"

test: ## Build everything and run every test, in minutes. Installs what it needs where it may.
	@tests/run/setup
	@tests/run/all

test-long: ## What takes longer: fuzzing, the address sanitizer in the library, many more seeds.
	@tests/run/setup
	@tests/run/long

header: ## Render include/klog.h from src/ffi, and the list of exported functions from it.
	$(CARGO) check --quiet --features header
	cp "$$(ls -t $(TARGET)/debug/build/klog-*/out/klog.h | head -1)" include/klog.h
	awk -f packaging/map.awk include/klog.h > packaging/klog.map

# Without the command, which the benchmarks do not need and which takes long to link.
BENCH := $(CARGO) bench --no-default-features

bench: interop ## Measure klog in turns with Kafka's own classes and with plain reads and writes; writes docs/benchmarks.md.
	$(BENCH) --bench beside
	$(BENCH) --bench growth

bench-long: interop ## The same with more rounds and larger logs; then other queues, and calls of the C ABI.
	$(BENCH) --bench beside -- --long
	$(BENCH) --bench growth -- --long
	benches/peers/run --long
	$(BENCH) --bench calls --features sim,test-hooks

growth: ## Measure how time and memory grow with bytes, segments and partitions; writes docs/benchmarks.md and docs/growth.
	$(BENCH) --bench growth

peers: ## Measure klog in turns with other queues and logs that a program may embed; writes docs/benchmarks.md.
	benches/peers/run

interop: tests/interop/target/klog-interop.jar ## Build the referee: Kafka's own storage classes.

tests/interop/target/klog-interop.jar: tests/interop/pom.xml $(shell find tests/interop/src -name '*.java')
	mvn --quiet --batch-mode --file tests/interop/pom.xml package
	@touch $@

java: ## Build the Java binding, and run its tests.
	@tests/run/java

java-install: ## Build the jar, and put it where Maven projects of this machine find it.
	@bindings/java/install

java-bench: interop ## Measure the Java binding over both its backends beside C and beside Kafka's own log. TURNS=3
	@bindings/java/with-kafka/bench $(TURNS)

tools: ## Install what the tests need and the machine lacks.
	@tests/run/setup

clean: ## Remove everything that was built.
	$(CARGO) clean --quiet
	rm -rf tests/interop/target bindings/java/target bindings/java/with-kafka/target
