# What the Maven build needs and javac cannot make: the native library for the jar, and the Java classes that are
# made of klog.h. pom.xml calls this; paths are relative to this folder.
#
#   KLOG_ARCHIVE   libklog.a, where it is built elsewhere; else cargo builds one
#   JAVA_HOME      a JDK, for its jni.h
CC ?= cc
CARGO ?= cargo
ROOT := ../..
OUT := target
CARGO_OUT := $(or $(CARGO_TARGET_DIR),$(ROOT)/target)
KLOG_ARCHIVE ?= $(CARGO_OUT)/quick/libklog.a
JAVA_HOME ?= $(shell dirname $$(dirname $$(readlink -f $$(command -v javac))))
STRICT := -std=c99 -Wall -Wextra -Werror

# x86_64-linux-gnu -> linux-x86_64-gnu
MACHINE := $(subst -, ,$(shell $(CC) -dumpmachine))
PLATFORM := linux-$(firstword $(MACHINE))-$(lastword $(MACHINE))
NATIVE := $(OUT)/classes/META-INF/native/$(PLATFORM)
LIBRARY := $(NATIVE)/libklogjni.so
# What is made of klog.h: its layout, and what calls its functions.
MADE := $(OUT)/generated-sources/header/io/klog
LAYOUT := $(MADE)/Layout.java
FUNCTIONS := $(MADE)/Functions.java $(MADE)/JniFunctions.java $(OUT)/generated-sources/ffm/io/klog/FfmFunctions.java

.PHONY: all archive
all: $(LIBRARY).sha256 $(LAYOUT) $(FUNCTIONS)
	@# Else the summary of the next run counts the failures of the last one.
	@rm -rf $(OUT)/failsafe-reports

ifeq ($(origin KLOG_ARCHIVE),file)
# cargo knows whether there is something to do.
$(KLOG_ARCHIVE): archive
archive:
	cd $(ROOT) && $(CARGO) rustc --quiet --profile quick --lib --crate-type staticlib --no-default-features
endif

$(MADE)/Functions.java: AS := interface
$(MADE)/JniFunctions.java: AS := jni
$(OUT)/generated-sources/ffm/io/klog/FfmFunctions.java: AS := ffm
$(OUT)/functions.inc: AS := c
$(FUNCTIONS) $(OUT)/functions.inc: src/main/c/functions.awk $(ROOT)/include/klog.h
	mkdir -p $(dir $@)
	awk -v as=$(AS) -f src/main/c/functions.awk $(ROOT)/include/klog.h > $@.new
	mv $@.new $@

$(OUT)/klogjni.o: src/main/c/klogjni.c $(OUT)/functions.inc $(ROOT)/include/klog.h
	$(CC) $(STRICT) -O2 -fPIC -I$(OUT) -I$(ROOT)/include -I$(JAVA_HOME)/include -I$(JAVA_HOME)/include/linux -c $< -o $@

# Never unloaded: the library's threads, and destructors of thread locals, run until the process ends.
$(LIBRARY): $(OUT)/klogjni.o src/main/c/klogjni.map $(KLOG_ARCHIVE)
	mkdir -p $(NATIVE)
	$(CC) -shared -s -o $@ $(OUT)/klogjni.o $(KLOG_ARCHIVE) -Wl,--version-script=src/main/c/klogjni.map \
		-Wl,--gc-sections -Wl,--no-undefined -Wl,-z,nodelete -lpthread -ldl -lm

$(LIBRARY).sha256: $(LIBRARY)
	sha256sum < $< | cut -d ' ' -f 1 > $@

$(LAYOUT): src/main/c/layout.c src/main/c/layout.inc $(ROOT)/include/klog.h
	mkdir -p $(dir $@)
	$(CC) $(STRICT) -I$(ROOT)/include src/main/c/layout.c -o $(OUT)/layout
	$(OUT)/layout > $@.new
	mv $@.new $@
