/* A program that also works outside of MPI: before MPI_Init it computes, runs children and asks whether MPI is initialized,
 * and it goes on after MPI_Finalize. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static int child(int code) {
    int status;
    pid_t process = fork();
    if (process == 0) _exit(code);
    waitpid(process, &status, 0);
    return WEXITSTATUS(status);
}

int main(void) {
    int before = -1, during = -1, finalized = -1, major, minor, sum = 0;
    double numbers = 0;
    MPI_Initialized(&before);
    MPI_Finalized(&finalized);
    MPI_Get_version(&major, &minor);
    for (int i = 0; i < 1000000; i++) numbers += 1.0 / (i + 1);
    int code = child(7);
    CALL(MPI_Init(NULL, NULL));
    find_rank();
    MPI_Initialized(&during);
    say("before %d %d, child %d, then %d, %.6f", before, finalized, code, during, numbers);
    CALL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CALL(MPI_Finalize());
    MPI_Initialized(&during);
    MPI_Finalized(&finalized);
    say("after %d %d, sum %d", during, finalized, sum);
    write_output();
    write_counts();
    return 0;
}
