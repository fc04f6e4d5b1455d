/* Work that takes a known time: computes for some microseconds by the rank's own clock. */
#ifndef BUSY_H
#define BUSY_H

#include <errno.h>
#include <time.h>

static volatile double busy_result;

static inline double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void compute_for(double microseconds) {
    double end = seconds() + 1e-6 * microseconds, x = 1.0;
    while (seconds() < end)
        for (int i = 0; i < 50; i++) x = x * 1.0000001 + 1e-9;
    busy_result = x;
}

/* The same without using a core, so that many ranks can do it at once. */
static inline void sleep_for(double time) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    long long nanoseconds = until.tv_nsec + (long long)(time * 1e9);
    until.tv_sec += nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {}
}

#endif
