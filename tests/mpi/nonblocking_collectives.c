/* All nonblocking collectives: each alone, all at once with the ranks completing them in different orders, and tests that
 * fail while one rank is late. */
#include "check.h"

enum { BLOCK = 8, OPERATIONS = 17 };

static int *in[OPERATIONS], *out[OPERATIONS];
static int *counts, *places, *byte_places;
static MPI_Datatype *types;

static void start_rooted(MPI_Request *request, int root) {
    MPI_Comm world = MPI_COMM_WORLD;
    CALL(MPI_Ibcast(out[1], BLOCK, MPI_INT, root, world, &request[1]));
    CALL(MPI_Igather(in[2], BLOCK, MPI_INT, out[2], BLOCK, MPI_INT, root, world, &request[2]));
    CALL(MPI_Igatherv(in[3], counts[rank], MPI_INT, out[3], counts, places, MPI_INT, root, world, &request[3]));
    CALL(MPI_Iscatter(in[4], BLOCK, MPI_INT, out[4], BLOCK, MPI_INT, root, world, &request[4]));
    CALL(MPI_Iscatterv(in[5], counts, places, MPI_INT, out[5], counts[rank], MPI_INT, root, world, &request[5]));
    CALL(MPI_Ireduce(in[6], out[6], BLOCK, MPI_INT, MPI_SUM, root, world, &request[6]));
}

static void start_all(MPI_Request *request, int root) {
    MPI_Comm world = MPI_COMM_WORLD;
    CALL(MPI_Ibarrier(world, &request[0]));
    start_rooted(request, root);
    CALL(MPI_Iallgather(in[7], BLOCK, MPI_INT, out[7], BLOCK, MPI_INT, world, &request[7]));
    CALL(MPI_Iallgatherv(in[8], counts[rank], MPI_INT, out[8], counts, places, MPI_INT, world, &request[8]));
    CALL(MPI_Ialltoall(in[9], BLOCK, MPI_INT, out[9], BLOCK, MPI_INT, world, &request[9]));
    CALL(MPI_Iallreduce(in[11], out[11], BLOCK, MPI_INT, MPI_BXOR, world, &request[10]));
    CALL(MPI_Ireduce_scatter_block(in[12], out[12], BLOCK, MPI_INT, MPI_SUM, world, &request[11]));
    CALL(MPI_Ireduce_scatter(in[13], out[13], counts, MPI_INT, MPI_MAX, world, &request[12]));
    CALL(MPI_Iscan(in[14], out[14], BLOCK, MPI_INT, MPI_SUM, world, &request[13]));
    CALL(MPI_Iexscan(in[15], out[15], BLOCK, MPI_INT, MPI_SUM, world, &request[14]));
}

/* The two ranks of a pair send each other equally much; sizes differ between pairs, as only the v and w variants allow. */
static void start_pairs(MPI_Request *request) {
    int *same = malloc((size_t)ranks * sizeof *same);
    for (int i = 0; i < ranks; i++) same[i] = (i + rank) % 3;
    CALL(MPI_Ialltoallv(in[16], same, places, MPI_INT, out[16], same, places, MPI_INT, MPI_COMM_WORLD, &request[15]));
    CALL(MPI_Ialltoallw(in[0], same, byte_places, types, out[0], same, byte_places, types, MPI_COMM_WORLD,
                        &request[16]));
    CALL(MPI_Waitall(2, request + 15, MPI_STATUSES_IGNORE));
    free(same);
}

static void clear(int round) {
    for (int i = 0; i < OPERATIONS; i++) {
        fill(in[i], BLOCK * ranks, rank + 10 * i + round);
        fill(out[i], BLOCK * ranks, rank + i);
    }
}

static void complete(MPI_Request *requests, int way) {
    int index, flag = 0;
    switch (way) {
    case 0: CALL(MPI_Waitall(OPERATIONS, requests, MPI_STATUSES_IGNORE)); break;
    case 1:
        for (int i = 0; i < OPERATIONS; i++)
            CALL(MPI_Wait(&requests[rank % 2 ? i : OPERATIONS - 1 - i], MPI_STATUS_IGNORE));
        break;
    case 2:
        while (!flag) CALL(MPI_Testall(OPERATIONS, requests, &flag, MPI_STATUSES_IGNORE));
        break;
    default:
        for (int i = 0; i < OPERATIONS - 2; i++) CALL(MPI_Waitany(OPERATIONS, requests, &index, MPI_STATUS_IGNORE));
    }
}

static void late_rank(void) {
    MPI_Request request;
    int flag = 0, early = 0, dummy = rank;
    if (rank == ranks - 1) {
        for (int i = 0; i < ranks - 1; i++)
            CALL(MPI_Recv(&dummy, 1, MPI_INT, i, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CALL(MPI_Ibarrier(MPI_COMM_WORLD, &request));
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        CALL(MPI_Ibarrier(MPI_COMM_WORLD, &request));
        for (int i = 0; i < 30; i++) CALL(MPI_Test(&request, &flag, MPI_STATUS_IGNORE)), early += flag;
        CALL(MPI_Send(&dummy, 1, MPI_INT, ranks - 1, 5, MPI_COMM_WORLD));
        while (!flag) CALL(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    }
    say("barrier left early: %d", early);
}

/* A barrier started while messages are in flight: an exchange whose partners are not known in advance. */
static void sparse_exchange(void) {
    MPI_Request send, barrier = MPI_REQUEST_NULL;
    int sum = 0, done = 0, in_barrier = 0, number = rank + 1, other;
    CALL(MPI_Issend(&number, 1, MPI_INT, (rank * 2 + 1) % ranks, 6, MPI_COMM_WORLD, &send));
    while (!done) {
        int flag;
        MPI_Status status;
        CALL(MPI_Iprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &flag, &status));
        if (flag) {
            CALL(MPI_Recv(&other, 1, MPI_INT, status.MPI_SOURCE, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            sum += other * other;
        }
        if (in_barrier) {
            CALL(MPI_Test(&barrier, &done, MPI_STATUS_IGNORE));
        } else {
            CALL(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
            if (flag) CALL(MPI_Ibarrier(MPI_COMM_WORLD, &barrier)), in_barrier = 1;
        }
    }
    say("sparse exchange %d", sum);
}

int main(int argc, char **argv) {
    MPI_Request requests[OPERATIONS];
    begin(&argc, &argv);
    size_t bytes = (size_t)(BLOCK * ranks) * sizeof(int);
    for (int i = 0; i < OPERATIONS; i++) in[i] = malloc(bytes), out[i] = malloc(bytes);
    counts = malloc((size_t)ranks * sizeof(int)), places = malloc((size_t)ranks * sizeof(int));
    byte_places = malloc((size_t)ranks * sizeof(int)), types = malloc((size_t)ranks * sizeof *types);
    for (int i = 0; i < ranks; i++) {
        counts[i] = i % BLOCK, places[i] = BLOCK * i;
        byte_places[i] = places[i] * (int)sizeof(int), types[i] = MPI_INT;
    }
    for (int way = 0; way < 4; way++) {
        clear(way);
        start_all(requests, way % ranks);
        start_pairs(requests);
        complete(requests, way);
        uint64_t sum = 0;
        for (int i = 0; i < OPERATIONS; i++) sum = sum * 31 + checksum(out[i], bytes);
        say("way %d %016llx", way, (unsigned long long)sum);
    }
    late_rank();
    sparse_exchange();
    end();
}
