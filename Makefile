# Commands for people; .ci/run calls `make test`. Everything is set up from here.
CARGO ?= cargo
CC ?= cc
QUICK := target/quick
CFLAGS_STRICT := -std=c99 -Wall -Wextra -pedantic -Werror

.PHONY: header
header: ## Render include/klog.h from src/ffi.
	$(CARGO) check -q --features header
	cp "$$(ls -t target/debug/build/klog-*/out/klog.h | head -1)" include/klog.h
