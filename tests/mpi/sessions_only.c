/* A program without MPI_Init: it uses MPI only through a session, if the library has sessions. */
#include "check.h"

int main(void) {
#if MPI_VERSION >= 4
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int sum = 0, initialized = -1;
    CALL(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    CALL(MPI_Comm_create_from_group(group, "alone", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Initialized(&initialized);
    CALL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    say("%d ranks, sum %d, initialized %d", ranks, sum, initialized);
    CALL(MPI_Comm_free(&comm));
    MPI_Group_free(&group);
    CALL(MPI_Session_finalize(&session));
    write_output();
    write_counts();
#else
    puts("no sessions");
#endif
}
