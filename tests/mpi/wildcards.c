/* Wildcard receives and probes: any source, any tag, with and without a status, after a probe, a matched probe or none.
 * The output does not depend on the order of arrival. */
#include "check.h"

static uint64_t sum;

/* Adds up what was received, so that the order does not matter. */
static void add(int source, int tag, int count, const int *data) {
    sum += (uint64_t)(source + 1) * 1000003u + (uint64_t)tag * 101u + checksum(data, (size_t)count * sizeof *data);
}

static void add_received(MPI_Status *status, const int *data) {
    int count;
    MPI_Get_count(status, MPI_INT, &count);
    add(status->MPI_SOURCE, status->MPI_TAG, count, data);
}

static void say_sum(const char *what) {
    say("%s %016llx", what, (unsigned long long)sum);
    sum = 0;
    CALL(MPI_Barrier(MPI_COMM_WORLD));
}

/* Every rank sends a message to every other rank; sizes and tags identify the sender. */
static MPI_Request *send_to_all(int round) {
    MPI_Request *requests = malloc((size_t)ranks * sizeof *requests);
    for (int to = 0; to < ranks; to++) {
        int *data = malloc(100 * sizeof *data);
        fill(data, 100, rank + round);
        CALL(MPI_Isend(data, 10 + rank, MPI_INT, to, 10 * round + rank, MPI_COMM_WORLD, &requests[to]));
    }
    return requests;
}

static void sent(MPI_Request *requests) {
    CALL(MPI_Waitall(ranks, requests, MPI_STATUSES_IGNORE));
    free(requests);
}

static void plain_receives(void) {
    int data[100];
    MPI_Status status;
    MPI_Request *requests = send_to_all(1);
    for (int i = 0; i < ranks; i++) {
        CALL(MPI_Recv(data, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        add_received(&status, data);
    }
    sent(requests);
    say_sum("any source, any tag");
}

/* Without a status, only the data tells the program who the sender was. */
static void ignored_statuses(void) {
    int data[100];
    MPI_Request receive, *requests = send_to_all(2);
    for (int i = 0; i < ranks; i++) {
        memset(data, 0, sizeof data);
        if (i % 2) {
            CALL(MPI_Recv(data, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            CALL(MPI_Irecv(data, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive));
            CALL(MPI_Wait(&receive, MPI_STATUS_IGNORE));
        }
        add(0, 0, 100, data);
    }
    sent(requests);
    say_sum("statuses ignored");
}

static void nonblocking_receives(void) {
    int(*data)[100] = calloc((size_t)ranks, sizeof *data);
    MPI_Request *receives = malloc((size_t)ranks * sizeof *receives);
    MPI_Status *statuses = malloc((size_t)ranks * sizeof *statuses);
    for (int i = 0; i < ranks; i++)
        CALL(MPI_Irecv(data[i], 100, MPI_INT, MPI_ANY_SOURCE, 30 + i, MPI_COMM_WORLD, &receives[i]));
    MPI_Request *requests = send_to_all(3);
    CALL(MPI_Waitall(ranks, receives, statuses));
    for (int i = 0; i < ranks; i++) add_received(&statuses[i], data[i]);
    for (int i = 0; i < ranks; i++) say("tag %d is of %d", 30 + i, statuses[i].MPI_SOURCE);
    sent(requests);
    say_sum("nonblocking");
    free(data), free(receives), free(statuses);
}

static void probed(void) {
    int data[100];
    MPI_Status status;
    MPI_Request *requests = send_to_all(4);
    for (int i = 0; i < ranks; i++) {
        CALL(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CALL(MPI_Recv(data, 100, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status));
        add_received(&status, data);
    }
    sent(requests);
    say_sum("probed");
}

static void probed_again_and_again(void) {
    int data[100];
    MPI_Status status;
    MPI_Request *requests = send_to_all(5);
    for (int i = 0; i < ranks; i++) {
        int flag = 0;
        while (!flag) CALL(MPI_Iprobe(i, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, i % 2 ? MPI_STATUS_IGNORE : &status));
        CALL(MPI_Recv(data, 100, MPI_INT, i, 50 + i, MPI_COMM_WORLD, &status));
        add_received(&status, data);
    }
    sent(requests);
    int flag = 1;
    CALL(MPI_Iprobe(MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    say("nothing more: %d", flag);
    say_sum("probed again and again");
}

static void kept_by_probe(void) {
    int data[100];
    MPI_Status status;
    MPI_Message message;
    MPI_Request receive, *requests = send_to_all(6);
    for (int i = 0; i < ranks; i++) {
        int flag = 0;
        if (i % 2) CALL(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
        else
            while (!flag) CALL(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status));
        if (i % 3 == 0) {
            CALL(MPI_Imrecv(data, 100, MPI_INT, &message, &receive));
            CALL(MPI_Wait(&receive, &status));
        } else {
            CALL(MPI_Mrecv(data, 100, MPI_INT, &message, &status));
        }
        add_received(&status, data);
    }
    sent(requests);
    CALL(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status));
    say("a message of nobody: %d", message == MPI_MESSAGE_NO_PROC);
    CALL(MPI_Mrecv(data, 100, MPI_INT, &message, MPI_STATUS_IGNORE));
    say_sum("kept by a probe");
}

/* The first message taken by a matched probe is received last. */
static void received_out_of_order(void) {
    int first, second;
    MPI_Message messages[2];
    MPI_Request requests[2];
    int numbers[2] = {rank, rank + 100};
    for (int i = 0; i < 2; i++)
        CALL(MPI_Isend(&numbers[i], 1, MPI_INT, (rank + 1) % ranks, 77, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < 2; i++)
        CALL(MPI_Mprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &messages[i], MPI_STATUS_IGNORE));
    CALL(MPI_Mrecv(&second, 1, MPI_INT, &messages[1], MPI_STATUS_IGNORE));
    CALL(MPI_Mrecv(&first, 1, MPI_INT, &messages[0], MPI_STATUS_IGNORE));
    CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    say("kept first %d, second %d", first, second);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    plain_receives();
    ignored_statuses();
    nonblocking_receives();
    probed();
    probed_again_and_again();
    kept_by_probe();
    received_out_of_order();
    end();
}
