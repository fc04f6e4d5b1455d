/* Calls that fail, with errors returned: each must fail as it would without the tracer, and later calls must still work. */
#include "check.h"

static int left, right;

static void wrong_arguments(void) {
    int number = 0, index;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm;
    say_error("send to nowhere", CALL(MPI_Send(&number, 1, MPI_INT, ranks, 0, MPI_COMM_WORLD)));
    say_error("send with a negative tag", CALL(MPI_Send(&number, 1, MPI_INT, right, -5, MPI_COMM_WORLD)));
    say_error("send of less than nothing", CALL(MPI_Send(&number, -1, MPI_INT, right, 0, MPI_COMM_WORLD)));
    say_error("send on no communicator", CALL(MPI_Send(&number, 1, MPI_INT, right, 0, MPI_COMM_NULL)));
    say_error("isend to nowhere", CALL(MPI_Isend(&number, 1, MPI_INT, -10, 0, MPI_COMM_WORLD, &request)));
    say_error("recv from nowhere", CALL(MPI_Recv(&number, 1, MPI_INT, ranks + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)));
    say_error("bcast from nowhere", CALL(MPI_Bcast(&number, 1, MPI_INT, ranks, MPI_COMM_WORLD)));
    say_error("no type", CALL(MPI_Send(&number, 1, MPI_DATATYPE_NULL, right, 0, MPI_COMM_WORLD)));
    say_error("dup of nothing", CALL(MPI_Comm_dup(MPI_COMM_NULL, &comm)));
    say_error("wait for less than nothing", CALL(MPI_Waitany(-1, &request, &index, MPI_STATUS_IGNORE)));
}

static void too_long(void) {
    int numbers[10] = {0}, room[2];
    MPI_Status status;
    MPI_Request request;
    CALL(MPI_Isend(numbers, 10, MPI_INT, right, 1, MPI_COMM_WORLD, &request));
    say_error("too long", CALL(MPI_Recv(room, 2, MPI_INT, left, 1, MPI_COMM_WORLD, &status)));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CALL(MPI_Isend(numbers, 10, MPI_INT, right, 2, MPI_COMM_WORLD, &request));
    say_error("too long, nobody asks", CALL(MPI_Recv(room, 2, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* One of three requests fails: the call reports MPI_ERR_IN_STATUS, and the statuses say which one. */
static void error_in_status(int with_statuses) {
    int numbers[10] = {0}, room[2], good = -1;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    CALL(MPI_Irecv(room, 2, MPI_INT, left, 3, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_Irecv(&good, 1, MPI_INT, left, 4, MPI_COMM_WORLD, &requests[1]));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    CALL(MPI_Send(&rank, 1, MPI_INT, right, 4, MPI_COMM_WORLD));
    CALL(MPI_Isend(numbers, 10, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[2]));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    int code = CALL(MPI_Waitall(3, requests, with_statuses ? statuses : MPI_STATUSES_IGNORE));
    if (with_statuses) {
        say_error("a list with an error", code);
        if (code == MPI_ERR_IN_STATUS) say_error("the one", statuses[0].MPI_ERROR);
    } else {
        say("a list with an error fails: %d", code != MPI_SUCCESS);
    }
    for (int i = 0; i < 3; i++)
        if (requests[i] != MPI_REQUEST_NULL) CALL(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    say("the good one %d", good);
}

/* Errors of a communicator go to its own handler. */
static void own_handler(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    say_error("handled", *code);
}

static void handlers(void) {
    MPI_Errhandler handler;
    MPI_Comm copy;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    MPI_Comm_create_errhandler(own_handler, &handler);
    MPI_Comm_set_errhandler(copy, handler);
    CALL(MPI_Send(&rank, 1, MPI_INT, ranks, 0, copy));
    CALL(MPI_Comm_free(&copy));
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    wrong_arguments();
    too_long();
    error_in_status(1);
    error_in_status(0);
    handlers();
    end();
}
