/* All ranks exit without MPI_Finalize, which MPI forbids but programs do. */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv) {
    int sum = 0;
    begin(&argc, &argv);
    for (int i = 0; i < 10; i++) CALL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say("sum %d", sum);
    count_call("MPI_Barrier");
    write_output();
    write_counts(); /* the first rank to exit may get the others killed */
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(4);
}
