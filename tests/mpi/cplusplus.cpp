// The C functions called from C++, with vectors, exceptions and destructors.
#include "check.h"

#include <numeric>
#include <stdexcept>
#include <vector>

namespace {

// Waits for its request when it goes out of scope.
class Pending {
  public:
    Pending() = default;
    Pending(const Pending &) = delete;
    Pending &operator=(const Pending &) = delete;
    ~Pending() { CALL(MPI_Wait(&request, MPI_STATUS_IGNORE)); }
    MPI_Request request = MPI_REQUEST_NULL;
};

std::vector<double> exchange(const std::vector<double> &out) {
    std::vector<double> in(out.size());
    const int count = static_cast<int>(out.size());
    Pending send, receive;
    CALL(MPI_Irecv(in.data(), count, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &receive.request));
    CALL(MPI_Isend(out.data(), count, MPI_DOUBLE, (rank + 1) % ranks, 1, MPI_COMM_WORLD, &send.request));
    CALL(MPI_Wait(&receive.request, MPI_STATUS_IGNORE));
    return in;
}

} // namespace

int main(int argc, char **argv) {
    begin(&argc, &argv);
    std::vector<double> numbers(1000);
    std::iota(numbers.begin(), numbers.end(), rank);
    for (int i = 0; i < 3; i++) numbers = exchange(numbers);
    say_data("exchanged", numbers.data(), numbers.size() * sizeof(double));
    try {
        CALL(MPI_Barrier(MPI_COMM_WORLD));
        throw std::runtime_error("thrown");
    } catch (const std::exception &error) {
        say("%s between calls", error.what());
    }
    double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0), most = 0;
    CALL(MPI_Allreduce(&sum, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    say("most %.1f", most);
    end();
}
