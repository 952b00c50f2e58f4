/* Two libraries in Rust, linked into one program statically: each catches its own panics. Usage: two DIR */
#include <stdio.h>

#include "klog.h"

int32_t other_catches(int32_t number);

int main(int argc, char **argv) {
    klog_error err = KLOG_INIT(klog_error);
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_manager manager;
    if (argc != 2) {
        return 2;
    }
    options.dirs = (const char *const *)&argv[1];
    options.dir_count = 1;
    if (other_catches(1) != 2 || other_catches(-7) != -1) {
        return 1;
    }
    if (klog_manager_open(&options, &manager, &err) != KLOG_OK || klog_manager_close(manager, 0, -1, &err) != KLOG_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    return other_catches(-7) == -1 ? 0 : 1;
}
