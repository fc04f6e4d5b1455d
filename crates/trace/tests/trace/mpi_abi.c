/* Prints what a library's header says about its binary interface: a name and a number on each line, or the symbol
   that a handle is the address of. mpi_abi.rs beside it compares it with straggler's own table. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static void number(const char *name, long long value) { printf("%s %lld\n", name, value); }

static void handle(const char *name, uintptr_t value) {
    Dl_info found;
    if (value > 0xffffffff && dladdr((void *)value, &found) && found.dli_sname != NULL)
        printf("%s %s\n", name, found.dli_sname);
    else
        number(name, (long long)value);
}

#define NUMBER(name, value) number(#name, (long long)(value))
#define HANDLE(name, value) handle(#name, sizeof(value) == 4 ? (uint32_t)(uintptr_t)(value) : (uintptr_t)(value))

int main(void) {
    NUMBER(handle_bytes, sizeof(MPI_Request));
    NUMBER(status_bytes, sizeof(MPI_Status));
    NUMBER(source_at, offsetof(MPI_Status, MPI_SOURCE));
    NUMBER(tag_at, offsetof(MPI_Status, MPI_TAG));
    HANDLE(comm_world, MPI_COMM_WORLD);
    HANDLE(comm_self, MPI_COMM_SELF);
    HANDLE(comm_null, MPI_COMM_NULL);
    HANDLE(request_null, MPI_REQUEST_NULL);
    HANDLE(datatype_null, MPI_DATATYPE_NULL);
    HANDLE(message_nobody, MPI_MESSAGE_NO_PROC);
    HANDLE(byte, MPI_BYTE);
    HANDLE(uint8, MPI_UINT8_T);
    HANDLE(int64, MPI_INT64_T);
    HANDLE(double, MPI_DOUBLE);
    HANDLE(op_max, MPI_MAX);
    HANDLE(op_sum, MPI_SUM);
    HANDLE(op_bor, MPI_BOR);
    HANDLE(errors_return, MPI_ERRORS_RETURN);
    NUMBER(any_source, MPI_ANY_SOURCE);
    NUMBER(any_tag, MPI_ANY_TAG);
    NUMBER(nobody, MPI_PROC_NULL);
    NUMBER(root, MPI_ROOT);
    NUMBER(cart, MPI_CART);
    NUMBER(graph, MPI_GRAPH);
    NUMBER(thread_funneled, MPI_THREAD_FUNNELED);
    NUMBER(thread_multiple, MPI_THREAD_MULTIPLE);
    NUMBER(err_truncate, MPI_ERR_TRUNCATE);
    NUMBER(status_ignore, (intptr_t)MPI_STATUS_IGNORE);
    NUMBER(in_place, (intptr_t)MPI_IN_PLACE);
    NUMBER(undefined, MPI_UNDEFINED);
    NUMBER(success, MPI_SUCCESS);
    NUMBER(longest_text_fits, MPI_MAX_ERROR_STRING <= 8192 && MPI_MAX_PROCESSOR_NAME <= 8192 &&
                                  MPI_MAX_LIBRARY_VERSION_STRING <= 8192);
    return 0;
}
