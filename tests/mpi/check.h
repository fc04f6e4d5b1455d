/* Functions shared by all programs in this folder.
 *
 * A program prints what it received on standard output, one item per line, prefixed with its rank. The output must be the
 * same with and without the tracer, line by line. A rank writes all its lines at once, at the end, and if CHECK_DIR is set
 * also to the file said.RANK there, because Open MPI's launcher interleaves the lines of ranks.
 *
 * CALL(MPI_Send(...)) counts the call under its name, then makes it. At the end, a rank writes its counts to the file
 * calls.RANK in CHECK_DIR, one "NAME COUNT" per line, which compare.py compares with a trace.
 * Calls in waiting loops are counted as they happen, so the counts are exact however long the loop runs.
 */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 256, LONGEST_NAME = 48 };

static struct {
    char name[LONGEST_NAME];
    long calls;
} counted_calls[MOST_NAMES];

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static int rank = -1, ranks = 0;
static FILE *lines;
static char *line_data;
static size_t line_bytes;

/* Counts a call: the name ends where the arguments begin. */
static inline void count_call(const char *call) {
    size_t length = strcspn(call, "( ");
    if (length >= LONGEST_NAME) abort();
    pthread_mutex_lock(&counting);
    int slot = 0;
    while (counted_calls[slot].calls &&
           (strncmp(counted_calls[slot].name, call, length) || counted_calls[slot].name[length]))
        if (++slot == MOST_NAMES) abort();
    memcpy(counted_calls[slot].name, call, length);
    counted_calls[slot].calls++;
    pthread_mutex_unlock(&counting);
}

#define CALL(call) (count_call(#call), (call))

/* A line of output: "RANK: what". */
static inline void say(const char *format, ...) {
    va_list arguments;
    if (!lines) lines = open_memstream(&line_data, &line_bytes);
    if (!lines) abort();
    fprintf(lines, "%d: ", rank);
    va_start(arguments, format);
    vfprintf(lines, format, arguments);
    va_end(arguments);
    fputc('\n', lines);
}

/* 64-bit FNV-1a. */
static inline uint64_t checksum(const void *data, size_t bytes) {
    const unsigned char *at = (const unsigned char *)data;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

static inline void say_data(const char *what, const void *data, size_t bytes) {
    say("%s %016llx", what, (unsigned long long)checksum(data, bytes));
}

/* Numbers that depend on the seed and the position. */
static inline void fill(int *numbers, int count, int seed) {
    for (int i = 0; i < count; i++) numbers[i] = (int)((unsigned)(seed + 1) * 2654435761u + (unsigned)i * 40503u);
}

static inline void say_status(const char *what, MPI_Status *status, MPI_Datatype datatype) {
    int count;
    MPI_Get_count(status, datatype, &count);
    if (status->MPI_SOURCE == MPI_PROC_NULL)
        say("%s from nobody, %s, %d", what, status->MPI_TAG == MPI_ANY_TAG ? "any tag" : "a tag", count);
    else
        say("%s from %d, tag %d, %d", what, status->MPI_SOURCE, status->MPI_TAG, count);
}

/* Prints the empty status of a wait that had nothing to wait for. */
static inline void say_empty(const char *what, MPI_Status *status) {
    int count;
    MPI_Get_count(status, MPI_INT, &count);
    say("%s %s, %s, %d", what, status->MPI_SOURCE == MPI_ANY_SOURCE ? "any source" : "a source",
        status->MPI_TAG == MPI_ANY_TAG ? "any tag" : "a tag", count);
}

static inline void say_error(const char *what, int code) {
    int kind = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &kind);
#define CLASS(name) if (kind == name) { say("%s %s", what, #name); return; }
    CLASS(MPI_SUCCESS) CLASS(MPI_ERR_RANK) CLASS(MPI_ERR_TAG) CLASS(MPI_ERR_COUNT) CLASS(MPI_ERR_COMM)
    CLASS(MPI_ERR_TRUNCATE) CLASS(MPI_ERR_IN_STATUS) CLASS(MPI_ERR_TYPE) CLASS(MPI_ERR_ROOT) CLASS(MPI_ERR_OP)
    CLASS(MPI_ERR_REQUEST) CLASS(MPI_ERR_BUFFER) CLASS(MPI_ERR_ARG) CLASS(MPI_ERR_GROUP) CLASS(MPI_ERR_PENDING)
#undef CLASS
    say("%s another error", what);
}

/* Opens the file NAME.RANK in CHECK_DIR; NULL if CHECK_DIR is not set. */
static inline FILE *check_file(const char *name) {
    const char *folder = getenv("CHECK_DIR");
    char path[4096];
    if (!folder) return NULL;
    snprintf(path, sizeof path, "%s/%s.%d", folder, name, rank);
    FILE *file = fopen(path, "w");
    if (!file) abort();
    return file;
}

static inline void write_output(void) {
    if (!lines) return;
    fflush(lines);
    fwrite(line_data, 1, line_bytes, stdout);
    fflush(stdout);
    FILE *file = check_file("said");
    if (!file) return;
    fwrite(line_data, 1, line_bytes, file);
    fclose(file);
}

static inline void write_counts(void) {
    FILE *file = check_file("calls");
    if (!file) return;
    for (int slot = 0; slot < MOST_NAMES && counted_calls[slot].calls; slot++)
        fprintf(file, "%s %ld\n", counted_calls[slot].name, counted_calls[slot].calls);
    fclose(file);
}

static inline void find_rank(void) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static inline void begin(int *argc, char ***argv) {
    CALL(MPI_Init(argc, argv));
    find_rank();
}

static inline void end(void) {
    CALL(MPI_Finalize());
    write_output();
    write_counts();
}

#endif
