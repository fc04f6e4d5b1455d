/* The communication of NAS BT and SP: faces to six neighbours at once, then a sweep forward and back along each of three
 * directions, in which a stage computes, passes its boundary on and receives the next one; everything is nonblocking.
 *
 * Ranks compute by sleeping, so that up to nine of them on two cores do not disturb each other. The first argument scales
 * all times, the second is the number of iterations. */
#include "busy.h"
#include "check.h"
#include "straggler.h"

enum { NEIGHBOURS = 6, FACE = 4096, BOUNDARY = 1024, STAGES = 3 };

static double scale = 0.05;
static int side = 1;
static double faces[2][NEIGHBOURS][FACE], boundary[2][BOUNDARY];

static void compute(double milliseconds) { sleep_for(milliseconds * scale * 1e-3); }

static void region(const char *name, int enters) {
    count_call(enters ? "straggler_region_enter" : "straggler_region_leave");
    if (enters) STRAGGLER_ENTER(name);
    else STRAGGLER_LEAVE(name);
}

/* The rank at a distance in a direction; the third direction is the diagonal. */
static int neighbour(int direction, int distance) {
    int columns = side, rows = ranks / side, row = rank / side, column = rank % side;
    if (side * rows != ranks) return (rank + distance * (direction + 1) + 4 * ranks) % ranks;
    if (direction != 1) column = (column + distance + columns) % columns;
    if (direction != 0) row = (row + distance + rows) % rows;
    return row * side + column;
}

static void copy_faces(void) {
    MPI_Request requests[2 * NEIGHBOURS];
    region("faces", 1);
    compute(2);
    for (int i = 0; i < NEIGHBOURS; i++)
        CALL(MPI_Irecv(faces[1][i], FACE, MPI_DOUBLE, neighbour(i / 2, i % 2 ? -1 : 1), i, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < NEIGHBOURS; i++)
        CALL(MPI_Isend(faces[0][i], FACE, MPI_DOUBLE, neighbour(i / 2, i % 2 ? 1 : -1), i, MPI_COMM_WORLD,
                       &requests[NEIGHBOURS + i]));
    CALL(MPI_Waitall(2 * NEIGHBOURS, requests, MPI_STATUSES_IGNORE));
    region("faces", 0);
}

static void sweep(int direction, int distance) {
    MPI_Request send = MPI_REQUEST_NULL, receive;
    int to = neighbour(direction, distance), from = neighbour(direction, -distance);
    region("solve", 1);
    for (int stage = 0; stage < STAGES; stage++) {
        compute(3);
        CALL(MPI_Irecv(boundary[1], BOUNDARY, MPI_DOUBLE, from, 10 + direction, MPI_COMM_WORLD, &receive));
        if (stage > 0) CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
        CALL(MPI_Isend(boundary[0], BOUNDARY, MPI_DOUBLE, to, 10 + direction, MPI_COMM_WORLD, &send));
        compute(1 + 0.5 * (rank % 3));
        CALL(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    }
    CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
    region("solve", 0);
}

int main(int argc, char **argv) {
    int iterations = argc > 2 ? atoi(argv[2]) : 3;
    double residual = 1, sum = 0;
    if (argc > 1) scale = atof(argv[1]);
    begin(&argc, &argv);
    while ((side + 1) * (side + 1) <= ranks) side++;
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < iterations; i++) {
        copy_faces();
        for (int direction = 0; direction < 3; direction++) {
            sweep(direction, 1);
            sweep(direction, -1);
        }
    }
    CALL(MPI_Allreduce(&residual, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    say("sum %g", sum);
    end();
    return 0;
}
