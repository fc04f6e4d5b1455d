/* overhead_calls [ROUNDS]: tight loops of calls that need no other rank, on each rank alone; prints the least time of a call
 * over ten parts, in nanoseconds. The difference with and without the tracer is its overhead per call. */
#include "busy.h"
#include "check.h"

enum { PARTS = 10, LIST = 8 };

static MPI_Request inactive, null_list[LIST];

static void iprobe(void) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void test_null(void) {
    int flag;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void test_inactive(void) {
    int flag;
    MPI_Test(&inactive, &flag, MPI_STATUS_IGNORE);
}

static void testsome_null(void) {
    int count, indices[LIST];
    MPI_Testsome(LIST, null_list, &count, indices, MPI_STATUSES_IGNORE);
}

static void send_to_nobody(void) { MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF); }

static void to_oneself(void) {
    int out = 1, in;
    MPI_Request requests[2];
    MPI_Irecv(&in, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void allreduce_alone(void) {
    int out = 1, in;
    MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}

static void measure(const char *what, void (*loop)(void), int calls, long rounds) {
    double least = 1e30;
    for (int part = 0; part <= PARTS; part++) {
        double start = seconds();
        for (long i = 0; i < rounds / PARTS; i++) loop();
        double each = (seconds() - start) * 1e9 / ((double)(rounds / PARTS) * calls);
        if (part && each < least) least = each;
    }
    if (rank == 0) printf("%-24s %8.1f ns a call\n", what, least);
}

int main(int argc, char **argv) {
    int number = 0;
    MPI_Init(&argc, &argv);
    find_rank();
    long rounds = argc > 1 ? atol(argv[1]) : 1000000;
    for (int i = 0; i < LIST; i++) null_list[i] = MPI_REQUEST_NULL;
    MPI_Recv_init(&number, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &inactive);
    measure("Iprobe", iprobe, 1, rounds);
    measure("Test, null", test_null, 1, rounds);
    measure("Test, inactive", test_inactive, 1, rounds);
    measure("Testsome, 8 null", testsome_null, 1, rounds);
    measure("Send to nobody", send_to_nobody, 1, rounds);
    measure("Irecv, Isend, Waitall", to_oneself, 3, rounds / 4);
    measure("Allreduce alone", allreduce_alone, 1, rounds / 4);
    MPI_Request_free(&inactive);
    MPI_Finalize();
}
