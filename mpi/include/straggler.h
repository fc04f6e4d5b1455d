/* Regions of a program, named for a trace.
 *
 * A program may call these anywhere, even before MPI_Init. Without the tracer they do nothing: the functions are weak,
 * so a program links and runs without any part of straggler. Names are copied during the call; regions may nest, and
 * each is left under the name with which it was entered.
 */
#ifndef STRAGGLER_H
#define STRAGGLER_H

#ifdef __cplusplus
extern "C" {
#endif

void straggler_region_enter(const char *name) __attribute__((weak));
void straggler_region_leave(const char *name) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#define STRAGGLER_ENTER(name) (straggler_region_enter ? straggler_region_enter(name) : (void)0)
#define STRAGGLER_LEAVE(name) (straggler_region_leave ? straggler_region_leave(name) : (void)0)

#endif
