/* A benchmark as others write them: two series, several cycles, and every mistake a caller can make. */
#include "straggler_latency.h"
#include <stdio.h>
#include <string.h>

static volatile uint64_t sink;

static int failures;

static void expect(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s (last error: %s)\n", what, straggler_latency_error());
        failures++;
    }
}

static void work(unsigned steps)
{
    for (unsigned step = 0; step < steps; step++)
        sink = sink * 6364136223846793005u + 1;
}

static void record(straggler_recorder *recorder, unsigned steps)
{
    for (int cycle = 0; cycle < 3; cycle++) {
        for (int trial = 0; trial < 1000; trial++) {
            uint64_t begun = straggler_latency_begin(recorder);
            work(steps);
            straggler_latency_end(recorder, begun);
        }
        expect(straggler_latency_cycle(recorder) == STRAGGLER_LATENCY_OK, "a cycle ends");
    }
}

static void mistakes(straggler_latency *latency)
{
    expect(straggler_latency_open(NULL) == NULL, "a kernel needs a name");
    expect(strstr(straggler_latency_error(), "null pointer") != NULL, "the error says so");
    expect(straggler_latency_series(latency, "x", 0, "hdx") == NULL, "bins must be known");
    expect(strstr(straggler_latency_error(), "did you mean `hdr`") != NULL, "the error tells which");
    expect(straggler_latency_series(latency, "\xff", 0, NULL) == NULL, "names are UTF-8");
    expect(straggler_latency_series(NULL, "x", 0, NULL) == NULL, "a series needs a measurement");
    expect(straggler_latency_begin(NULL) == 0, "nothing begins without a recorder");
    expect(straggler_latency_end(NULL, 0) == STRAGGLER_LATENCY_INVALID, "nothing ends without one");
    expect(straggler_latency_cycle(NULL) == STRAGGLER_LATENCY_INVALID, "no cycle without one");
    expect(straggler_latency_write(latency, "no/such/folder/x.lat") == STRAGGLER_LATENCY_FILE, "folders exist");
    straggler_latency_close(NULL);
}

int main(int count, char **arguments)
{
    straggler_latency *latency = straggler_latency_open("benchmark");
    expect(latency != NULL && count == 2, "it opens");
    straggler_recorder *small = straggler_latency_series(latency, "work", 8, NULL);
    straggler_recorder *large = straggler_latency_series(latency, "work", 64, "log:50ns/1000");
    expect(small != NULL && large != NULL, "two series");
    record(small, 100);
    record(large, 10000);
    mistakes(latency);
    expect(straggler_latency_note(latency, "Written by a benchmark in C.") == STRAGGLER_LATENCY_OK, "a note");
    expect(straggler_latency_write(latency, arguments[1]) == STRAGGLER_LATENCY_OK, "the file is written");
    straggler_latency_close(latency);
    return failures != 0;
}
