/* Every way to complete requests, or to test them without success: one, all, any, some; empty lists, and lists with null
 * and inactive requests; with and without statuses; freed requests and cancelled receives. */
#include "check.h"

enum { MESSAGES = 6 };

static int out[MESSAGES], in[MESSAGES];
static int left, right;
static MPI_Request requests[2 * MESSAGES];
static MPI_Status statuses[2 * MESSAGES];

/* Receives in the first half of the list, sends in the second; every third receive is from MPI_PROC_NULL. */
static void begin_exchange(int round) {
    memset(in, 0, sizeof in);
    for (int i = 0; i < MESSAGES; i++) {
        out[i] = 1000 * rank + 10 * round + i;
        CALL(MPI_Irecv(&in[i], 1, MPI_INT, i % 3 ? left : MPI_PROC_NULL, i, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 0; i < MESSAGES; i++)
        CALL(MPI_Isend(&out[i], 1, MPI_INT, i % 3 ? right : MPI_PROC_NULL, i, MPI_COMM_WORLD, &requests[MESSAGES + i]));
}

static void say_exchange(const char *what) {
    int null = 1;
    for (int i = 0; i < 2 * MESSAGES; i++) null &= requests[i] == MPI_REQUEST_NULL;
    say("%s: all null %d, %d %d %d %d %d %d", what, null, in[0], in[1], in[2], in[3], in[4], in[5]);
}

static void one_by_one(void) {
    begin_exchange(0);
    for (int i = 2 * MESSAGES - 1; i >= 0; i--)
        CALL(MPI_Wait(&requests[i], i % 2 ? &statuses[i] : MPI_STATUS_IGNORE));
    say_status("waited for", &statuses[1], MPI_INT);
    say_exchange("wait");
    begin_exchange(1);
    for (int i = 0; i < 2 * MESSAGES; i++)
        for (int flag = 0; !flag;) CALL(MPI_Test(&requests[i], &flag, i % 2 ? &statuses[i] : MPI_STATUS_IGNORE));
    say_exchange("test");
}

static void all_at_once(void) {
    begin_exchange(2);
    CALL(MPI_Waitall(2 * MESSAGES, requests, statuses));
    for (int i = 0; i < MESSAGES; i++) say_status("waited for", &statuses[i], MPI_INT);
    say_exchange("waitall");
    begin_exchange(3);
    for (int flag = 0; !flag;) CALL(MPI_Testall(2 * MESSAGES, requests, &flag, statuses));
    say_status("tested", &statuses[5], MPI_INT);
    say_exchange("testall");
    begin_exchange(4);
    for (int flag = 0; !flag;) CALL(MPI_Testall(2 * MESSAGES, requests, &flag, MPI_STATUSES_IGNORE));
    say_exchange("testall, statuses ignored");
}

static void any_of_them(void) {
    int index, sum = 0;
    begin_exchange(5);
    for (int i = 0; i < 2 * MESSAGES; i++) {
        CALL(MPI_Waitany(2 * MESSAGES, requests, &index, i % 2 ? &statuses[0] : MPI_STATUS_IGNORE));
        sum += index;
    }
    say("indices %d", sum);
    CALL(MPI_Waitany(2 * MESSAGES, requests, &index, &statuses[0]));
    say("nothing left %d", index == MPI_UNDEFINED);
    say_empty("nothing left", &statuses[0]);
    say_exchange("waitany");
    begin_exchange(6);
    sum = 0;
    for (int done = 0; done < 2 * MESSAGES;) {
        int flag;
        CALL(MPI_Testany(2 * MESSAGES, requests, &index, &flag, done % 2 ? &statuses[0] : MPI_STATUS_IGNORE));
        if (flag) sum += index, done++;
    }
    say("indices %d", sum);
    say_exchange("testany");
}

static void some_of_them(void) {
    int indices[2 * MESSAGES], count, sum = 0;
    begin_exchange(7);
    for (int done = 0; done < 2 * MESSAGES; done += count) {
        CALL(MPI_Waitsome(2 * MESSAGES, requests, &count, indices, statuses));
        for (int i = 0; i < count; i++)
            sum += indices[i] < MESSAGES ? indices[i] * (1 + statuses[i].MPI_TAG) : 0;
    }
    say("indices and tags %d", sum);
    CALL(MPI_Waitsome(2 * MESSAGES, requests, &count, indices, MPI_STATUSES_IGNORE));
    say("nothing left %d", count == MPI_UNDEFINED);
    say_exchange("waitsome");
    begin_exchange(8);
    sum = 0;
    for (int done = 0; done < 2 * MESSAGES; done += count) {
        CALL(MPI_Testsome(2 * MESSAGES, requests, &count, indices, MPI_STATUSES_IGNORE));
        for (int i = 0; i < count; i++) sum += indices[i];
    }
    say("indices %d", sum);
    say_exchange("testsome");
}

/* A rank tests without success while its neighbour waits for a message from it. */
static void in_vain(void) {
    MPI_Request request[2];
    int flag, index, count, indices[2], sum = 0;
    CALL(MPI_Irecv(&in[0], 1, MPI_INT, left, 50, MPI_COMM_WORLD, &request[0]));
    CALL(MPI_Irecv(&in[1], 1, MPI_INT, left, 51, MPI_COMM_WORLD, &request[1]));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 20; i++) {
        CALL(MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE)), sum += flag;
        CALL(MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE)), sum += flag;
        CALL(MPI_Testany(2, request, &index, &flag, MPI_STATUS_IGNORE)), sum += flag;
        CALL(MPI_Testsome(2, request, &count, indices, MPI_STATUSES_IGNORE)), sum += count;
        CALL(MPI_Request_get_status(request[1], &flag, MPI_STATUS_IGNORE)), sum += flag;
    }
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 2; i++) CALL(MPI_Send(&out[i], 1, MPI_INT, right, 50 + i, MPI_COMM_WORLD));
    for (flag = 0; !flag;) CALL(MPI_Request_get_status(request[0], &flag, &statuses[0]));
    say_status("seen, not completed", &statuses[0], MPI_INT);
    CALL(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    say("in vain %d, then %d %d", sum, in[0], in[1]);
}

static void nothing_to_wait_for(void) {
    MPI_Request list[4], idle;
    int flag = 0, index = 0, count = 0, indices[4];
    CALL(MPI_Recv_init(&in[0], 1, MPI_INT, left, 60, MPI_COMM_WORLD, &idle));
    for (int i = 0; i < 4; i++) list[i] = MPI_REQUEST_NULL;
    list[2] = idle;
    CALL(MPI_Wait(&list[2], &statuses[0]));
    say_empty("inactive", &statuses[0]);
    CALL(MPI_Wait(&list[0], &statuses[0]));
    say_empty("null", &statuses[0]);
    CALL(MPI_Waitall(4, list, statuses));
    CALL(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
    CALL(MPI_Testall(4, list, &flag, MPI_STATUSES_IGNORE));
    say("testall %d", flag);
    CALL(MPI_Testall(0, list, &flag, MPI_STATUSES_IGNORE));
    say("testall of none %d", flag);
    CALL(MPI_Testany(4, list, &index, &flag, &statuses[0]));
    say("testany %d %d", flag, index == MPI_UNDEFINED);
    CALL(MPI_Testsome(4, list, &count, indices, statuses));
    say("testsome %d", count == MPI_UNDEFINED);
    CALL(MPI_Waitany(0, list, &index, MPI_STATUS_IGNORE));
    say("waitany of none %d", index == MPI_UNDEFINED);
    CALL(MPI_Test(&list[2], &flag, MPI_STATUS_IGNORE));
    say("test %d, still there %d", flag, list[2] == idle);
    CALL(MPI_Request_free(&idle));
}

/* Real requests between null and inactive ones. */
static void mixed_list(void) {
    MPI_Request list[5];
    int index, numbers[2] = {-1, -1};
    for (int i = 0; i < 5; i++) list[i] = MPI_REQUEST_NULL;
    CALL(MPI_Send_init(&rank, 1, MPI_INT, right, 61, MPI_COMM_WORLD, &list[1]));
    CALL(MPI_Irecv(&numbers[0], 1, MPI_INT, left, 62, MPI_COMM_WORLD, &list[2]));
    CALL(MPI_Isend(&rank, 1, MPI_INT, right, 62, MPI_COMM_WORLD, &list[4]));
    CALL(MPI_Waitany(5, list, &index, MPI_STATUS_IGNORE));
    CALL(MPI_Waitall(5, list, statuses));
    say("mixed %d, inactive one still there %d", numbers[0], list[1] != MPI_REQUEST_NULL);
    CALL(MPI_Request_free(&list[1]));
}

static void given_up_and_cancelled(void) {
    MPI_Request request;
    int cancelled = -1;
    out[0] = rank;
    CALL(MPI_Isend(&out[0], 1, MPI_INT, right, 70, MPI_COMM_WORLD, &request));
    CALL(MPI_Request_free(&request));
    CALL(MPI_Recv(&in[0], 1, MPI_INT, left, 70, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    say("sent and given up: %d, null %d", in[0], request == MPI_REQUEST_NULL);
    CALL(MPI_Irecv(&in[0], 1, MPI_INT, left, 71, MPI_COMM_WORLD, &request));
    CALL(MPI_Cancel(&request));
    CALL(MPI_Wait(&request, &statuses[0]));
    CALL(MPI_Test_cancelled(&statuses[0], &cancelled));
    say("cancelled %d", cancelled);
    CALL(MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 72, MPI_COMM_WORLD, &request));
    CALL(MPI_Cancel(&request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* Cancelled without checking the outcome: a normal receive and a persistent one. */
    CALL(MPI_Irecv(&in[0], 1, MPI_INT, left, 73, MPI_COMM_WORLD, &request));
    CALL(MPI_Cancel(&request));
    CALL(MPI_Request_free(&request));
    CALL(MPI_Recv_init(&in[0], 1, MPI_INT, left, 74, MPI_COMM_WORLD, &request));
    CALL(MPI_Start(&request));
    CALL(MPI_Cancel(&request));
    CALL(MPI_Request_free(&request));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
}

/* A loop that tests for a message, and also tests null requests. */
static void beside_nothing(void) {
    MPI_Request nothing[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int found = 0, flag, count, indices[2];
    if (rank == 0) CALL(MPI_Send(&rank, 1, MPI_INT, ranks - 1, 75, MPI_COMM_WORLD));
    while (rank == ranks - 1 && !found) {
        CALL(MPI_Iprobe(0, 75, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
        CALL(MPI_Testall(2, nothing, &flag, MPI_STATUSES_IGNORE));
        CALL(MPI_Testsome(2, nothing, &count, indices, MPI_STATUSES_IGNORE));
    }
    if (found) {
        CALL(MPI_Recv(&in[0], 1, MPI_INT, 0, 75, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        say("beside nothing %d", in[0]);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    left = (rank + ranks - 1) % ranks;
    right = (rank + 1) % ranks;
    one_by_one();
    all_at_once();
    any_of_them();
    some_of_them();
    in_vain();
    nothing_to_wait_for();
    mixed_list();
    given_up_and_cancelled();
    beside_nothing();
    end();
}
