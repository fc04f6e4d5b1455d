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
 * Functions that return a pointer return NULL on failure, the others an error code; straggler_latency_error says why.
 * A null pointer is refused, never dereferenced. Only one thread at a time may use a recorder, and none may record while
 * a file is written; everything else may be called from any thread.
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

/* One distribution in a measurement. */
typedef struct straggler_recorder straggler_recorder;

enum {
    STRAGGLER_LATENCY_OK = 0,
    STRAGGLER_LATENCY_INVALID = 1, /* an argument is null, not UTF-8, or makes no sense */
    STRAGGLER_LATENCY_FILE = 2,    /* the file cannot be written */
    STRAGGLER_LATENCY_INTERNAL = 3 /* a bug in the library */
};

/* Begins a measurement of the kernel with this name. Examines the timer, which takes about a quarter of a second. */
straggler_latency *straggler_latency_open(const char *kernel);

/* Begins a distribution. `bytes` is the size of the message, 0 if there is none. `bins` is a layout as for `straggler
 * measure latency --bins` ("hdr", "log:50ns/1000", "fixed:100us/1000"), or NULL for the default. The recorder belongs to
 * the measurement and lives until that is closed. Series with the same name and size are merged in the file, so several
 * threads can record one distribution. */
straggler_recorder *straggler_latency_series(straggler_latency *latency, const char *name, uint64_t bytes,
                                             const char *bins);

/* Reads the clock at the beginning of a trial; the result is passed to straggler_latency_end. */
uint64_t straggler_latency_begin(straggler_recorder *recorder);

/* Reads the clock and records the time since `begun`, less the cost of reading the clock. */
int straggler_latency_end(straggler_recorder *recorder, uint64_t begun);

/* Ends a cycle of trials; its minimum is kept separately. */
int straggler_latency_cycle(straggler_recorder *recorder);

/* Adds a note for readers of the file. */
int straggler_latency_note(straggler_latency *latency, const char *text);

/* Writes everything recorded so far to a file, completely or not at all. */
int straggler_latency_write(straggler_latency *latency, const char *path);

/* Ends the measurement and frees it and its recorders. Nothing is written. NULL is allowed. */
void straggler_latency_close(straggler_latency *latency);

/* Why this thread's last failed call failed. Valid until the next call by this thread. */
const char *straggler_latency_error(void);

#ifdef __cplusplus
}
#endif

#endif
