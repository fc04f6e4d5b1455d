// Compiles the CUDA side of the kernel for the CPU: this file defines what CUDA provides, and 32 contexts that take turns
// form a warp. So tests cover what only a GPU runs: the search for marks, and threads that wait for each other. One warp
// runs at a time.

#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#define __CUDACC__
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
// Only one block runs at a time.
#define __shared__ static

namespace {

using std::max;
using std::min;

struct Position {
    unsigned x;
};

Position threadIdx, blockIdx, blockDim, gridDim;

struct uint4 {
    unsigned x, y, z, w;
};

struct ulonglong2 {
    unsigned long long x, y;
};

template <typename T> T __ldg(const T *at) { return *at; }
unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
int __ffs(int bits) { return __builtin_ffs(bits); }
int __ffsll(long long bits) { return __builtin_ffsll(bits); }
int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }

template <typename T> void replace_if(T *at, T value, bool (*better)(T, T)) {
    T before = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (better(value, before) &&
           !__atomic_compare_exchange_n(at, &before, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}
template <typename T> void atomicMin(T *at, T value) { replace_if<T>(at, value, [](T a, T b) { return a < b; }); }
template <typename T> void atomicMax(T *at, T value) { replace_if<T>(at, value, [](T a, T b) { return a > b; }); }
template <typename T> void atomicOr(T *at, T bits) { __atomic_fetch_or(at, bits, __ATOMIC_RELAXED); }

// A point where the threads of a mask wait for each other, with the value of each.
struct Meeting {
    unsigned arrived = 0;
    unsigned brought[32] = {};
};

// A thread of the warp: it runs until it waits for a meeting.
struct Lane {
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(1 << 18);
    bool ended;
    // The meeting it waits for, and of whom.
    const Meeting *waits;
    unsigned mask;
    // How many meetings of each mask it has taken part in.
    std::map<unsigned, unsigned> attended;

    bool can_go_on() const { return !ended && (!waits || waits->arrived == mask); }
};

Lane lanes[32];
ucontext_t launcher;
const std::function<void()> *running;
// The meetings of each mask, in order; their addresses stay.
std::map<unsigned, std::deque<Meeting>> meetings;

const Meeting &meet(unsigned mask, unsigned value) {
    unsigned number = threadIdx.x % 32;
    // Undefined behaviour on a GPU.
    if (!(mask >> number & 1)) std::abort();
    Lane &lane = lanes[number];
    auto &of_mask = meetings[mask];
    unsigned next = lane.attended[mask]++;
    if (of_mask.size() <= next) of_mask.emplace_back();
    Meeting &meeting = of_mask[next];
    meeting.brought[number] = value;
    meeting.arrived |= 1U << number;
    lane.waits = &meeting;
    lane.mask = mask;
    if (!lane.can_go_on()) swapcontext(&lane.context, &launcher);
    lane.waits = nullptr;
    return meeting;
}

unsigned __ballot_sync(unsigned mask, bool one) {
    const Meeting &meeting = meet(mask, one);
    unsigned all = 0;
    for (unsigned lane = 0; lane < 32; ++lane) all |= meeting.brought[lane] << lane;
    return all;
}
bool __any_sync(unsigned mask, bool one) { return __ballot_sync(mask, one) != 0; }
bool __all_sync(unsigned mask, bool one) { return __ballot_sync(mask, one) == mask; }
void __syncwarp(unsigned mask = ~0U) { meet(mask, 0); }
unsigned __shfl_sync(unsigned mask, unsigned value, unsigned from) { return meet(mask, value).brought[from]; }
unsigned __shfl_up_sync(unsigned mask, unsigned value, unsigned distance) {
    const Meeting &meeting = meet(mask, value);
    unsigned lane = threadIdx.x % 32;
    return lane >= distance ? meeting.brought[lane - distance] : value;
}
unsigned __reduce_min_sync(unsigned mask, unsigned value) {
    const Meeting &meeting = meet(mask, value);
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (mask >> lane & 1) value = min(value, meeting.brought[lane]);
    }
    return value;
}

}  // namespace

// Renamed, so that both versions of the kernel link into one program.
#define straggler simt
#define straggler_begin straggler_warps_begin_thread
#define straggler_advance straggler_warps_advance_thread
#define straggler_conclude straggler_warps_conclude_thread
#include "../../gpu/kernel/engine.cu"

namespace {

void run_lane() {
    (*running)();
    lanes[threadIdx.x % 32].ended = true;
}

// Runs the threads of a warp in turns until all have ended.
void run_warp(unsigned first) {
    meetings.clear();
    for (Lane &lane : lanes) {
        lane.ended = false;
        lane.waits = nullptr;
        lane.attended.clear();
        getcontext(&lane.context);
        lane.context.uc_stack.ss_sp = lane.stack.data();
        lane.context.uc_stack.ss_size = lane.stack.size();
        lane.context.uc_link = &launcher;
        makecontext(&lane.context, run_lane, 0);
    }
    for (bool all_ended = false; !all_ended;) {
        bool any_ran = false;
        all_ended = true;
        for (unsigned number = 0; number < 32; ++number) {
            Lane &lane = lanes[number];
            if (lane.can_go_on()) {
                threadIdx.x = first + number;
                swapcontext(&launcher, &lane.context);
                any_ran = true;
            }
            all_ended &= lane.ended;
        }
        // Threads that never meet would hang a GPU.
        if (!all_ended && !any_ran) std::abort();
    }
}

void launch(unsigned blocks, const std::function<void()> &kernel) {
    running = &kernel;
    gridDim.x = blocks;
    blockDim.x = 32 * WARPS;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        for (unsigned warp = 0; warp < WARPS; ++warp) run_warp(32 * warp);
    }
}

unsigned blocks_for(const Plan &plan) { return (unsigned)((plan.room + 32 * WARPS - 1) / (32 * WARPS)); }

// Warps share the static variables of this file.
std::mutex whole;

}  // namespace

extern "C" void straggler_warps_begin(const Plan *plan) {
    std::lock_guard<std::mutex> alone(whole);
    launch(blocks_for(*plan), [plan] { straggler_begin(*plan); });
}

// A single block, as on a GPU with many more processes than threads.
extern "C" void straggler_warps_advance(const Plan *plan, u32 round) {
    std::lock_guard<std::mutex> alone(whole);
    launch(1, [plan, round] { straggler_advance(*plan, round); });
}

extern "C" void straggler_warps_conclude(const Plan *plan) {
    std::lock_guard<std::mutex> alone(whole);
    launch(blocks_for(*plan), [plan] { straggler_conclude(*plan); });
}
