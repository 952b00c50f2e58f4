/*
 * Sends stored batches to a socket without copying them through the program, as a broker answers a fetch: a view says where they
 * lie in which file, sendfile does the rest. The other end decodes what came. Usage: sendfile DIR
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "klog.h"

static klog_error err = KLOG_INIT(klog_error);

static void must(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "%s: %s\n", what, err.message);
        exit(1);
    }
}

static void send_from(klog_log log, int64_t from, int to) {
    klog_read_options options = KLOG_INIT(klog_read_options);
    klog_view_info info = KLOG_INIT(klog_view_info);
    klog_view view;
    off_t position;
    options.max_bytes = 16 * 1024; /* what a socket takes at once */
    must(klog_view_open(log, from, &options, &view, &info, &err) == KLOG_OK, "view");
    position = (off_t)info.position;
    for (uint64_t left = info.len; left > 0;) {
        ssize_t sent = sendfile(to, info.fd, &position, (size_t)left); /* moves position on */
        must(sent > 0, "sendfile");
        left -= (uint64_t)sent;
    }
    must(klog_view_close(view) == KLOG_OK, "close the view");
}

static void receive(int from) {
    static unsigned char bytes[16 * 1024], memory[64 * 1024];
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_record records[100];
    ssize_t len = recv(from, bytes, sizeof bytes, MSG_WAITALL);
    must(len > 0, "recv");
    must(klog_decode(bytes, (size_t)len, 0, records, 100, memory, sizeof memory, &result, &err) == KLOG_OK, "decode");
    for (uint32_t i = 0; i < result.records; i++) {
        printf("%" PRId64 " %.*s\n", records[i].offset, (int)records[i].value_len, (const char *)records[i].value);
    }
}

int main(int argc, char **argv) {
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_log_options create = KLOG_INIT(klog_log_options);
    klog_manager manager;
    klog_log log;
    int sockets[2];

    if (argc != 2) {
        return 2;
    }
    options.dirs = (const char *const *)&argv[1];
    options.dir_count = 1;
    options.flags = KLOG_OPEN_CREATE_DIRS;
    create.flags = KLOG_LOG_CREATE;
    must(klog_manager_open(&options, &manager, &err) == KLOG_OK, "open");
    must(klog_log_open(manager, "orders", KLOG_NTS, 0, &create, &log, &err) == KLOG_OK, "orders-0");
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
    for (int n = 0; n < 5; n++) {
        static const char *const values[5] = {"zero", "one", "two", "three", "four"};
        must(klog_append_one(log, NULL, 0, values[n], strlen(values[n]), n, NULL, &err) == KLOG_OK, "append");
    }
    send_from(log, 2, sockets[0]);
    must(shutdown(sockets[0], SHUT_WR) == 0, "shutdown");
    receive(sockets[1]);
    must(klog_log_close(log) == KLOG_OK && klog_manager_close(manager, 0, -1, &err) == KLOG_OK, "close");
    return close(sockets[0]) != 0 || close(sockets[1]) != 0;
}
