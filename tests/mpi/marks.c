/* Marks set by the program: levels of MPI_Pcontrol with and without more arguments (level 0 is in pausing.c), and named
 * regions, before, between and after MPI calls. */
#include "check.h"
#include "straggler.h"

static void enter(const char *name) {
    count_call("straggler_region_enter");
    STRAGGLER_ENTER(name);
}

static void leave(const char *name) {
    count_call("straggler_region_leave");
    STRAGGLER_LEAVE(name);
}

static int factorial(int n) {
    enter("factorial");
    int product = n < 2 ? 1 : n * factorial(n - 1);
    leave("factorial");
    return product;
}

int main(int argc, char **argv) {
    int sum = 0;
    char name[16];
    begin(&argc, &argv);
    say("pcontrol %d", CALL(MPI_Pcontrol(1)));
    CALL(MPI_Pcontrol(2, "an argument", 3.5));
    enter("outer");
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "step %d", i % 2);
        enter(name);
        CALL(MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        leave(name);
    }
    leave("outer");
    say("sum %d, factorial %d", sum, factorial(6));
    CALL(MPI_Pcontrol(-7));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    enter("a region with a long name, with \"signs\" in it, and letters beyond ASCII: Größe");
    leave("a region with a long name, with \"signs\" in it, and letters beyond ASCII: Größe");
    CALL(MPI_Pcontrol(1));
    end();
}
