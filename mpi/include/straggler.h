/* Regions of a program, named for a trace.
 *
 * A program calls these wherever it likes, also before MPI_Init. Without the tracer they do nothing: the functions are
 * weak, so that a program links and runs without anything of straggler's. Names are taken as they are at the call;
 * regions may nest, and each is left under the name it was entered with.
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
