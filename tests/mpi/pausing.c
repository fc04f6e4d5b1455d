/* MPI_Pcontrol(0) pauses the recording, MPI_Pcontrol(1) resumes it: requests that are begun before, in or after a pause and
 * completed in another part, communicators and persistent requests created in a pause, messages taken by a matched probe.
 * Calls that should not be in the tables of the trace are not counted. */
#include "check.h"

static const MPI_Comm world = MPI_COMM_WORLD;
static int right, left;

static void wholly_inside(void) {
    int out = rank, in = -1, sum = 0;
    CALL(MPI_Pcontrol(0));
    MPI_Sendrecv(&out, 1, MPI_INT, right, 2, &in, 1, MPI_INT, left, 2, world, MPI_STATUS_IGNORE);
    MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, world);
    CALL(MPI_Pcontrol(0));
    CALL(MPI_Pcontrol(1));
    say("inside %d %d", in, sum);
}

static void across(void) {
    int out = rank, in = -1, later = -1;
    MPI_Request before[2], inside[2];
    CALL(MPI_Irecv(&in, 1, MPI_INT, left, 3, world, &before[0]));
    CALL(MPI_Isend(&out, 1, MPI_INT, right, 3, world, &before[1]));
    CALL(MPI_Pcontrol(0));
    MPI_Waitall(2, before, MPI_STATUSES_IGNORE);
    MPI_Irecv(&later, 1, MPI_INT, left, 4, world, &inside[0]);
    MPI_Isend(&out, 1, MPI_INT, right, 4, world, &inside[1]);
    CALL(MPI_Pcontrol(1));
    CALL(MPI_Waitall(2, inside, MPI_STATUSES_IGNORE));
    say("across %d %d", in, later);
}

/* One call may choose among requests begun in the pause and after it. */
static void choices(void) {
    int out = rank, in[2] = {-1, -1}, index, sum = 0;
    MPI_Request requests[4];
    CALL(MPI_Pcontrol(0));
    MPI_Irecv(&in[0], 1, MPI_INT, left, 5, world, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, right, 5, world, &requests[1]);
    CALL(MPI_Pcontrol(1));
    CALL(MPI_Irecv(&in[1], 1, MPI_INT, left, 6, world, &requests[2]));
    CALL(MPI_Isend(&out, 1, MPI_INT, right, 6, world, &requests[3]));
    for (int i = 0; i < 4; i++) {
        CALL(MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE));
        sum += index;
    }
    say("chosen %d %d %d", sum, in[0], in[1]);
}

static void prepared(void) {
    int out = rank, in = -1;
    MPI_Request requests[2];
    CALL(MPI_Pcontrol(0));
    MPI_Recv_init(&in, 1, MPI_INT, left, 7, world, &requests[0]);
    MPI_Send_init(&out, 1, MPI_INT, right, 7, world, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    say("prepared %d", in);
    out += 100;
    CALL(MPI_Pcontrol(1));
    CALL(MPI_Startall(2, requests));
    CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    say("started %d", in);
    out += 100;
    CALL(MPI_Startall(2, requests));
    CALL(MPI_Pcontrol(0));
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Startall(2, requests);
    CALL(MPI_Pcontrol(1));
    CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    say("completed %d", in);
    for (int i = 0; i < 2; i++) CALL(MPI_Request_free(&requests[i]));
}

static void communicators(void) {
    int out = rank, sum = 0;
    MPI_Comm half;
    CALL(MPI_Pcontrol(0));
    MPI_Comm_split(world, rank % 2, rank, &half);
    CALL(MPI_Pcontrol(1));
    CALL(MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, half));
    say("half %d", sum);
    CALL(MPI_Pcontrol(0));
    MPI_Comm_free(&half);
    CALL(MPI_Pcontrol(1));
}

static void kept_messages(void) {
    int out = rank, in = -1, later = -1;
    MPI_Message first, second;
    MPI_Request sends[2];
    CALL(MPI_Isend(&out, 1, MPI_INT, right, 8, world, &sends[0]));
    CALL(MPI_Mprobe(left, 8, world, &first, MPI_STATUS_IGNORE));
    CALL(MPI_Pcontrol(0));
    MPI_Mrecv(&in, 1, MPI_INT, &first, MPI_STATUS_IGNORE);
    MPI_Isend(&out, 1, MPI_INT, right, 9, world, &sends[1]);
    MPI_Mprobe(left, 9, world, &second, MPI_STATUS_IGNORE);
    CALL(MPI_Pcontrol(1));
    MPI_Mrecv(&later, 1, MPI_INT, &second, MPI_STATUS_IGNORE);
    CALL(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
    say("kept %d %d", in, later);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    wholly_inside();
    across();
    choices();
    prepared();
    communicators();
    kept_messages();
    CALL(MPI_Barrier(world));
    CALL(MPI_Pcontrol(0));
    MPI_Barrier(world);
    end();
}
