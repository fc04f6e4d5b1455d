/* Rank 1 is killed after some work, without a chance to write anything. */
#include "check.h"
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int sum = 0;
    begin(&argc, &argv);
    for (int i = 0; i < 200; i++) CALL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (rank == 0) {
        say("sum %d", sum);
        write_output();
    }
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1) kill(getpid(), SIGKILL);
    CALL(MPI_Recv(&sum, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return 0;
}
