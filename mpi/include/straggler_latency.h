/* Latency as a distribution, for benchmarks in C and C++.
 *
 *     straggler_latency *latency = straggler_latency_open("my benchmark");
 *     straggler_recorder *recorder = straggler_latency_series(latency, "exchange", 8, NULL);
 *     for (int cycle = 0; cycle < 10; cycle++) {
 *         for (int trial = 0; trial < 100000; trial++) {
 *             uint64_t begun = straggler_latency_begin(recorder);
 *             exchange();
 *             straggler_latency_end(recorder, begun);
 *         }
 *         straggler_latency_cycle(recorder);
 *     }
 *     if (straggler_latency_write(latency, "exchange.lat") != STRAGGLER_LATENCY_OK)
 *         fprintf(stderr, "%s\n", straggler_latency_error());
 *     straggler_latency_close(latency);
 *
 * Functions that give a pointer give NULL when they fail, the others a code; straggler_latency_error tells why. A null
 * pointer is refused, never followed. One thread at a time uses a recorder, and nobody records while a file is written;
 * everything else may be called from any thread.
 *
 * Link with -lstraggler_latency, or with libstraggler_latency.a and -lpthread -ldl -lm.
 */
#ifndef STRAGGLER_LATENCY_H
#define STRAGGLER_LATENCY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A measurement: everything that goes into one file. */
typedef struct straggler_latency straggler_latency;

/* One distribution of it. */
typedef struct straggler_recorder straggler_recorder;

enum {
    STRAGGLER_LATENCY_OK = 0,
    STRAGGLER_LATENCY_INVALID = 1, /* an argument is null, no UTF-8, or makes no sense */
    STRAGGLER_LATENCY_FILE = 2,    /* the file cannot be written */
    STRAGGLER_LATENCY_INTERNAL = 3 /* a fault of the library */
};

/* Begins a measurement of a kernel of this name. Examines the timer, which takes about a quarter of a second. */
straggler_latency *straggler_latency_open(const char *kernel);

/* Begins a distribution. `bytes` is the size of the message, 0 where there is none. `bins` is a layout as `straggler
 * measure latency --bins` takes it ("hdr", "log:50ns/1000", "fixed:100us/1000"), or NULL for the usual one. The recorder
 * belongs to the measurement and lives until that is closed. Series of equal name and size are merged in the file, which
 * is how several threads record one distribution. */
straggler_recorder *straggler_latency_series(straggler_latency *latency, const char *name, uint64_t bytes,
                                             const char *bins);

/* Reads the clock. What follows is timed. */
uint64_t straggler_latency_begin(straggler_recorder *recorder);

/* Reads the clock and records the time since `begun`, less what reading the clock costs. */
int straggler_latency_end(straggler_recorder *recorder, uint64_t begun);

/* Ends a cycle of trials: its minimum is kept apart. */
int straggler_latency_cycle(straggler_recorder *recorder);

/* Adds a sentence that readers of the file should know. */
int straggler_latency_note(straggler_latency *latency, const char *text);

/* Writes all that was recorded so far to a file, whole or not at all. */
int straggler_latency_write(straggler_latency *latency, const char *path);

/* Ends the measurement and frees it and its recorders. Nothing is written. NULL is fine. */
void straggler_latency_close(straggler_latency *latency);

/* Why the last call of this thread that failed did so. Valid until the next call of this thread. */
const char *straggler_latency_error(void);

#ifdef __cplusplus
}
#endif

#endif
