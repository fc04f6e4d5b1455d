/* Every way to create a communicator, and traffic on each that only its members can answer. */
#include "check.h"

/* Gathers all world ranks, and sends a message around the ring. */
static void use(const char *what, MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) {
        say("%s: not in it", what);
        return;
    }
    int here, size, from_left = -1, everybody[64];
    MPI_Comm_rank(comm, &here);
    MPI_Comm_size(comm, &size);
    CALL(MPI_Allgather(&rank, 1, MPI_INT, everybody, 1, MPI_INT, comm));
    CALL(MPI_Sendrecv(&rank, 1, MPI_INT, (here + 1) % size, 3, &from_left, 1, MPI_INT, (here + size - 1) % size, 3, comm,
                      MPI_STATUS_IGNORE));
    say("%s: %d of %d, %d is on the left, %016llx", what, here, size, from_left,
        (unsigned long long)checksum(everybody, (size_t)size * sizeof *everybody));
}

static void use_and_free(const char *what, MPI_Comm comm) {
    use(what, comm);
    if (comm != MPI_COMM_NULL) CALL(MPI_Comm_free(&comm));
}

static void copies(void) {
    MPI_Comm copy, other;
    MPI_Request request;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CALL(MPI_Comm_dup_with_info(copy, MPI_INFO_NULL, &other));
    use_and_free("copy of a copy", other);
    CALL(MPI_Comm_idup(copy, &other, &request));
    use("copy, meanwhile", copy);
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    use_and_free("copy later", other);
    use_and_free("copy", copy);
    CALL(MPI_Comm_dup(MPI_COMM_SELF, &copy));
    use_and_free("copy of oneself", copy);
}

static void splits(void) {
    MPI_Comm part, again, node;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part));
    use("odd and even, backwards", part);
    int here;
    MPI_Comm_rank(part, &here);
    CALL(MPI_Comm_split(part, here == 0 ? MPI_UNDEFINED : 7, 0, &again));
    use_and_free("without the first", again);
    CALL(MPI_Comm_free(&part));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 5, 0, &part));
    use_and_free("everybody", part);
    CALL(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node));
    use_and_free("this node", node);
}

static void groups(void) {
    MPI_Group world, some, others, both;
    MPI_Comm comm;
    int members[2] = {ranks - 1, 0}, range[1][3] = {{0, ranks - 1, 2}};
    CALL(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CALL(MPI_Group_incl(world, 2, members, &some));
    CALL(MPI_Comm_create(MPI_COMM_WORLD, some, &comm));
    use_and_free("the last and the first", comm);
    if (rank == 0 || rank == ranks - 1) {
        CALL(MPI_Comm_create_group(MPI_COMM_WORLD, some, 17, &comm));
        use_and_free("these two alone", comm);
    }
    CALL(MPI_Group_range_incl(world, 1, range, &others));
    CALL(MPI_Group_union(some, others, &both));
    CALL(MPI_Comm_create(MPI_COMM_WORLD, both, &comm));
    use_and_free("a union", comm);
    MPI_Group_free(&both);
    CALL(MPI_Group_difference(world, some, &both));
    CALL(MPI_Comm_create(MPI_COMM_WORLD, both, &comm));
    use_and_free("all but these two", comm);
    MPI_Group_free(&both);
    CALL(MPI_Group_excl(world, 1, members, &both));
    CALL(MPI_Comm_create(MPI_COMM_WORLD, both, &comm));
    use_and_free("all but the last", comm);
    MPI_Group_free(&both);
    MPI_Group_free(&others), MPI_Group_free(&some), MPI_Group_free(&world);
}

/* Collectives between two groups: data goes to the other side. */
static void collectives_between(MPI_Comm between, int upper, int here, int others) {
    int data[64], number = rank, sum = 0;
    CALL(MPI_Barrier(between));
    CALL(MPI_Allgather(&rank, 1, MPI_INT, data, 1, MPI_INT, between));
    say_data("the other side", data, (size_t)others * sizeof *data);
    CALL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, between));
    say("their sum %d", sum);
    int root = upper ? 0 : here == 0 ? MPI_ROOT : MPI_PROC_NULL;
    CALL(MPI_Bcast(&number, 1, MPI_INT, root, between));
    say("from their first %d", number);
    memset(data, 0, sizeof data);
    CALL(MPI_Gather(&rank, 1, MPI_INT, data, 1, MPI_INT, root, between));
    say_data("gathered from them", data, sizeof data);
}

static void between_groups(void) {
    int upper = rank >= ranks / 2, here, others, first = ranks / 2;
    MPI_Comm half, between, merged;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half));
    CALL(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : first, 21, &between));
    MPI_Comm_rank(between, &here);
    MPI_Comm_remote_size(between, &others);
    collectives_between(between, upper, here, others);
    if (here == 0) {
        MPI_Status status;
        int number = -1;
        CALL(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 4, &number, 1, MPI_INT, MPI_ANY_SOURCE, 4, between, &status));
        say("leaders: %d, rank %d there", number, status.MPI_SOURCE);
    }
    CALL(MPI_Intercomm_merge(between, !upper, &merged));
    use_and_free("merged", merged);
    CALL(MPI_Comm_dup(between, &merged));
    CALL(MPI_Barrier(merged));
    CALL(MPI_Comm_free(&merged));
    CALL(MPI_Comm_free(&between));
    CALL(MPI_Comm_disconnect(&half));
}

static void rows_and_columns(void) {
    int shape[2] = {0, 0}, periodic[2] = {0, 0}, keep_row[2] = {0, 1}, keep_column[2] = {1, 0};
    MPI_Comm grid, row, column;
    MPI_Dims_create(ranks, 2, shape);
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periodic, 0, &grid));
    CALL(MPI_Cart_sub(grid, keep_row, &row));
    CALL(MPI_Cart_sub(grid, keep_column, &column));
    use("row", row);
    use("column", column);
    use("grid", grid);
    CALL(MPI_Comm_free(&row));
    CALL(MPI_Comm_free(&column));
    CALL(MPI_Comm_free(&grid));
}

/* Handles are reused after a communicator is freed, so a handle does not identify a communicator. */
static void again_and_again(void) {
    for (int i = 0; i < 8; i++) {
        MPI_Comm part;
        CALL(MPI_Comm_split(MPI_COMM_WORLD, (rank + i) % 3 == 0 ? MPI_UNDEFINED : 0, i % 2 ? rank : -rank, &part));
        use_and_free("again", part);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    copies();
    splits();
    groups();
    between_groups();
    rows_and_columns();
    again_and_again();
    end();
}
