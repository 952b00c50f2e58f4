/*
 * Runs a scenario of many threads over the C interface (tests/scenarios/README.md). Usage: concurrent FILE.scn DIR
 * [PART_OF_APPENDS PART_OF_ROUNDS]. What is wrong is told, and ends it with status 1; the end is "N steps, 0 wrong". KLOG_SEED is the
 * seed of a close race.
 */
#include <time.h>

#include "close_race.h"
#include "together.h"

static int number_of(char **words, int count, const char *name) {
    size_t len = strlen(name);
    for (int i = 0; i < count; i++) {
        if (strncmp(words[i], name, len) == 0 && words[i][len] == '=') {
            return atoi(words[i] + len + 1);
        }
        if (strcmp(words[i], name) == 0) {
            return 1;
        }
    }
    return 0;
}

#ifdef PLANTED_RACE
/* What the thread sanitizer must report: memory that the library reads while another thread writes it. */
static char planted[8];

static void *write_planted(void *unused) {
    for (int i = 0; i < 1000; i++) {
        planted[i % 8] = (char)i;
    }
    return unused;
}

static void plant_race(klog_log log) {
    pthread_t writer;
    start(&writer, write_planted, NULL);
    for (int i = 0; i < 1000; i++) {
        MUST(klog_append_one(log, planted, sizeof planted, NULL, 0, T0, NULL, &err));
    }
    pthread_join(writer, NULL);
}
#endif

static int part_of(int number, int part) { return number / part > 0 ? number / part : 1; }

int main(int argc, char **argv) {
    char line[512];
    int steps = 0, part_of_appends = argc > 3 ? atoi(argv[3]) : 1, part_of_rounds = argc > 4 ? atoi(argv[4]) : 1;
    const char *given = getenv("KLOG_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    FILE *file;
    klog_manager manager;
    klog_log log = {0};
    if (argc < 3 || part_of_appends < 1 || part_of_rounds < 1 || (file = fopen(argv[1], "r")) == NULL) {
        return 2;
    }
    manager = open_manager(argv[2]);
    while (fgets(line, sizeof line, file) != NULL) {
        char *words[16], *word;
        int count = 0;
        /* Both verbs answer ok, or end the program. */
        line[strcspn(line, "#>\n")] = 0;
        for (word = strtok(line, " "); word != NULL && count < 16; word = strtok(NULL, " ")) {
            words[count++] = word;
        }
        if (count == 0) {
            continue;
        }
        steps++;
        if (strcmp(words[0], "topic") == 0) {
            if (log.id != 0) MUST(klog_log_close(log));
            log = open_log(manager, words[1], words + 2, count - 2);
#ifdef PLANTED_RACE
            plant_race(log);
            break;
#endif
        } else if (strcmp(words[0], "together") == 0) {
            together_options options;
            options.writers = number_of(words, count, "writers");
            options.appends = part_of(number_of(words, count, "appends"), part_of_appends);
            options.followers = number_of(words, count, "followers");
            options.roll = number_of(words, count, "roll");
            options.keys = number_of(words, count, "keys");
            options.cleans = number_of(words, count, "clean");
            together(manager, log, options);
        } else if (strcmp(words[0], "close_race") == 0) {
            fprintf(stderr, "KLOG_SEED=%" PRIu64 "\n", seed);
            MUST(klog_log_close(log));
            log.id = 0;
            MUST(klog_manager_close(manager, 0, -1, &err));
            close_race(argv[2], number_of(words, count, "threads"),
                       part_of(number_of(words, count, "rounds"), part_of_rounds), seed);
            manager = open_manager(argv[2]);
        } else {
            FAIL("no verb %s", words[0]);
        }
    }
    fclose(file);
    if (log.id != 0) MUST(klog_log_close(log));
    MUST(klog_manager_close(manager, 0, -1, &err));
    printf("%d steps, 0 wrong\n", steps);
    return 0;
}
