/* Ranks that run non-MPI programs: a shell, a pipe, a fork that keeps running. The tracer must not show in their output,
 * and a child that exits must not end its parent's trace. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static void read_from(const char *command) {
    char line[256] = "";
    FILE *pipe = popen(command, "r");
    if (pipe && fgets(line, sizeof line, pipe)) line[strcspn(line, "\n")] = 0;
    say("%s: %s, %d", command, line, pipe ? WEXITSTATUS(pclose(pipe)) : -1);
}

/* exit() runs the exit handlers in the child as well. */
static int forked(void) {
    int status;
    pid_t process = fork();
    if (process == 0) exit(5);
    waitpid(process, &status, 0);
    return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    int sum = 0;
    begin(&argc, &argv);
    CALL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    read_from("echo hello");
    read_from("ls /nowhere 2>/dev/null; echo again | tr a-z A-Z");
    read_from("sh -c 'exit 3'");
    say("system %d", WEXITSTATUS(system("exit 6")));
    say("forked %d", forked());
    CALL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    say("sum %d", sum);
    end();
}
