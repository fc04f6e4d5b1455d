/* Neighbourhood collectives on the three kinds of topologies, blocking and nonblocking: a periodic and an open grid, a
 * graph that all ranks know, and a directed graph of which each rank knows only its own edges. */
#include "check.h"

enum { MOST = 32, BLOCK = 4 };

static int out[MOST * BLOCK], in[MOST * BLOCK];

static void reset(void) {
    fill(out, MOST * BLOCK, rank);
    memset(in, 0, sizeof in);
}

static void say_received(const char *kind, const char *what) {
    say("%s %s %016llx", kind, what, (unsigned long long)checksum(in, sizeof in));
    reset();
}

/* `from` and `to`: numbers of neighbours. */
static void exchange(const char *kind, MPI_Comm comm, int from, int to) {
    int one[MOST], out_at[MOST], in_at[MOST];
    MPI_Aint byte_at[MOST];
    MPI_Datatype types[MOST];
    MPI_Request requests[5];
    for (int i = 0; i < MOST; i++) {
        one[i] = 1, out_at[i] = BLOCK * i, in_at[i] = BLOCK * i + 1;
        byte_at[i] = (MPI_Aint)(BLOCK * (size_t)i * sizeof(int)), types[i] = MPI_INT;
    }
    say("%s has %d before and %d after", kind, from, to);
    reset();
    CALL(MPI_Neighbor_allgather(out, BLOCK, MPI_INT, in, BLOCK, MPI_INT, comm));
    say_received(kind, "allgather");
    CALL(MPI_Neighbor_allgatherv(out, 1, MPI_INT, in, one, in_at, MPI_INT, comm));
    say_received(kind, "allgatherv");
    CALL(MPI_Neighbor_alltoall(out, BLOCK, MPI_INT, in, BLOCK, MPI_INT, comm));
    say_received(kind, "alltoall");
    CALL(MPI_Neighbor_alltoallv(out, one, out_at, MPI_INT, in, one, in_at, MPI_INT, comm));
    say_received(kind, "alltoallv");
    CALL(MPI_Neighbor_alltoallw(out, one, byte_at, types, in, one, byte_at, types, comm));
    say_received(kind, "alltoallw");

    CALL(MPI_Ineighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, comm, &requests[0]));
    CALL(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    say_received(kind, "allgather, nonblocking");
    CALL(MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm, &requests[0]));
    CALL(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    say_received(kind, "alltoall, nonblocking");
    CALL(MPI_Ineighbor_allgatherv(out, 1, MPI_INT, in, one, in_at, MPI_INT, comm, &requests[0]));
    CALL(MPI_Ineighbor_alltoallv(out, one, out_at, MPI_INT, in + 1, one, in_at, MPI_INT, comm, &requests[1]));
    CALL(MPI_Ineighbor_alltoallw(out, one, byte_at, types, in, one, byte_at, types, comm, &requests[2]));
    CALL(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    say_received(kind, "three at once");
}

static void grids(void) {
    MPI_Comm grid;
    int shape[2] = {0, 0}, ring[1] = {ranks}, periodic[2] = {1, 0}, open[1] = {0}, before, after;
    MPI_Dims_create(ranks, 2, shape);
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periodic, 0, &grid));
    MPI_Cart_shift(grid, 1, 1, &before, &after);
    say("beside: %d %d", before == MPI_PROC_NULL, after == MPI_PROC_NULL);
    if (shape[0] > 2) exchange("grid", grid, 4, 4); /* libraries differ where both neighbours are the same rank */
    CALL(MPI_Comm_free(&grid));
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 1, ring, open, 1, &grid));
    exchange("line", grid, 2, 2);
    CALL(MPI_Comm_free(&grid));
}

/* Rank 0 is a neighbour of all other ranks, and they of rank 0. */
static void star(void) {
    int ends[64], edges[128], count = 0;
    MPI_Comm graph;
    for (int i = 1; i < ranks; i++) edges[count++] = i;
    ends[0] = count;
    for (int i = 1; i < ranks; i++) {
        edges[count++] = 0;
        ends[i] = count;
    }
    CALL(MPI_Graph_create(MPI_COMM_WORLD, ranks, ends, edges, 0, &graph));
    int neighbors;
    MPI_Graph_neighbors_count(graph, rank, &neighbors);
    exchange("star", graph, neighbors, neighbors);
    CALL(MPI_Comm_free(&graph));
}

/* Every rank sends to the next two ranks; with two ranks, one of these is itself. */
static void directed(void) {
    int sources[2] = {(rank + ranks - 1) % ranks, (rank + 2 * ranks - 2) % ranks};
    int targets[2] = {(rank + 1) % ranks, (rank + 2) % ranks};
    MPI_Comm graph;
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, targets, MPI_UNWEIGHTED,
                                        MPI_INFO_NULL, 0, &graph));
    exchange("adjacent", graph, 2, 2);
    CALL(MPI_Comm_free(&graph));
    int degree = 1;
    CALL(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    exchange("circle", graph, 1, 1);
    CALL(MPI_Comm_free(&graph));
    degree = rank ? 0 : 1;
    CALL(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    exchange("one edge", graph, rank == 1, rank == 0);
    CALL(MPI_Comm_free(&graph));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    grids();
    star();
    directed();
    end();
}
