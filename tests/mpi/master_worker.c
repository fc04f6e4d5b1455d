/* master_worker [TASKS [MICROSECONDS]]: rank 0 hands out tasks to whoever asks next; a task takes between 0.5
 * and 1.5 times MICROSECONDS. Half of the tasks are handed out with wildcard receives, the rest with a posted receive per worker
 * and MPI_Waitany. Which worker does which task differs from run to run; the sum of the results does not. */
#include "busy.h"
#include "check.h"

enum { TASK = 1, RESULT = 2, STOP = 3 };

static uint64_t solve(int task, double work) {
    int numbers[16];
    fill(numbers, 16, task);
    if (work > 0) compute_for(work * (0.5 + (double)((unsigned)numbers[0] % 100) / 100));
    return checksum(numbers, sizeof numbers);
}

static void worker(double work) {
    int task;
    MPI_Status status;
    for (;;) {
        CALL(MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        if (status.MPI_TAG == STOP) return;
        uint64_t result = solve(task, work);
        CALL(MPI_Send(&result, 1, MPI_UINT64_T, 0, RESULT, MPI_COMM_WORLD));
    }
}

static void hand_out(int *task, int tasks, int worker) {
    if (*task < tasks) CALL(MPI_Send(task, 1, MPI_INT, worker, TASK, MPI_COMM_WORLD)), ++*task;
}

static uint64_t with_wildcards(int tasks) {
    uint64_t sum = 0, result;
    MPI_Status status;
    int task = 0;
    for (int i = 1; i < ranks; i++) hand_out(&task, tasks, i);
    for (int done = 0; done < tasks; done++) {
        CALL(MPI_Recv(&result, 1, MPI_UINT64_T, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status));
        sum += result;
        hand_out(&task, tasks, status.MPI_SOURCE);
    }
    return sum;
}

static uint64_t with_waitany(int tasks) {
    uint64_t sum = 0, *results = calloc((size_t)ranks, sizeof *results);
    MPI_Request *requests = malloc((size_t)ranks * sizeof *requests);
    int task = 0, index;
    for (int i = 0; i < ranks; i++) requests[i] = MPI_REQUEST_NULL;
    for (int i = 1; i < ranks && task < tasks; i++) {
        CALL(MPI_Irecv(&results[i], 1, MPI_UINT64_T, i, RESULT, MPI_COMM_WORLD, &requests[i]));
        hand_out(&task, tasks, i);
    }
    for (int done = 0; done < tasks; done++) {
        CALL(MPI_Waitany(ranks, requests, &index, MPI_STATUS_IGNORE));
        sum += results[index];
        if (task == tasks) continue;
        CALL(MPI_Irecv(&results[index], 1, MPI_UINT64_T, index, RESULT, MPI_COMM_WORLD, &requests[index]));
        hand_out(&task, tasks, index);
    }
    free(results), free(requests);
    return sum;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int tasks = argc > 1 ? atoi(argv[1]) : 40;
    double work = argc > 2 ? atof(argv[2]) : 0;
    if (rank != 0) {
        worker(work);
    } else {
        say("with wildcards %016llx", (unsigned long long)with_wildcards(tasks));
        say("with waitany %016llx", (unsigned long long)with_waitany(tasks));
        for (int i = 1; i < ranks; i++) CALL(MPI_Send(NULL, 0, MPI_INT, i, STOP, MPI_COMM_WORLD));
    }
    end();
}
