/* Receives with larger buffers than their messages, completed in every way: the trace must have the actual lengths. All
 * ranks together receive as much as they send. */
#include "check.h"

enum { ROOM = 1000 };

static const MPI_Comm world = MPI_COMM_WORLD;
static int right, left, in[4][ROOM], out[ROOM];

static void blocking(void) {
    MPI_Request send;
    MPI_Message message;
    MPI_Status status;
    CALL(MPI_Isend(out, 3, MPI_INT, right, 1, world, &send));
    CALL(MPI_Recv(in[0], ROOM, MPI_INT, left, 1, world, MPI_STATUS_IGNORE));
    CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CALL(MPI_Isend(out, 5, MPI_INT, right, 2, world, &send));
    CALL(MPI_Recv(in[0], ROOM, MPI_INT, MPI_ANY_SOURCE, 2, world, &status));
    say_status("received", &status, MPI_INT);
    CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CALL(MPI_Sendrecv(out, 7, MPI_INT, right, 3, in[0], ROOM, MPI_INT, left, 3, world, MPI_STATUS_IGNORE));
    CALL(MPI_Isend(out, 9, MPI_INT, right, 4, world, &send));
    CALL(MPI_Mprobe(left, 4, world, &message, MPI_STATUS_IGNORE));
    CALL(MPI_Mrecv(in[0], ROOM, MPI_INT, &message, MPI_STATUS_IGNORE));
    CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

static void post(int tag, int receives, MPI_Request *requests) {
    for (int i = 0; i < receives; i++)
        CALL(MPI_Irecv(in[i], ROOM - i, MPI_INT, left, tag + i, world, &requests[i]));
    for (int i = 0; i < receives; i++)
        CALL(MPI_Isend(out, 10 * tag + i, MPI_INT, right, tag + i, world, &requests[receives + i]));
}

static void nonblocking(void) {
    MPI_Request requests[8];
    MPI_Status statuses[8];
    int index, count, indices[8];
    post(10, 1, requests);
    CALL(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CALL(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    post(20, 4, requests);
    CALL(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
    post(30, 4, requests);
    CALL(MPI_Waitall(8, requests, statuses));
    for (int i = 0; i < 4; i++) say_status("waited for", &statuses[i], MPI_INT);
    post(40, 4, requests);
    for (int i = 0; i < 8; i++) CALL(MPI_Waitany(8, requests, &index, MPI_STATUS_IGNORE));
    post(50, 4, requests);
    for (int done = 0; done < 8; done += count)
        CALL(MPI_Waitsome(8, requests, &count, indices, MPI_STATUSES_IGNORE));
    /* No message at all. */
    CALL(MPI_Irecv(in[0], ROOM, MPI_INT, MPI_PROC_NULL, 1, world, &requests[0]));
    CALL(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}

static void persistent(void) {
    MPI_Request receive, send;
    CALL(MPI_Recv_init(in[0], ROOM, MPI_INT, left, 60, world, &receive));
    for (int i = 0; i < 3; i++) {
        CALL(MPI_Start(&receive));
        CALL(MPI_Isend(out, 100 * i, MPI_INT, right, 60, world, &send));
        CALL(MPI_Wait(&receive, MPI_STATUS_IGNORE));
        CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
    }
    CALL(MPI_Request_free(&receive));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    blocking();
    nonblocking();
    persistent();
    end();
}
