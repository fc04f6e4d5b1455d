/* wavefront [SWEEPS [MICROSECONDS [BLOCKS]]]: sweeps over a grid of ranks from all four corners, as transport codes do: a
 * rank waits for its upstream neighbours, computes for MICROSECONDS, and sends downstream, BLOCKS times per sweep. */
#include "busy.h"
#include "check.h"

enum { EDGE = 100 };

static MPI_Comm grid;

/* Receives from two sides and sends to the other two. */
static void block(int corner, double work, double *edges) {
    int from[2], to[2];
    for (int side = 0; side < 2; side++) {
        MPI_Cart_shift(grid, side, corner >> side & 1 ? -1 : 1, &from[side], &to[side]);
        CALL(MPI_Recv(edges + side * EDGE, EDGE, MPI_DOUBLE, from[side], side, grid, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < EDGE; i++) {
        double mean = 0.5 * (edges[i] + edges[EDGE + i]);
        edges[i] = mean + 0.01 * (rank + i), edges[EDGE + i] = mean - 0.005 * (rank + corner);
    }
    if (work > 0) compute_for(work);
    for (int side = 0; side < 2; side++)
        CALL(MPI_Send(edges + side * EDGE, EDGE, MPI_DOUBLE, to[side], side, grid));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int sweeps = argc > 1 ? atoi(argv[1]) : 2, blocks = argc > 3 ? atoi(argv[3]) : 3;
    double work = argc > 2 ? atof(argv[2]) : 0, edges[2 * EDGE] = {0}, most = 0;
    int shape[2] = {0, 0}, periodic[2] = {0, 0};
    MPI_Dims_create(ranks, 2, shape);
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periodic, 0, &grid));
    for (int sweep = 0; sweep < sweeps; sweep++) {
        for (int corner = 0; corner < 4; corner++)
            for (int i = 0; i < blocks; i++) block(corner, work, edges);
        CALL(MPI_Allreduce(&edges[0], &most, 1, MPI_DOUBLE, MPI_MAX, grid));
    }
    say("most %.10e", most);
    say_data("edges", edges, sizeof edges);
    CALL(MPI_Comm_free(&grid));
    end();
}
