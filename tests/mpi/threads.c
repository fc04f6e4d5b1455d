/* Several threads of each rank in MPI at once: each with its own messages on the common communicator, distinguished by
 * tags, and with its own communicator for collectives. Then many short threads in succession, one message each. */
#include "check.h"

enum { THREADS = 3, ROUNDS = 10, COUNT = 32, GENERATIONS = 20 };

struct Work {
    int number;
    MPI_Comm comm;
    uint64_t sum;
};

/* Sends messages around the ring and waits for them in one way or the other. */
static void exchange(struct Work *work, int round) {
    int out[COUNT], in[COUNT], tag = 100 * work->number + round, flag = 0;
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    MPI_Request requests[2];
    fill(out, COUNT, tag + rank);
    CALL(MPI_Irecv(in, COUNT, MPI_INT, round % 2 ? left : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_Isend(out, COUNT, MPI_INT, right, tag, MPI_COMM_WORLD, &requests[1]));
    if (round % 3) CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    else
        while (!flag) CALL(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
    work->sum = work->sum * 31 + checksum(in, sizeof in);
}

static void *work(void *argument) {
    struct Work *work = argument;
    for (int round = 0; round < ROUNDS; round++) {
        int sum = 0;
        exchange(work, round);
        CALL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, work->comm));
        work->sum += (uint64_t)sum;
    }
    CALL(MPI_Barrier(work->comm));
    return NULL;
}

static void *short_life(void *argument) {
    struct Work *work = argument;
    exchange(work, 1);
    return NULL;
}

static void generations(struct Work *works) {
    pthread_t threads[THREADS];
    for (int i = 0; i < GENERATIONS * THREADS; i++) {
        if (i >= THREADS) pthread_join(threads[i % THREADS], NULL);
        pthread_create(&threads[i % THREADS], NULL, short_life, &works[i % THREADS]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[THREADS];
    struct Work works[THREADS];
    CALL(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    find_rank();
    say("threads %d", provided == MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++) {
        works[i] = (struct Work){.number = i};
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &works[i].comm));
    }
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, &works[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    generations(works);
    for (int i = 0; i < THREADS; i++) {
        say("thread %d %016llx", i, (unsigned long long)works[i].sum);
        CALL(MPI_Comm_free(&works[i].comm));
    }
    end();
}
