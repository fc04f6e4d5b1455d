/* Böhme, Hermanns, Geimer and Wolf 2010, figure 4: rank 0 takes messages with MPI_Waitany as they arrive, and works on each.
 *
 * In `foo` higher ranks take longer, in `bar` less, and foo dominates: messages arrive in the order of ranks. If foo
 * takes the same time everywhere (argument `balanced`), bar dominates and they arrive in reverse order. A replay in the
 * recorded order then waits for the last message first.
 *
 * Ranks compute by sleeping, so that four of them on two cores do not disturb each other. The first argument scales all
 * times; 1 is a quarter of a second for the work on a message. */
#include "busy.h"
#include "check.h"
#include "straggler.h"

enum { KNOWN = 4 };

/* Seconds at scale 1. The mean of foo is 3.3917. */
static const double foo[KNOWN] = {1.5417, 3.0083, 4.0083, 5.0083};
static const double bar[KNOWN] = {0.5, 2.5, 2.0, 1.5};
static const double work = 0.25;

static double scale = 0.01;

static double mean(const double *times) {
    double sum = 0;
    for (int i = 0; i < KNOWN; i++) sum += times[i];
    return sum / KNOWN;
}

static void region(const char *name, double time) {
    count_call("straggler_region_enter");
    STRAGGLER_ENTER(name);
    sleep_for(time * scale);
    count_call("straggler_region_leave");
    STRAGGLER_LEAVE(name);
}

static void master(void) {
    int others = ranks - 1, index = 0, sum = 0;
    int *received = calloc((size_t)others + 1, sizeof *received);
    MPI_Request *requests = calloc((size_t)others + 1, sizeof *requests);
    for (int i = 0; i < others; i++)
        CALL(MPI_Irecv(&received[i], 1, MPI_INT, i + 1, 0, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < others; i++) {
        CALL(MPI_Waitany(others, requests, &index, MPI_STATUS_IGNORE));
        sum += received[index];
        region("work", work);
    }
    say("sum %d", sum);
    free(requests);
    free(received);
}

int main(int argc, char **argv) {
    int balanced = argc > 2 && strcmp(argv[2], "balanced") == 0;
    if (argc > 1) scale = atof(argv[1]);
    begin(&argc, &argv);
    int own = rank % KNOWN;
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    region("foo", balanced ? mean(foo) : foo[own]);
    region("bar", bar[own]);
    if (rank == 0)
        master();
    else
        CALL(MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    end();
    return 0;
}
