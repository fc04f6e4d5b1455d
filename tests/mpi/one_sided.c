/* One-sided communication in all kinds of epochs: fences, post and start, locks of one and of all; every transfer, with and
 * without a request. */
#include "check.h"

enum { COUNT = 16 };

static int *window_data;
static MPI_Win window;
static int left, right;

static void say_window(const char *what) { say_data(what, window_data, COUNT * sizeof *window_data); }

static void fences(void) {
    int numbers[COUNT], got[COUNT];
    fill(numbers, COUNT, rank);
    memset(window_data, 0, COUNT * sizeof *window_data);
    CALL(MPI_Win_fence(0, window));
    CALL(MPI_Put(numbers, COUNT / 2, MPI_INT, right, 0, COUNT / 2, MPI_INT, window));
    CALL(MPI_Win_fence(0, window));
    CALL(MPI_Get(got, COUNT / 2, MPI_INT, right, 0, COUNT / 2, MPI_INT, window));
    CALL(MPI_Win_fence(0, window));
    CALL(MPI_Accumulate(numbers, COUNT, MPI_INT, left, 0, COUNT, MPI_INT, MPI_SUM, window));
    CALL(MPI_Put(numbers, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window));
    CALL(MPI_Win_fence(0, window));
    say_data("got back", got, COUNT / 2 * sizeof *got);
    say_window("fences");
}

/* The left neighbour writes to this rank, this rank to the right one. */
static void post_and_start(int with_test) {
    int numbers[COUNT], flag = 0;
    MPI_Group world, from, to;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &left, &from);
    MPI_Group_incl(world, 1, &right, &to);
    fill(numbers, COUNT, rank + 50);
    CALL(MPI_Win_post(from, 0, window));
    CALL(MPI_Win_start(to, 0, window));
    CALL(MPI_Put(numbers, COUNT, MPI_INT, right, 0, COUNT, MPI_INT, window));
    CALL(MPI_Win_complete(window));
    if (with_test)
        while (!flag) CALL(MPI_Win_test(window, &flag));
    else
        CALL(MPI_Win_wait(window));
    say_window("post and start");
    MPI_Group_free(&from), MPI_Group_free(&to), MPI_Group_free(&world);
}

static void locks(void) {
    int one = 1;
    window_data[0] = 0;
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    for (int to = 0; to < ranks; to++) {
        CALL(MPI_Win_lock(to == rank ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, to, 0, window));
        CALL(MPI_Accumulate(&one, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, window));
        CALL(MPI_Win_unlock(to, window));
    }
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    CALL(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window));
    say("locks %d", window_data[0]);
    CALL(MPI_Win_unlock(rank, window));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
}

static void counters(int *numbers) {
    int one = 1, before, sum = 0;
    CALL(MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 1, MPI_SUM, window));
    CALL(MPI_Win_flush(0, window));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    CALL(MPI_Fetch_and_op(NULL, &sum, MPI_INT, 0, 1, MPI_NO_OP, window));
    CALL(MPI_Win_flush_local(0, window));
    say("counted %d", sum);
    int expected = -5 - rank, wanted = rank + 1000, found = 0;
    CALL(MPI_Compare_and_swap(&wanted, &expected, &found, MPI_INT, right, 2, window));
    CALL(MPI_Win_flush_all(window));
    say("swapped against %d", found);
    CALL(MPI_Get_accumulate(numbers, 2, MPI_INT, numbers + 2, 2, MPI_INT, right, 4, 2, MPI_INT, MPI_REPLACE, window));
    CALL(MPI_Win_flush_local_all(window));
    say("replaced %d %d", numbers[2], numbers[3]);
}

static void with_requests(int *numbers) {
    MPI_Request requests[4];
    CALL(MPI_Rput(numbers, 2, MPI_INT, right, 6, 2, MPI_INT, window, &requests[0]));
    CALL(MPI_Raccumulate(numbers, 2, MPI_INT, right, 8, 2, MPI_INT, MPI_SUM, window, &requests[1]));
    CALL(MPI_Rget(numbers + 4, 2, MPI_INT, right, 10, 2, MPI_INT, window, &requests[2]));
    CALL(MPI_Rget_accumulate(numbers, 1, MPI_INT, numbers + 6, 1, MPI_INT, right, 12, 1, MPI_INT, MPI_SUM, window,
                             &requests[3]));
    CALL(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    say("got %d %d %d", numbers[4], numbers[5], numbers[6]);
}

static void locked_for_all(void) {
    int numbers[COUNT] = {rank, rank + 1};
    CALL(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window));
    for (int i = 0; i < COUNT; i++) window_data[i] = 7 * i;
    /* Element 2 is what the left neighbour expects in its compare-and-swap. */
    window_data[1] = 0, window_data[2] = -5 - left;
    CALL(MPI_Win_unlock(rank, window));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    CALL(MPI_Win_lock_all(0, window));
    counters(numbers);
    with_requests(numbers);
    CALL(MPI_Win_sync(window));
    CALL(MPI_Win_unlock_all(window));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    say("counter of rank 0: %d", rank == 0 ? window_data[1] : ranks);
    say_window("locked for all");
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    CALL(MPI_Win_allocate(COUNT * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window_data, &window));
    fences();
    post_and_start(0);
    locks();
    locked_for_all();
    CALL(MPI_Win_free(&window));

    window_data = malloc(COUNT * sizeof(int));
    CALL(MPI_Win_create(window_data, COUNT * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    fences();
    post_and_start(1);
    CALL(MPI_Win_free(&window));
    end();
}
