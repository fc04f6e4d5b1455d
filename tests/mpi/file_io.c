/* Files: collective and independent writes and reads, blocking and nonblocking. */
#include "check.h"

enum { COUNT = 256 };

int main(int argc, char **argv) {
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    int out[COUNT], in[COUNT], process = 0;
    char path[256] = "";
    begin(&argc, &argv);
    if (rank == 0) {
        const char *folder = getenv("TMPDIR");
        snprintf(path, sizeof path, "%s/file_io.XXXXXX", folder ? folder : "/tmp");
        process = mkstemp(path);
    }
    CALL(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD));
    MPI_Offset bytes = sizeof out, next = (rank + 1) % ranks;
    fill(out, COUNT, rank);
    CALL(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    CALL(MPI_File_write_at_all(file, rank * bytes, out, COUNT, MPI_INT, &status));
    say_data("written", out, sizeof out);
    CALL(MPI_File_sync(file));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    CALL(MPI_File_read_at_all(file, next * bytes, in, COUNT, MPI_INT, &status));
    say_data("of the next", in, sizeof in);
    CALL(MPI_File_iread_at(file, 0, in, COUNT, MPI_INT, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    say_data("of the first", in, sizeof in);
    CALL(MPI_File_read_at(file, next * bytes, in, 7, MPI_INT, MPI_STATUS_IGNORE));
    say_data("seven", in, 7 * sizeof *in);
    CALL(MPI_File_close(&file));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) say("removed %d %d", process >= 0, remove(path));
    end();
}
