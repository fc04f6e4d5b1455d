/* overhead_p2p [ROUNDS [BYTES]]: ranks 0 and 1 play ping-pong; prints the least and the mean time of a call over ten
 * parts, in nanoseconds. The difference with and without the tracer is its overhead per call. */
#include "busy.h"
#include "check.h"

static void ping_pong(char *data, int bytes, long rounds) {
    for (long i = 0; i < rounds; i++) {
        if (rank == 0) MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    enum { PARTS = 10 };
    double least = 1e30, sum = 0;
    MPI_Init(&argc, &argv);
    find_rank();
    long rounds = argc > 1 ? atol(argv[1]) : 100000;
    int bytes = argc > 2 ? atoi(argv[2]) : 8;
    char *data = calloc((size_t)bytes + 1, 1);
    for (int part = -1; part < PARTS && rank < 2; part++) { /* the first only warms up */
        double start = seconds();
        ping_pong(data, bytes, rounds / PARTS);
        double each = (seconds() - start) * 1e9 / (2.0 * (double)(rounds / PARTS));
        if (part >= 0 && each < least) least = each;
        if (part >= 0) sum += each;
    }
    if (rank == 0) printf("ping-pong of %d bytes: %.1f ns a call at least, %.1f on average\n", bytes, least, sum / PARTS);
    free(data);
    MPI_Finalize();
}
