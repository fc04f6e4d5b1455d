/* All blocking collectives: every root, in place, blocks of different sizes including empty ones, derived types, and a
 * user-defined operation that does not commute. */
#include "check.h"

enum { BLOCK = 50 };

static int *mine, *all; /* room for a block of every rank */
static int *counts, *places;
static size_t room;

static void clear(void) {
    fill(mine, BLOCK * ranks, rank);
    memset(all, 0, room);
}

/* Rank i has i blocks of 3, so rank 0 has nothing. */
static void set_counts(void) {
    for (int i = 0, at = 0; i < ranks; i++) {
        counts[i] = 3 * i;
        places[i] = at;
        at += counts[i];
    }
}

static void rooted(int root) {
    clear();
    CALL(MPI_Bcast(mine, BLOCK, MPI_INT, root, MPI_COMM_WORLD));
    say_data("bcast", mine, room);
    CALL(MPI_Gather(mine, BLOCK, MPI_INT, all, BLOCK, MPI_INT, root, MPI_COMM_WORLD));
    say_data("gather", all, room);
    clear();
    CALL(MPI_Scatter(mine, BLOCK, MPI_INT, all, BLOCK, MPI_INT, root, MPI_COMM_WORLD));
    CALL(MPI_Reduce(mine, all + BLOCK, BLOCK, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
    say_data("scatter, reduce", all, room);
    clear();
    CALL(MPI_Gatherv(mine, counts[rank], MPI_INT, all, counts, places, MPI_INT, root, MPI_COMM_WORLD));
    say_data("gatherv", all, room);
    clear();
    CALL(MPI_Scatterv(mine, counts, places, MPI_INT, all, counts[rank], MPI_INT, root, MPI_COMM_WORLD));
    say_data("scatterv", all, room);
}

static void rooted_in_place(int root) {
    clear();
    int *block = mine + BLOCK * rank;
    if (rank == root) {
        CALL(MPI_Gather(MPI_IN_PLACE, 0, MPI_INT, mine, BLOCK, MPI_INT, root, MPI_COMM_WORLD));
        CALL(MPI_Scatter(mine, BLOCK, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, root, MPI_COMM_WORLD));
        CALL(MPI_Reduce(MPI_IN_PLACE, mine, BLOCK, MPI_INT, MPI_BXOR, root, MPI_COMM_WORLD));
    } else {
        CALL(MPI_Gather(block, BLOCK, MPI_INT, NULL, 0, MPI_INT, root, MPI_COMM_WORLD));
        CALL(MPI_Scatter(NULL, 0, MPI_INT, block, BLOCK, MPI_INT, root, MPI_COMM_WORLD));
        CALL(MPI_Reduce(mine, NULL, BLOCK, MPI_INT, MPI_BXOR, root, MPI_COMM_WORLD));
    }
    say_data("in place", mine, room);
}

static void unrooted(void) {
    clear();
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    CALL(MPI_Allgather(mine, BLOCK, MPI_INT, all, BLOCK, MPI_INT, MPI_COMM_WORLD));
    say_data("allgather", all, room);
    CALL(MPI_Alltoall(mine, BLOCK, MPI_INT, all, BLOCK, MPI_INT, MPI_COMM_WORLD));
    say_data("alltoall", all, room);
    CALL(MPI_Allreduce(mine, all, BLOCK, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    say_data("allreduce", all, room);
    CALL(MPI_Scan(mine, all, BLOCK, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say_data("scan", all, room);
    CALL(MPI_Exscan(mine, all, BLOCK, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say_data("exscan", all, room);
    CALL(MPI_Reduce_scatter_block(mine, all, BLOCK, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    say_data("reduce_scatter_block", all, room);
    clear();
    CALL(MPI_Reduce_scatter(mine, all, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say_data("reduce_scatter", all, room);
    CALL(MPI_Allgatherv(mine, counts[rank], MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD));
    say_data("allgatherv", all, room);
}

/* Rank i sends (i + j) % 3 numbers to rank j: some pairs exchange nothing. */
static void between_pairs(void) {
    int *sent = malloc(4 * (size_t)ranks * sizeof *sent);
    int *sent_at = sent + ranks, *received = sent + 2 * ranks, *received_at = sent + 3 * ranks;
    MPI_Datatype *types = malloc((size_t)ranks * sizeof *types);
    clear();
    for (int i = 0; i < ranks; i++) {
        sent[i] = received[i] = (i + rank) % 3;
        sent_at[i] = received_at[i] = BLOCK * i;
        types[i] = MPI_INT;
    }
    CALL(MPI_Alltoallv(mine, sent, sent_at, MPI_INT, all, received, received_at, MPI_INT, MPI_COMM_WORLD));
    say_data("alltoallv", all, room);
    for (int i = 0; i < ranks; i++) sent_at[i] = received_at[i] = BLOCK * i * (int)sizeof(int);
    clear();
    CALL(MPI_Alltoallw(mine, sent, sent_at, types, all, received, received_at, types, MPI_COMM_WORLD));
    say_data("alltoallw", all, room);
    free(sent), free(types);
}

static void in_place(void) {
    clear();
    CALL(MPI_Allreduce(MPI_IN_PLACE, mine, BLOCK, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CALL(MPI_Scan(MPI_IN_PLACE, mine, BLOCK, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CALL(MPI_Exscan(MPI_IN_PLACE, mine, BLOCK, MPI_INT, MPI_BXOR, MPI_COMM_WORLD));
    CALL(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, mine, BLOCK, MPI_INT, MPI_COMM_WORLD));
    say_data("all in place", mine, room);
    CALL(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, mine, BLOCK, MPI_INT, MPI_COMM_WORLD));
    CALL(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, mine, counts, places, MPI_INT, MPI_COMM_WORLD));
    CALL(MPI_Reduce_scatter_block(MPI_IN_PLACE, mine, BLOCK, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say_data("blocks in place", mine, BLOCK * sizeof(int));
}

/* Columns of a matrix are sent and arrive as rows. */
static void derived_types(void) {
    MPI_Datatype column, narrow;
    clear();
    MPI_Type_vector(5, 1, 10, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &narrow);
    MPI_Type_commit(&narrow);
    CALL(MPI_Allgather(mine, 1, narrow, all, 5, MPI_INT, MPI_COMM_WORLD));
    say_data("columns", all, room);
    CALL(MPI_Bcast(mine, 2, narrow, ranks - 1, MPI_COMM_WORLD));
    say_data("two columns", mine, room);
    MPI_Type_free(&column);
    MPI_Type_free(&narrow);
}

/* The composition of x -> a x + b modulo 2^32: associative, not commutative. */
static void compose(void *first, void *second, int *count, MPI_Datatype *type) {
    unsigned *f = first, *g = second;
    (void)type;
    for (int i = 0; i < *count; i++, f += 2, g += 2) {
        unsigned a = f[0] * g[0], b = f[1] * g[0] + g[1];
        g[0] = a, g[1] = b;
    }
}

static void own_operation(void) {
    MPI_Datatype pair;
    MPI_Op operation;
    clear();
    MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &operation);
    CALL(MPI_Allreduce(mine, all, BLOCK / 2, pair, operation, MPI_COMM_WORLD));
    say_data("composed", all, room);
    CALL(MPI_Reduce(mine, all, BLOCK / 2, pair, operation, ranks / 2, MPI_COMM_WORLD));
    CALL(MPI_Scan(mine, all, BLOCK / 2, pair, operation, MPI_COMM_WORLD));
    say_data("composed so far", all, room);
    MPI_Op_free(&operation);
    MPI_Type_free(&pair);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    room = (size_t)(BLOCK * ranks) * sizeof(int);
    mine = malloc(room), all = malloc(room);
    counts = malloc((size_t)ranks * sizeof(int)), places = malloc((size_t)ranks * sizeof(int));
    set_counts();
    for (int root = 0; root < ranks; root++) {
        rooted(root);
        rooted_in_place(root);
    }
    unrooted();
    between_pairs();
    in_place();
    derived_types();
    own_operation();
    CALL(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    end();
    free(mine), free(all), free(counts), free(places);
}
