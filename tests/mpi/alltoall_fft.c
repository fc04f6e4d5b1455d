/* alltoall_fft [STEPS [MICROSECONDS [BLOCK]]]: the communication of a 3D Fourier transform with pencil decomposition:
 * transposes within the rows and columns of a grid of ranks, MICROSECONDS of computation between them, forward and back. */
#include "busy.h"
#include "check.h"

static double work;

static void transform(double *data, int count, double factor) {
    for (int i = 0; i < count; i++) data[i] = data[i] * factor + 1e-3 * i;
    if (work > 0) compute_for(work);
}

static void transpose(double **data, double **other, int block, int among, MPI_Comm comm) {
    CALL(MPI_Alltoall(*data, block / among, MPI_DOUBLE, *other, block / among, MPI_DOUBLE, comm));
    double *swap = *data;
    *data = *other, *other = swap;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int steps = argc > 1 ? atoi(argv[1]) : 3, shape[2] = {0, 0};
    work = argc > 2 ? atof(argv[2]) : 0;
    MPI_Dims_create(ranks, 2, shape);
    int block = shape[0] * shape[1] * (argc > 3 ? atoi(argv[3]) : 64);
    double *data = malloc((size_t)block * sizeof *data), *other = malloc((size_t)block * sizeof *other), most = 0;
    for (int i = 0; i < block; i++) data[i] = rank + 0.5 * i;
    MPI_Comm row, column;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, rank / shape[1], rank, &row));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, rank % shape[1], rank, &column));
    for (int step = 0; step < steps; step++) {
        transform(data, block, 0.75);
        transpose(&data, &other, block, shape[1], row);
        transform(data, block, 0.5);
        transpose(&data, &other, block, shape[0], column);
        transform(data, block, 1.25);
        transpose(&data, &other, block, shape[0], column);
        transpose(&data, &other, block, shape[1], row);
    }
    CALL(MPI_Allreduce(&data[0], &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    say("most %.10e", most);
    say_data("data", data, (size_t)block * sizeof *data);
    CALL(MPI_Comm_free(&row));
    CALL(MPI_Comm_free(&column));
    end();
}
