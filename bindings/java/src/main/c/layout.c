/*
 * Prints io.klog.Layout: where the fields of klog.h's structs lie and what its constants are, so that Java has the numbers of
 * the header that the library was built with.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "klog.h"

/* klog_read_result -> READ_RESULT */
static void print_name(const char *name) {
    for (name += 5; *name != 0; name++) {
        putchar(toupper((unsigned char)*name));
    }
}

static void print_size(const char *type, size_t size) {
    fputs("\n    static final int ", stdout);
    print_name(type);
    printf("_SIZE = %zu;\n", size);
}

static void print_field(const char *type, const char *field, size_t offset) {
    fputs("    static final int ", stdout);
    print_name(type);
    putchar('_');
    for (; *field != 0; field++) {
        putchar(toupper((unsigned char)*field));
    }
    printf(" = %zu;\n", offset);
}

static void print_constant(const char *name, uint64_t value) {
    printf("    static final int ");
    print_name(name);
    printf(" = %" PRIu64 ";\n", value);
}

#define SIZE(type) print_size(#type, sizeof(type))
#define FIELD(type, field) print_field(#type, #field, offsetof(type, field))
#define CONSTANT(name) print_constant(#name, name)

int main(void) {
    puts("package io.klog;\n\n/** The layout of klog.h, printed by src/main/c/layout.c. */\nfinal class Layout {");
    printf("    static final int ABI = %d;\n    static final long LAYOUT_HASH = %" PRIu64 "L;\n", KLOG_ABI,
           (uint64_t)KLOG_LAYOUT_HASH);
#include "layout.inc"
    puts("\n    private Layout() {\n    }\n}");
    return 0;
}
