/* Sends in every mode, blocking and nonblocking, with sizes below and above the rendezvous limit; MPI_PROC_NULL as partner;
 * the rank itself as partner; and more small sends at once than libraries have distinct handles for. */
#include "check.h"

enum { LARGEST = 100000, SMALL_SENDS = 100 };

static int out[LARGEST], in[LARGEST];
static int left, right;

/* A ready send needs its receive posted, and so does a synchronous one in a ring: all modes post receives first. */
static void send_blocking(int mode, int count, int tag) {
    switch (mode) {
    case 0: CALL(MPI_Send(out, count, MPI_INT, right, tag, MPI_COMM_WORLD)); break;
    case 1: CALL(MPI_Bsend(out, count, MPI_INT, right, tag, MPI_COMM_WORLD)); break;
    case 2: CALL(MPI_Ssend(out, count, MPI_INT, right, tag, MPI_COMM_WORLD)); break;
    default: CALL(MPI_Rsend(out, count, MPI_INT, right, tag, MPI_COMM_WORLD)); break;
    }
}

static void send_nonblocking(int mode, int count, int tag) {
    MPI_Request request;
    switch (mode) {
    case 0: CALL(MPI_Isend(out, count, MPI_INT, right, tag, MPI_COMM_WORLD, &request)); break;
    case 1: CALL(MPI_Ibsend(out, count, MPI_INT, right, tag, MPI_COMM_WORLD, &request)); break;
    case 2: CALL(MPI_Issend(out, count, MPI_INT, right, tag, MPI_COMM_WORLD, &request)); break;
    default: CALL(MPI_Irsend(out, count, MPI_INT, right, tag, MPI_COMM_WORLD, &request)); break;
    }
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void around_the_ring(int mode, int blocking, int count) {
    int tag = 100 * mode + 10 * blocking;
    MPI_Request request;
    MPI_Status status;
    fill(out, count, rank + tag);
    memset(in, 0, sizeof in);
    CALL(MPI_Irecv(in, count, MPI_INT, left, tag, MPI_COMM_WORLD, &request));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    if (blocking) send_blocking(mode, count, tag);
    else send_nonblocking(mode, count, tag);
    CALL(MPI_Wait(&request, &status));
    say_status("ring", &status, MPI_INT);
    say_data("ring", in, (size_t)count * sizeof *in);
}

/* Blocking on both sides: a chain that begins and ends at rank 0. */
static void blocking_chain(int count) {
    MPI_Status status;
    fill(out, count, rank);
    if (rank == 0) CALL(MPI_Ssend(out, count, MPI_INT, right, 1, MPI_COMM_WORLD));
    CALL(MPI_Recv(in, count, MPI_INT, left, 1, MPI_COMM_WORLD, &status));
    if (rank != 0) CALL(MPI_Send(in, count, MPI_INT, right, 1, MPI_COMM_WORLD));
    say_status("chain", &status, MPI_INT);
    say_data("chain", in, (size_t)count * sizeof *in);
}

static void with_nobody(void) {
    MPI_Request requests[2];
    MPI_Status statuses[2], status;
    CALL(MPI_Send(out, 5, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD));
    CALL(MPI_Recv(in, 5, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &status));
    say_status("nobody, blocking", &status, MPI_INT);
    CALL(MPI_Isend(out, 5, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_Irecv(in, 5, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]));
    CALL(MPI_Waitall(2, requests, statuses));
    say_status("nobody, nonblocking", &statuses[1], MPI_INT);
    CALL(MPI_Probe(MPI_PROC_NULL, 7, MPI_COMM_WORLD, &status));
    say_status("nobody, probed", &status, MPI_INT);
}

static void with_oneself(void) {
    MPI_Request request;
    MPI_Status status;
    fill(out, 1000, rank + 5);
    CALL(MPI_Isend(out, 1000, MPI_INT, rank, 9, MPI_COMM_WORLD, &request));
    CALL(MPI_Recv(in, 2000, MPI_INT, rank, 9, MPI_COMM_WORLD, &status));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    say_status("oneself", &status, MPI_INT);
    CALL(MPI_Irecv(in, 1, MPI_INT, 0, 10, MPI_COMM_SELF, &request));
    CALL(MPI_Send(&rank, 1, MPI_INT, 0, 10, MPI_COMM_SELF));
    CALL(MPI_Wait(&request, &status));
    say_status("oneself alone", &status, MPI_INT);
}

static void many_small(void) {
    static MPI_Request requests[2 * SMALL_SENDS];
    static MPI_Status statuses[2 * SMALL_SENDS];
    fill(out, SMALL_SENDS, rank);
    for (int i = 0; i < SMALL_SENDS; i++)
        CALL(MPI_Isend(&out[i], 1, MPI_INT, right, i % 7, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < SMALL_SENDS; i++)
        CALL(MPI_Irecv(&in[i], 1, MPI_INT, left, i % 7, MPI_COMM_WORLD, &requests[SMALL_SENDS + i]));
    CALL(MPI_Waitall(2 * SMALL_SENDS, requests, statuses));
    long tags = 0;
    for (int i = 0; i < SMALL_SENDS; i++) tags += statuses[SMALL_SENDS + i].MPI_TAG;
    say("tags %ld", tags);
    say_data("many small", in, SMALL_SENDS * sizeof *in);
}

int main(int argc, char **argv) {
    static const int counts[] = {0, 1, 500, LARGEST};
    static char buffer[LARGEST * sizeof(int) + 16 * MPI_BSEND_OVERHEAD];
    begin(&argc, &argv);
    left = (rank + ranks - 1) % ranks;
    right = (rank + 1) % ranks;
    CALL(MPI_Buffer_attach(buffer, sizeof buffer));
    for (int mode = 0; mode < 4; mode++)
        for (int blocking = 0; blocking < 2; blocking++)
            for (int i = 0; i < 4; i++) around_the_ring(mode, blocking, counts[i]);
    for (int i = 0; i < 4; i++) blocking_chain(counts[i]);
    void *detached;
    int bytes;
    CALL(MPI_Buffer_detach(&detached, &bytes));
    say("buffer back %d %d", detached == buffer, bytes == (int)sizeof buffer);
    with_nobody();
    with_oneself();
    many_small();
    end();
}
