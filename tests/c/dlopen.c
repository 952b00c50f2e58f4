/*
 * Loads the library at run time, works with it, unloads it, again and again, while a thread of its own is alive: what another
 * language's runtime does. Usage: dlopen LIBRARY DIR
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "klog.h"

#define ROUNDS 50

static void *library;

/* C has no conversion from the address of an object to that of a function; POSIX asks for this one. */
static void find(const char *name, void *function) {
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
}

int main(int argc, char **argv) {
    klog_status (*abi_check)(uint32_t, uint64_t, klog_error *);
    klog_status (*manager_open)(const klog_manager_options *, klog_manager *, klog_error *);
    klog_status (*manager_close)(klog_manager, uint32_t, int64_t, klog_error *);
    klog_status (*log_open)(klog_manager, const char *, size_t, int32_t, const klog_log_options *, klog_log *, klog_error *);
    klog_status (*append_one)(klog_log, const void *, size_t, const void *, size_t, int64_t, int64_t *, klog_error *);
    klog_error err = KLOG_INIT(klog_error);
    int64_t offset = -1;

    if (argc != 3) {
        return 2;
    }
    for (int round = 0; round < ROUNDS; round++) {
        klog_manager_options options = KLOG_INIT(klog_manager_options);
        klog_log_options create = KLOG_INIT(klog_log_options);
        klog_manager manager;
        klog_log log;
        library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        find("klog_abi_check", &abi_check);
        find("klog_manager_open", &manager_open);
        find("klog_manager_close", &manager_close);
        find("klog_log_open", &log_open);
        find("klog_append_one", &append_one);
        options.dirs = (const char *const *)&argv[2];
        options.dir_count = 1;
        options.background_threads = 1;
        create.flags = KLOG_LOG_CREATE;
        if (abi_check(KLOG_ABI, KLOG_LAYOUT_HASH, &err) != KLOG_OK || manager_open(&options, &manager, &err) != KLOG_OK
            || log_open(manager, "t", KLOG_NTS, 0, &create, &log, &err) != KLOG_OK
            || append_one(log, "k", 1, "v", 1, KLOG_TIMESTAMP_NOW, &offset, &err) != KLOG_OK
            || manager_close(manager, 0, -1, &err) != KLOG_OK) {
            fprintf(stderr, "round %d: %s\n", round, err.message);
            return 1;
        }
        dlclose(library);
    }
    printf("offset %d\n", (int)offset);
    return offset == ROUNDS - 1 ? 0 : 1;
}
