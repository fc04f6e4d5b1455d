/* Features of MPI 4, if the library has them: counts beyond an int, persistent collectives, nonblocking exchanges,
 * partitioned messages, and sessions. With an older library, the program only prints that it is older. */
#include "check.h"

#if MPI_VERSION >= 4
enum { COUNT = 60, PARTS = 3 };

static int out[COUNT], in[COUNT];
static int left, right;

static void large_counts(void) {
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Count got, counts[64];
    MPI_Aint places[64];
    static int everything[64 * COUNT];
    fill(out, COUNT, rank);
    CALL(MPI_Irecv_c(in, COUNT, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_Isend_c(out, COUNT, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]));
    CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    say_data("large, nonblocking", in, sizeof in);
    if (rank == 0) CALL(MPI_Send_c(out, COUNT, MPI_INT, right, 2, MPI_COMM_WORLD));
    CALL(MPI_Recv_c(in, COUNT, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status));
    if (rank != 0) CALL(MPI_Ssend_c(in, COUNT, MPI_INT, right, 2, MPI_COMM_WORLD));
    MPI_Get_count_c(&status, MPI_INT, &got);
    say("from %d, %lld", status.MPI_SOURCE, (long long)got);
    CALL(MPI_Sendrecv_c(out, 5, MPI_INT, right, 3, in, 5, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CALL(MPI_Bcast_c(out, COUNT, MPI_INT, ranks - 1, MPI_COMM_WORLD));
    CALL(MPI_Allreduce_c(out, in, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say_data("large allreduce", in, sizeof in);
    for (int i = 0; i < ranks; i++) counts[i] = i, places[i] = COUNT * i;
    CALL(MPI_Allgatherv_c(in, rank, MPI_INT, everything, counts, places, MPI_INT, MPI_COMM_WORLD));
    say_data("large allgatherv", everything, sizeof everything);
}

static void persistent_collectives(void) {
    MPI_Request requests[3];
    int sum = 0, number = rank, first = rank;
    CALL(MPI_Allreduce_init(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    CALL(MPI_Bcast_init(&first, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    CALL(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]));
    for (int i = 0; i < 4; i++) {
        number = rank * i, first = rank + i;
        CALL(MPI_Startall(3, requests));
        CALL(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
        say("again %d %d", sum, first);
    }
    for (int i = 0; i < 3; i++) CALL(MPI_Request_free(&requests[i]));
}

static void nonblocking_exchanges(void) {
    MPI_Request request;
    MPI_Status status;
    fill(out, COUNT, rank + 1);
    CALL(MPI_Isendrecv(out, COUNT, MPI_INT, right, 4, in, COUNT, MPI_INT, left, 4, MPI_COMM_WORLD, &request));
    CALL(MPI_Wait(&request, &status));
    say_data("exchanged", in, sizeof in);
    CALL(MPI_Isendrecv_replace(out, COUNT, MPI_INT, right, 5, left, 5, MPI_COMM_WORLD, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    say_data("replaced", out, sizeof out);
}

static void in_parts(void) {
    MPI_Request send, receive;
    CALL(MPI_Psend_init(out, PARTS, COUNT / PARTS, MPI_INT, right, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    CALL(MPI_Precv_init(in, PARTS, COUNT / PARTS, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    for (int i = 0; i < 2; i++) {
        fill(out, COUNT, rank + 7 * i);
        CALL(MPI_Start(&receive));
        CALL(MPI_Start(&send));
        CALL(MPI_Pready(1, send));
        CALL(MPI_Pready_range(2, 2, send));
        CALL(MPI_Pready_list(1, (int[]){0}, send));
        for (int arrived = 0; !arrived;) CALL(MPI_Parrived(receive, 0, &arrived));
        CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
        CALL(MPI_Wait(&receive, MPI_STATUS_IGNORE));
        say_data("in parts", in, sizeof in);
    }
    CALL(MPI_Request_free(&send));
    CALL(MPI_Request_free(&receive));
}

/* A session, in addition to MPI_COMM_WORLD. */
static void session(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int sum = 0;
    CALL(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    CALL(MPI_Comm_create_from_group(group, "tests", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CALL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    say("session %d", sum);
    CALL(MPI_Comm_free(&comm));
    MPI_Group_free(&group);
    CALL(MPI_Session_finalize(&session));
}
#endif

int main(int argc, char **argv) {
    begin(&argc, &argv);
#if MPI_VERSION >= 4
    left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    large_counts();
    persistent_collectives();
    nonblocking_exchanges();
    in_parts();
    session();
#else
    say("MPI %d.%d", MPI_VERSION, MPI_SUBVERSION);
#endif
    end();
}
