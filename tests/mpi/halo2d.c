/* halo2d [ITERATIONS [MICROSECONDS [IMBALANCE [SIDE]]]]: Jacobi iteration on a grid with one block per rank. Each iteration
 * exchanges the halo by nonblocking messages and sums the change over all ranks. In addition to the real arithmetic, a rank
 * computes for MICROSECONDS per iteration, and the last rank for IMBALANCE times as long. */
#include "busy.h"
#include "check.h"

static int side = 64; /* of a rank's block; a frame of one cell around it holds the neighbours' cells */
static double *cells, *next;
static MPI_Comm grid;
static int neighbors[4]; /* above, below, left, right */
static MPI_Datatype column;

static double *cell(double *of, int row, int at) { return of + (size_t)row * (size_t)(side + 2) + at; }

static void exchange(void) {
    MPI_Request requests[8];
    double *mine[4] = {cell(cells, 1, 1), cell(cells, side, 1), cell(cells, 1, 1), cell(cells, 1, side)};
    double *theirs[4] = {cell(cells, 0, 1), cell(cells, side + 1, 1), cell(cells, 1, 0), cell(cells, 1, side + 1)};
    for (int i = 0; i < 4; i++) {
        int count = i < 2 ? side : 1;
        MPI_Datatype type = i < 2 ? MPI_DOUBLE : column;
        CALL(MPI_Irecv(theirs[i], count, type, neighbors[i], i ^ 1, grid, &requests[i]));
        CALL(MPI_Isend(mine[i], count, type, neighbors[i], i, grid, &requests[4 + i]));
    }
    CALL(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
}

static double relax(void) {
    double change = 0;
    for (int row = 1; row <= side; row++)
        for (int at = 1; at <= side; at++) {
            double value = 0.25 * (*cell(cells, row - 1, at) + *cell(cells, row + 1, at) + *cell(cells, row, at - 1) +
                                   *cell(cells, row, at + 1));
            double difference = value - *cell(cells, row, at);
            change += difference * difference;
            *cell(next, row, at) = value;
        }
    double *swap = cells;
    cells = next, next = swap;
    return change;
}

static void make_grid(void) {
    int shape[2] = {0, 0}, periodic[2] = {0, 0};
    MPI_Dims_create(ranks, 2, shape);
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periodic, 0, &grid));
    MPI_Cart_shift(grid, 0, 1, &neighbors[0], &neighbors[1]);
    MPI_Cart_shift(grid, 1, 1, &neighbors[2], &neighbors[3]);
    MPI_Type_vector(side, 1, side + 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    size_t all = (size_t)(side + 2) * (size_t)(side + 2);
    cells = calloc(all, sizeof *cells), next = calloc(all, sizeof *next);
    for (int row = 1; row <= side; row++)
        for (int at = 1; at <= side; at++) *cell(cells, row, at) = (row * 7 + at * 3 + rank) % 11;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int iterations = argc > 1 ? atoi(argv[1]) : 20;
    double work = argc > 2 ? atof(argv[2]) : 0, imbalance = argc > 3 ? atof(argv[3]) : 1, change = 0;
    if (argc > 4) side = atoi(argv[4]);
    make_grid();
    for (int i = 0; i < iterations; i++) {
        exchange();
        double here = relax();
        if (work > 0) compute_for(rank == ranks - 1 ? work * imbalance : work);
        CALL(MPI_Allreduce(&here, &change, 1, MPI_DOUBLE, MPI_SUM, grid));
    }
    say("change %.10e", change);
    say_data("cells", cells, (size_t)(side + 2) * (size_t)(side + 2) * sizeof *cells);
    MPI_Type_free(&column);
    CALL(MPI_Comm_free(&grid));
    end();
}
