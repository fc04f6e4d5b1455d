// Structures that the host passes, and code that differs between GPU and CPU. Part of engine.cu.

#ifdef __CUDACC__
#define INLINE __device__ __forceinline__
#define APART __device__ __noinline__
#define ROLLED _Pragma("unroll 1")
#else
#define INLINE static inline
#define APART static
#define ROLLED
#endif

typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;

static_assert(sizeof(u64) == 8 && sizeof(u32) == 4, "the host's structures need these sizes");

// Named, so that every compilation gives the same symbols.
namespace straggler {

const u64 UNKNOWN = ~0ULL;
const u32 NONE = ~0U;
// Runs whose simulated time exceeds this are left to the CPU's engines, which handle overflow.
const u64 END_OF_TIME = 1ULL << 62;

const u32 SEND = 1, RECV = 2, CALC = 4;

// ---- Passed from the host: the structures of layout.rs, field by field.

// The costs of a message of one size.
struct MessageCost {
    u64 send_overhead, send_cpu, recv_overhead, message_cpu, nic;
};

// What a process does in a stage. Durations and tariffs are indices into tables.
struct Entry {
    u32 to;         // the receiver of its message, or NONE; in uniform plans the distance to it
    u32 send_slot;  // the receiver's slot for the message
    u32 recv_slot;  // the slot of the message it receives, or NONE
    u32 packed;     // tariff of the send, computation, computation afterwards (8 bits each; 0: none), whether it goes on
};

struct Source {
    u64 detours, slots;  // addresses of the Detours (one more than `count`) and of their index
    u64 length;
    u32 count, shift;
    u32 who, first, second;  // everyone; ranks from first to second; remainder second modulo first
    u32 once;                // not a trace, but one delay:
    u64 at, duration;
};

// The start of a detour of a trace, and the sum of the durations of all before it.
struct Detour {
    u64 start, before;
};

struct Plan {
    // Addresses.
    u64 entries;       // Entry by stage, or by stage and process
    u64 stages_of;     // u32 by process, where processes differ
    u64 slot_from;     // u32 by slot: how far the sender is; or by slot and process: who it is
    u64 slot_tariff;   // u8 by slot, or by slot and process
    u64 tariffs;       // MessageCost, where they differ
    u64 durations;     // u64
    u64 sources;       // Source
    u64 offsets;       // u64 by process, if they are given
    u64 arrivals;      // u64 by slot of all cycles and thread
    u64 inbox;         // u64 by group of 32 slots and thread: low half known messages, high half those that have run
    u64 tops;          // u32 by thread: one more than the last slot that had a message, if there are several groups
    u64 states;        // State by thread
    u64 marks;         // u8 by thread, twice: whether it has something to do in a round; `room` for each
    u64 goes_on;       // u32, thrice: whether any thread has
    u64 soonest;       // u64 by replica, thrice: when the first event of a round may run
    u64 latest;        // u64 by replica
    u64 status;        // u32: whether time ran out

    u64 seed;
    u64 flight;
    u64 threads;       // processes times replicas
    u64 room;          // threads, rounded up to whole words of marks
    u32 by_process, by_replica;  // distance of neighbours in the arrays
    u32 processes, replicas, first_replica;
    u32 cycles, stages, slots;   // of one cycle
    u32 way;           // 0: tables; 1: partners at a distance; 2: partners that differ in bits
    u32 tariffs_differ;
    u32 shift;         // log2 of the number of processes if that is a power of two, else NONE
    u32 source_count, phases;    // 0: drawn, 1: together, 2: given
    u32 given;         // how many offsets
    u32 wallclock, computation_only;
    u32 groups;        // of 32 slots, in all cycles
    u32 plain;         // see plain_of
    MessageCost tariff;     // the first
    Source source;     // the first
};

// A process between its events.
struct State {
    u64 cpu_free, send_free, recv_free, quiet;
    // When the operations of the stage became ready, and when the event that released them ran.
    u64 ready, created;
    u32 stage;       // of all cycles
    u32 low;         // the first slot of the receives that the stage and those before wait for
    u32 next_detour; // which detour starts at `quiet`, or NONE
    u8 open, span;   // how many of those receives are not complete, and how many there are
    u8 pending;      // operations of the stage that have not run
    u8 afterwards;   // whether the computation after the others has been reached
};

// Replaces fields of a plain plan by constants that the compiler can use: in every stage every process sends and
// receives one message, all messages cost the same, there is one cycle of at most 32 stages, and processes stand side
// by side.
INLINE Plan plain_of(const Plan &plan) {
    Plan known = plan;
    known.plain = 1;
    known.groups = known.cycles = known.by_process = 1;
    known.tariffs_differ = known.computation_only = 0;
    known.way = plan.way == 2 ? 2 : 1;
    return known;
}

static_assert(sizeof(Plan) == 344 && sizeof(State) == 64 && sizeof(Source) == 64, "layout.rs says so");

// ---- Code that differs between GPU and CPU.

#ifdef __CUDACC__
INLINE u64 high_product(u64 a, u64 b) { return __umul64hi(a, b); }
INLINE void lower(u64 *at, u64 value) { atomicMin(at, value); }
INLINE void raise(u32 *at, u32 value) { atomicMax(at, value); }
INLINE void raise(u64 *at, u64 value) { atomicMax(at, value); }
INLINE void set_bits(u64 *at, u64 bits) { atomicOr(at, bits); }
// Lets diverged threads of a warp wait for each other; otherwise they would go on one after the other.
INLINE void gather(u32 lanes) { __syncwarp(lanes); }
INLINE u32 lowest_bit(u32 bits) { return __ffs((int)bits) - 1; }
INLINE u64 load(const u64 *at) { return *(const volatile u64 *)at; }
INLINE u32 load(const u32 *at) { return *(const volatile u32 *)at; }
INLINE void store(u64 *at, u64 value) { *(volatile u64 *)at = value; }
INLINE void store(u8 *at, u8 value) { *(volatile u8 *)at = value; }
INLINE void store(u32 *at, u32 value) { *(volatile u32 *)at = value; }
template <typename T> INLINE T constant(const T *at) { return __ldg(at); }
#else
INLINE u64 high_product(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
INLINE void lower(u64 *at, u64 value) { if (value < *at) *at = value; }
INLINE void raise(u32 *at, u32 value) { if (value > *at) *at = value; }
INLINE void raise(u64 *at, u64 value) { if (value > *at) *at = value; }
INLINE void set_bits(u64 *at, u64 bits) { *at |= bits; }
INLINE void gather(u32) {}
INLINE u32 lowest_bit(u32 bits) { return __builtin_ctz(bits); }
INLINE u64 load(const u64 *at) { return *at; }
INLINE u32 load(const u32 *at) { return *at; }
INLINE void store(u64 *at, u64 value) { *at = value; }
INLINE void store(u8 *at, u8 value) { *at = value; }
INLINE void store(u32 *at, u32 value) { *at = value; }
template <typename T> INLINE T constant(const T *at) { return *at; }
#endif

INLINE u64 later(u64 a, u64 b) { return a > b ? a : b; }
INLINE u64 sooner(u64 a, u64 b) { return a < b ? a : b; }

}  // namespace straggler
