/* Calls from known places: AT(...) records the call, its line and the function around it. Each rank writes
 * "FUNCTION CALLER LINE COUNT" for each place to the file sites.RANK in CHECK_DIR, for sites.py. */
#include "check.h"

static struct {
    const char *call, *caller;
    int line;
    long count;
} places[64];

static void note(const char *call, const char *caller, int line) {
    int slot = 0;
    while (places[slot].count && (places[slot].line != line || strcmp(places[slot].call, call))) slot++;
    places[slot].call = call, places[slot].caller = caller, places[slot].line = line, places[slot].count++;
}

#define AT(call) (note(#call, __func__, __LINE__), CALL(call))

static const MPI_Comm world = MPI_COMM_WORLD;

/* A wrapper: the call site is the line in here. */
static __attribute__((noinline)) int sum(int number) {
    int all = 0, code = AT(MPI_Allreduce(&number, &all, 1, MPI_INT, MPI_SUM, world));
    return code == MPI_SUCCESS ? all : -1;
}

static __attribute__((noinline)) int exchange(int rounds) {
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks, in = 0;
    for (int i = 0; i < rounds; i++) {
        MPI_Request requests[2];
        int out = rank + i;
        AT(MPI_Irecv(&in, 1, MPI_INT, left, 1, world, &requests[0]));
        AT(MPI_Isend(&out, 1, MPI_INT, right, 1, world, &requests[1]));
        AT(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    return in;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int out = exchange(3), in = 0;
    say("sum %d", sum(out) + sum(1));
    /* The same function from two places, with data on the stack. */
    AT(MPI_Sendrecv(&out, 1, MPI_INT, rank, 2, &in, 1, MPI_INT, rank, 2, world, MPI_STATUS_IGNORE));
    AT(MPI_Sendrecv(&out, 1, MPI_INT, rank, 3, &in, 1, MPI_INT, rank, 3, world, MPI_STATUS_IGNORE));
    AT(MPI_Barrier(world));
    say("in %d", in);
    FILE *file = check_file("sites");
    for (int slot = 0; file && places[slot].count; slot++)
        fprintf(file, "%.*s %s %d %ld\n", (int)strcspn(places[slot].call, "("), places[slot].call, places[slot].caller,
                places[slot].line, places[slot].count);
    if (file) fclose(file);
    end();
}
