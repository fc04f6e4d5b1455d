/* The functions of check.h for Fortran programs. Fortran passes the length of a text after all other arguments. The build
 * inserts `call counted('MPI_X')` before every `call MPI_X(...)` of a program (scripts/test-mpi). */
#include "check.h"
#include <ctype.h>
#include <strings.h>

static const char *ended(const char *text, size_t length) {
    static char copy[128];
    if (length >= sizeof copy) abort();
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

/* The name as C spells it, such as MPI_Comm_split, in whatever case the program writes it. */
void counted_(const char *name, size_t length) {
    char copy[LONGEST_NAME];
    if (length >= sizeof copy) abort();
    memcpy(copy, name, length);
    copy[length] = 0;
    if (!strncasecmp(copy, "MPI_", 4))
        for (size_t i = 0; i < length; i++)
            copy[i] = (char)(i < 5 ? toupper((unsigned char)copy[i]) : tolower((unsigned char)copy[i]));
    count_call(copy);
}

void start_saying_(const int *its_rank, const int *its_ranks) {
    rank = *its_rank, ranks = *its_ranks;
}

void say_number_(const char *what, const int *number, size_t length) { say("%s %d", ended(what, length), *number); }

void say_numbers_(const char *what, const int *numbers, const int *count, size_t length) {
    say_data(ended(what, length), numbers, (size_t)*count * sizeof *numbers);
}

void fill_(int *numbers, const int *count, const int *seed) { fill(numbers, *count, *seed); }

void stop_saying_(void) {
    write_output();
    write_counts();
}
