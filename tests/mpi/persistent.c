/* Persistent requests, started many times: all send modes, receives with wildcards, started one by one and in lists,
 * completed in all ways, and freed in the end. */
#include "check.h"

enum { ROUNDS = 12, COUNT = 64 };

static int out[4][COUNT], in[4][COUNT];
static int left, right;

static void prepare(MPI_Request *requests) {
    CALL(MPI_Recv_init(in[0], COUNT, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_Recv_init(in[1], COUNT, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[1]));
    CALL(MPI_Recv_init(in[2], COUNT, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[2]));
    CALL(MPI_Recv_init(in[3], COUNT, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[3]));
    CALL(MPI_Send_init(out[0], COUNT, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[4]));
    CALL(MPI_Bsend_init(out[1], COUNT, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[5]));
    CALL(MPI_Ssend_init(out[2], COUNT, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[6]));
    CALL(MPI_Rsend_init(out[3], COUNT, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[7]));
}

static void complete(MPI_Request *requests, int round) {
    MPI_Status statuses[8];
    int flag = 0, index;
    switch (round % 4) {
    case 0: CALL(MPI_Waitall(8, requests, statuses)); break;
    case 1:
        while (!flag) CALL(MPI_Testall(8, requests, &flag, statuses));
        break;
    case 2:
        for (int i = 0; i < 8; i++) CALL(MPI_Wait(&requests[i], &statuses[i]));
        break;
    default:
        for (int i = 0; i < 8; i++) CALL(MPI_Waitany(8, requests, &index, &statuses[0]));
        CALL(MPI_Waitany(8, requests, &index, &statuses[0]));
        say("all inactive: %d", index == MPI_UNDEFINED);
        return;
    }
    for (int i = 0; i < 4; i++) say_status("round", &statuses[i], MPI_INT);
}

/* Sends to and receives from MPI_PROC_NULL can be started as well. */
static void nobody(void) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    CALL(MPI_Recv_init(in[0], 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_Send_init(out[0], 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]));
    for (int i = 0; i < 3; i++) {
        CALL(MPI_Startall(2, requests));
        CALL(MPI_Waitall(2, requests, statuses));
        say_status("prepared for nobody", &statuses[0], MPI_INT);
    }
    for (int i = 0; i < 2; i++) CALL(MPI_Request_free(&requests[i]));
}

int main(int argc, char **argv) {
    MPI_Request requests[8];
    static char buffer[COUNT * sizeof(int) * 4 + 8 * MPI_BSEND_OVERHEAD];
    begin(&argc, &argv);
    left = (rank + ranks - 1) % ranks;
    right = (rank + 1) % ranks;
    CALL(MPI_Buffer_attach(buffer, sizeof buffer));
    prepare(requests);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 4; i++) fill(out[i], COUNT, 100 * round + 10 * i + rank);
        if (round % 2) CALL(MPI_Startall(4, requests));
        else
            for (int i = 3; i >= 0; i--) CALL(MPI_Start(&requests[i]));
        CALL(MPI_Barrier(MPI_COMM_WORLD));
        CALL(MPI_Startall(3, requests + 4));
        CALL(MPI_Start(&requests[7]));
        complete(requests, round);
        say_data("round", in, sizeof in);
    }
    for (int i = 0; i < 8; i++) CALL(MPI_Request_free(&requests[i]));
    void *detached;
    int bytes;
    CALL(MPI_Buffer_detach(&detached, &bytes));
    nobody();
    end();
}
