/* The last rank aborts after some work: the tracer must not change the launcher's exit code. */
#include "check.h"

int main(int argc, char **argv) {
    int sum = 0;
    begin(&argc, &argv);
    for (int i = 0; i < 10; i++) CALL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (rank == 0) {
        say("sum %d", sum);
        write_output();
    }
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == ranks - 1) {
        write_counts();
        CALL(MPI_Abort(MPI_COMM_WORLD, 3));
    }
    CALL(MPI_Recv(&sum, 1, MPI_INT, ranks - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return 0;
}
