/* Rank 0 pauses the recording while a message is in flight and rank 1 does not: the trace cannot be replayed as a whole. */
#include "check.h"

int main(int argc, char **argv) {
    int number = 7;
    begin(&argc, &argv);
    if (rank == 0) {
        CALL(MPI_Pcontrol(0));
        MPI_Send(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        CALL(MPI_Pcontrol(1));
    } else if (rank == 1) {
        CALL(MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        say("got %d", number);
    }
    end();
}
