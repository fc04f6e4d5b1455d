/* For Fortran programs, which cannot declare a function weak: compile this file into the program, and
 *
 *     call straggler_region_enter('solve')
 *     call straggler_region_leave('solve')
 *
 * reach the tracer if it is loaded, and do nothing otherwise. (The tracer cannot replace a function that the program
 * itself defines, so these call the tracer's C functions, if they exist, with the name as a C string.)
 */
#include <stddef.h>
#include <string.h>

#include "straggler.h"

enum { LONGEST_NAME = 255 };

/* Fortran passes the length after the other arguments, and pads names with blanks. */
static const char *ended(char *copy, const char *name, size_t length) {
    while (length && name[length - 1] == ' ') length--;
    if (length > LONGEST_NAME) length = LONGEST_NAME;
    memcpy(copy, name, length);
    copy[length] = 0;
    return copy;
}

void straggler_region_enter_(const char *name, size_t length) {
    char copy[LONGEST_NAME + 1];
    STRAGGLER_ENTER(ended(copy, name, length));
}

void straggler_region_leave_(const char *name, size_t length) {
    char copy[LONGEST_NAME + 1];
    STRAGGLER_LEAVE(ended(copy, name, length));
}
