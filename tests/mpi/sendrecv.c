/* A send and a receive in one call: shifts around a ring, exchanges with MPI_PROC_NULL at the ends of a line, wildcards, the
 * same buffer for both, different types for both. */
#include "check.h"

enum { COUNT = 20000 };

static int out[COUNT], in[COUNT];

int main(int argc, char **argv) {
    MPI_Status status;
    begin(&argc, &argv);
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    int below = rank ? rank - 1 : MPI_PROC_NULL, above = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;

    for (int count = 0; count <= COUNT; count = count ? count * 20000 : 1) {
        fill(out, count, rank);
        CALL(MPI_Sendrecv(out, count, MPI_INT, right, 1, in, COUNT, MPI_INT, left, 1, MPI_COMM_WORLD, &status));
        say_status("around", &status, MPI_INT);
        say_data("around", in, (size_t)count * sizeof *in);
    }
    for (int step = 1; step < ranks; step++) {
        CALL(MPI_Sendrecv(out, 10 * step, MPI_INT, (rank + step) % ranks, 100 + step, in, COUNT, MPI_INT, MPI_ANY_SOURCE,
                          100 + step, MPI_COMM_WORLD, &status));
        say_status("any source", &status, MPI_INT);
    }
    CALL(MPI_Sendrecv(&rank, 1, MPI_INT, above, 2, in, 1, MPI_INT, below, 2, MPI_COMM_WORLD, &status));
    say_status("up the line", &status, MPI_INT);
    CALL(MPI_Sendrecv(&rank, 1, MPI_INT, below, 3, in, 1, MPI_INT, above, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CALL(MPI_Sendrecv(&rank, 1, MPI_INT, rank, 4, in, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &status));
    say_status("oneself", &status, MPI_INT);
    CALL(MPI_Sendrecv(out, 8, MPI_INT, right, 5, in, 32, MPI_BYTE, left, 5, MPI_COMM_WORLD, &status));
    say_status("other type", &status, MPI_BYTE);

    fill(out, COUNT, rank + 7);
    CALL(MPI_Sendrecv_replace(out, COUNT, MPI_INT, right, 6, left, 6, MPI_COMM_WORLD, &status));
    say_status("replaced", &status, MPI_INT);
    say_data("replaced", out, sizeof out);
    CALL(MPI_Barrier(MPI_COMM_WORLD)); /* so that the wildcard matches no other messages */
    CALL(MPI_Sendrecv_replace(out, 100, MPI_INT, left, 7, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    say_status("replaced by anybody", &status, MPI_INT);
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    CALL(MPI_Sendrecv_replace(out, 100, MPI_INT, right, 8, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CALL(MPI_Sendrecv_replace(out, 100, MPI_INT, above, 9, below, 9, MPI_COMM_WORLD, &status));
    say_status("replaced up the line", &status, MPI_INT);
    say_data("in the end", out, sizeof out);
    end();
}
