// The engine of the GPU: many replicas of one collective, each process a thread.
//
// The same source is compiled twice: by nvcc for the GPU, and as plain C++ for the tests, where a loop takes the place
// of the grid. It has no other header than the C++ language.
//
// How it works. Nothing that a process does at t reaches another before t + o_s + L. So all processes of a replica run
// independently through a window of that length, which begins with the first event of all. Every receive of a process has
// a slot, into which the sender writes when the message arrives. Who has something to do in the next window is on a list:
// receivers of messages, and those who wait for their own CPU or NIC. A round is one window of every replica, and each
// replica has its own. No result depends on the order in which the threads of a round run.

#ifdef __CUDACC__
#define INLINE __device__ __forceinline__
#define APART __device__ __noinline__
#else
#define INLINE static inline
#define APART static
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
// No message arrives at 0.
const u64 RAN = 0;
// Simulated time beyond this is left to the CPU's engines, which know what to do when it runs out.
const u64 END_OF_TIME = 1ULL << 62;

const u32 SEND = 1, RECV = 2, CALC = 4;

// What a block of the GPU stages for the next list.
const u32 STAGED = 512;

// ---- What the host hands over: the structures of layout.rs, field by field.

// What a message of some size costs.
struct Tariff {
    u64 send_overhead, send_cpu, recv_overhead, message_cpu, nic;
};

// What a process does in a stage. Durations and tariffs are places in tables.
struct Entry {
    u32 to;         // whom it sends to, or NONE; in uniform plans how far away that is
    u32 send_slot;  // which slot of the receiver the message takes
    u32 recv_slot;  // the slot of what it receives, or NONE
    u32 packed;     // tariff of the send, computation, computation afterwards (8 bits each; 0: none), whether it goes on
};

struct Source {
    u64 detours, slots;  // addresses of Detour, one more than there are, and of the index
    u64 length;
    u32 count, shift;
    u32 who, first, second;  // everyone; ranks from first to second; remainder second modulo first
    u32 once;                // no trace, one delay:
    u64 at, duration;
};

// When a detour of a trace starts, and the durations of all before it.
struct Detour {
    u64 start, before;
};

struct Plan {
    // Addresses.
    u64 entries;       // Entry by stage, or by stage and process
    u64 stages_of;     // u32 by process, where processes differ
    u64 slot_from;     // u32 by slot: how far the sender is; or by slot and process: who it is
    u64 slot_tariff;   // u8 by slot, or by slot and process
    u64 tariffs;       // Tariff
    u64 durations;     // u64
    u64 sources;       // Source
    u64 offsets;       // u64 by process, where they are given
    u64 arrivals;      // u64 by slot of all cycles and thread; RAN when an early message has run
    u64 known;         // u64 by group of 64 slots and thread: a bit for every message that has arrived and has not run
    u64 tops;          // u32 by thread: one more than the last slot that had a message, if there are several groups
    u64 states;        // State by thread
    u64 queued;        // u32 by thread: the last round on whose list it was
    u64 lists;         // u32 by place, twice: the threads of a round
    u64 counts;        // u32, thrice: how many a list has
    u64 soonest;       // u64 by replica, thrice: when the first event of a round may run
    u64 latest;        // u64 by replica
    u64 status;        // u32: whether time ran out

    u64 seed;
    u64 flight;
    u64 threads;       // processes times replicas
    u64 by_process, by_replica;  // how far neighbours are apart in the arrays
    u32 processes, replicas, first_replica;
    u32 cycles, stages, slots;   // of one cycle
    u32 way;           // 0: tables; 1: partners at a distance; 2: partners that differ in bits
    u32 tariffs_differ;
    u32 source_count, phases;    // 0: drawn, 1: together, 2: given
    u32 given;         // how many offsets
    u32 wallclock, computation_only;
    u32 groups;        // of 64 slots, in all cycles
};

// A process between its events.
struct State {
    u64 cpu_free, send_free, recv_free, quiet;
    // When the operations of the stage became ready, and when what released them ran.
    u64 ready, created;
    u32 stage;       // of all cycles
    u32 low;         // the first slot of the receives that the stage and those before wait for
    u32 next_detour; // which detour starts at `quiet`, or NONE
    u8 open, span;   // how many of those receives have not completed, of how many
    u8 pending;      // operations of the stage that have not run
    u8 afterwards;   // whether the computation after the others has been reached
};

static_assert(sizeof(Plan) == 240 && sizeof(State) == 64 && sizeof(Source) == 64, "layout.rs says so");

// ---- What differs between the GPU and the CPU.

#ifdef __CUDACC__
INLINE u64 high_product(u64 a, u64 b) { return __umul64hi(a, b); }
INLINE u32 exchange(u32 *at, u32 value) { return atomicExch(at, value); }
INLINE void lower(u64 *at, u64 value) { atomicMin(at, value); }
INLINE void raise(u32 *at, u32 value) { atomicMax(at, value); }
INLINE void raise(u64 *at, u64 value) { atomicMax(at, value); }
INLINE void set_bits(u64 *at, u64 bits) { atomicOr(at, bits); }
INLINE void clear_bits(u64 *at, u64 bits) { atomicAnd(at, ~bits); }
INLINE u32 lowest_bit(u64 bits) { return __ffsll((long long)bits) - 1; }
INLINE u64 load(const u64 *at) { return *(const volatile u64 *)at; }
INLINE u32 load(const u32 *at) { return *(const volatile u32 *)at; }
INLINE void store(u64 *at, u64 value) { *(volatile u64 *)at = value; }
template <typename T> INLINE T constant(const T *at) { return __ldg(at); }
// Threads of a warp that went different ways would go on one after the other: here they wait for each other.
INLINE void gather(u32 lanes) { __syncwarp(lanes); }
INLINE bool any(u32 lanes, bool one) { return __any_sync(lanes, one); }

// What a block adds to a list, every other time in the one and in the other half. Blocks that counted at one place for
// every process would wait for each other most of the time.
struct Staged {
    u32 turn, first;
    u32 count[2];
    u32 items[2][STAGED];
};

INLINE Staged &staged() {
    __shared__ Staged block;
    return block;
}

INLINE void append(u32 *list, u32 *count, u32 item) {
    Staged &block = staged();
    u32 place = atomicAdd(&block.count[block.turn], 1);
    if (place < STAGED) block.items[block.turn][place] = item;
    else list[atomicAdd(count, 1)] = item;
}

// Adds what the block has to the list. All threads of a block call it.
INLINE void flush(u32 *list, u32 *count, u32 turn) {
    Staged &block = staged();
    __syncthreads();
    u32 added = min(block.count[turn], STAGED);
    if (threadIdx.x == 0) {
        if (added > 0) block.first = atomicAdd(count, added);
        block.turn = turn ^ 1;
        block.count[turn ^ 1] = 0;
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < added; i += blockDim.x) list[block.first + i] = block.items[turn][i];
}

// Asks for memory that will be read soon.
INLINE void expect(const void *at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }
#else
INLINE u64 high_product(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
INLINE u32 exchange(u32 *at, u32 value) { u32 before = *at; *at = value; return before; }
INLINE void lower(u64 *at, u64 value) { if (value < *at) *at = value; }
INLINE void raise(u32 *at, u32 value) { if (value > *at) *at = value; }
INLINE void raise(u64 *at, u64 value) { if (value > *at) *at = value; }
INLINE void set_bits(u64 *at, u64 bits) { *at |= bits; }
INLINE void clear_bits(u64 *at, u64 bits) { *at &= ~bits; }
INLINE u32 lowest_bit(u64 bits) { return __builtin_ctzll(bits); }
INLINE u64 load(const u64 *at) { return *at; }
INLINE u32 load(const u32 *at) { return *at; }
INLINE void store(u64 *at, u64 value) { *at = value; }
template <typename T> INLINE T constant(const T *at) { return *at; }
INLINE void gather(u32) {}
INLINE bool any(u32, bool one) { return one; }
INLINE void append(u32 *list, u32 *count, u32 item) { list[(*count)++] = item; }
#endif

INLINE u64 later(u64 a, u64 b) { return a > b ? a : b; }
INLINE u64 sooner(u64 a, u64 b) { return a < b ? a : b; }

// ---- Random numbers: Philox4x32-10, as philox.rs has it.

// The first draw of the stream of (seed, replica, rank, source), uniform below `bound`.
INLINE u64 drawn(u64 seed, u32 replica, u32 rank, u32 source, u64 bound) {
    u32 a = 0, b = rank, c = replica, d = source;
    u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        u64 low = (u64)0xD2511F53U * a, high = (u64)0xCD9E8D57U * c;
        a = (u32)(high >> 32) ^ b ^ k0;
        b = (u32)high;
        c = (u32)(low >> 32) ^ d ^ k1;
        d = (u32)low;
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    return high_product((u64)a | (u64)b << 32, bound);
}

// ---- Noise, as detours.rs and injection.rs have it.

// The turn of the endless repetition in which a position lies. Most runs are shorter than a trace.
INLINE u64 turn_of(const Source &source, u64 position) {
    if (position < source.length) return 0;
    return position - source.length < source.length ? 1 : position / source.length;
}

INLINE Detour detour_at(const Source &source, u32 index) {
    const Detour *detours = (const Detour *)source.detours;
#ifdef __CUDACC__
    ulonglong2 raw = __ldg((const ulonglong2 *)(detours + index));
    return {raw.x, raw.y};
#else
    return detours[index];
#endif
}

// How many detours of a trace start at or before a position inside its length.
INLINE u32 started_by(const Source &source, u64 position) {
    u32 index = constant((const u32 *)source.slots + (position >> source.shift));
    while (index < source.count && detour_at(source, index).start <= position) ++index;
    return index;
}

// What is left, at a position of the endless repetition, of the detour that started last.
INLINE u64 residual(const Source &source, u64 position, u64 within, u32 started) {
    u32 last = started > 0 ? started - 1 : source.count - 1;
    Detour detour = detour_at(source, last);
    u64 end = detour.start + detour_at(source, last + 1).before - detour.before;
    if (started > 0) return end > within ? end - within : 0;
    // The last detour of the previous turn, unless this is the first turn.
    if (position < source.length) return 0;
    return end > within + source.length ? end - within - source.length : 0;
}

// noise(x, y) of a trace.
INLINE u64 between(const Source &source, u64 x, u64 y) {
    u64 turn = turn_of(source, x), within = x - turn * source.length;
    u32 started = started_by(source, within);
    u64 left = residual(source, x, within, started);
    if (y <= x) return left;
    u64 last = y - 1, last_turn = turn_of(source, last), turns = last_turn - turn;
    u64 all = detour_at(source, source.count).before;
    if (high_product(turns, all) != 0 || turns * all > END_OF_TIME) return END_OF_TIME;
    u32 ended = started_by(source, last - last_turn * source.length);
    // The part of the last turn may be the smaller one.
    return turns * all + detour_at(source, ended).before - detour_at(source, started).before + left;
}

// The time up to which a trace disturbs nothing, seen from `now`, and the detour that starts then; 0 when it disturbs at
// `now`.
struct Quiet {
    u64 until;
    u32 next;
};

INLINE Quiet quiet_until(const Source &source, u64 offset, u64 now) {
    u64 position = now + offset, within = position - turn_of(source, position) * source.length;
    u32 started = started_by(source, within);
    if (residual(source, position, within, started) > 0) return {0, NONE};
    u64 turn = position - within - offset;
    u64 wraps = started < source.count ? 0 : source.length;
    u32 next = started < source.count ? started : 0;
    return {turn + wraps + detour_at(source, next).start, next};
}

INLINE bool holds(const Source &source, u32 rank) {
    if (source.who == 0) return true;
    if (source.who == 1) return source.first <= rank && rank <= source.second;
    return rank % source.first == source.second;
}

INLINE u64 offset_of(const Plan &plan, u32 index, u64 length, u32 rank, u32 replica) {
    if (plan.phases == 2) return rank < plan.given ? constant((const u64 *)plan.offsets + rank) : 0;
    return drawn(plan.seed, plan.first_replica + replica, plan.phases == 1 ? NONE : rank, index, length);
}

INLINE const Source &source_at(const Plan &plan, u32 index) { return ((const Source *)plan.sources)[index]; }

// noise(from, to) summed over the sources.
INLINE u64 all_between(const Plan &plan, u32 rank, u32 replica, u64 from, u64 to) {
    u64 sum = 0;
    for (u32 index = 0; index < plan.source_count; ++index) {
        const Source &source = source_at(plan, index);
        if (!holds(source, rank)) continue;
        if (source.once) {
            if (source.at <= from) {
                sum += source.at + source.duration > from ? source.at + source.duration - from : 0;
            } else if (source.at < to) {
                sum += source.duration;
            }
        } else if (source.count > 0) {
            u64 offset = offset_of(plan, index, source.length, rank, replica);
            sum += between(source, from + offset, to + offset);
        }
        sum = sooner(sum, END_OF_TIME);
    }
    return sum;
}

INLINE u64 all_quiet_until(const Plan &plan, u32 rank, u32 replica, u64 now) {
    u64 until = UNKNOWN;
    for (u32 index = 0; index < plan.source_count; ++index) {
        const Source &source = source_at(plan, index);
        if (!holds(source, rank)) continue;
        if (source.once) {
            if (now < source.at) until = sooner(until, source.at);
            else if (now < source.at + source.duration) until = 0;
        } else if (source.count > 0) {
            u64 offset = offset_of(plan, index, source.length, rank, replica);
            until = sooner(until, quiet_until(source, offset, now).until);
        }
    }
    return until;
}

// The noise in an interval of a process's CPU, and up to when nothing disturbs it afterwards.
struct Noise {
    u64 noise;
    Quiet quiet;
};

// Whether one trace is all there is, the usual case.
INLINE bool is_one_trace(const Plan &plan, const Source &only) {
    return plan.source_count == 1 && !plan.wallclock && !only.once && only.count > 0;
}

APART Noise look_up(const Plan &plan, u32 rank, u32 replica, u64 from, u64 to) {
    Noise found = {0, {0, NONE}};
    const Source &only = source_at(plan, 0);
    if (is_one_trace(plan, only) && holds(only, rank)) {
        u64 offset = offset_of(plan, 0, only.length, rank, replica);
        // Most often no detour is near: then the first look-up answers both questions.
        found.quiet = quiet_until(only, offset, from);
        if (found.quiet.until > to) return found;
        found.noise = between(only, from + offset, to + offset);
        u64 end = to + found.noise;
        if (end < END_OF_TIME) found.quiet = quiet_until(only, offset, end);
        return found;
    }
    found.noise = all_between(plan, rank, replica, from, to);
    while (plan.wallclock && to + found.noise < END_OF_TIME) {
        u64 longer = all_between(plan, rank, replica, from, to + found.noise);
        if (longer == found.noise) break;
        found.noise = longer;
    }
    u64 end = to + found.noise;
    if (end < END_OF_TIME) found.quiet.until = all_quiet_until(plan, rank, replica, end);
    return found;
}

// ---- The schedule.

INLINE u32 partner(const Plan &plan, u32 rank, u32 way) {
    if (plan.way == 2) return rank ^ way;
    u32 room = plan.processes - rank;
    return way < room ? rank + way : way - room;
}

INLINE Entry entry_at(const Plan &plan, u32 rank, u32 stage) {
    const Entry *entries = (const Entry *)plan.entries;
    u64 index = plan.way == 0 ? (u64)stage * plan.processes + rank : stage;
#ifdef __CUDACC__
    uint4 raw = __ldg((const uint4 *)(entries + index));
    Entry entry = {raw.x, raw.y, raw.z, raw.w};
#else
    Entry entry = entries[index];
#endif
    if (plan.way != 0 && entry.to != NONE) entry.to = partner(plan, rank, entry.to);
    return entry;
}

INLINE u32 sender_of(const Plan &plan, u32 rank, u32 slot) {
    const u32 *from = (const u32 *)plan.slot_from;
    u32 in_cycle = slot % plan.slots;
    if (plan.way == 0) return constant(from + (u64)in_cycle * plan.processes + rank);
    return partner(plan, rank, constant(from + in_cycle));
}

INLINE u32 tariff_of(const Plan &plan, u32 rank, u32 slot) {
    if (!plan.tariffs_differ) return 0;
    const u8 *tariff = (const u8 *)plan.slot_tariff;
    u32 in_cycle = slot % plan.slots;
    return constant(tariff + (plan.way == 0 ? (u64)in_cycle * plan.processes + rank : in_cycle));
}

// ---- One process.

// A message that has not run: its arrival and its slot.
struct Waiting {
    u64 arrived;
    u32 slot;
};

struct Process {
    const Plan *plan;
    u64 index;     // of the thread in the arrays
    u32 rank, replica, round;
    u64 until;     // the end of the window
    u64 next;      // the first event that it caused or has left for later windows
    u64 told;      // the receiver of its last message, who is not on the list yet; or UNKNOWN
    u32 lanes;     // the threads that run side by side with it
    State at;
    u32 cycle, stage, stages;
    Entry entry;
    // The messages that run next, and whether there may be more.
    Waiting first, second;
    bool more;
};

INLINE u64 *arrival(const Process &p, u32 slot, u64 index) {
    return (u64 *)p.plan->arrivals + (u64)slot * p.plan->threads + index;
}

INLINE u64 *known_slots(const Process &p, u32 slot, u64 index) {
    return (u64 *)p.plan->known + (u64)(slot / 64) * p.plan->threads + index;
}

INLINE u32 *list_of(const Plan &plan, u32 round) { return (u32 *)plan.lists + (round & 1) * plan.threads; }

INLINE u32 *count_of(const Plan &plan, u32 round) { return (u32 *)plan.counts + round % 3; }

// Puts threads on the list of the next round, unless they are there. UNKNOWN is nobody.
INLINE void enlist(const Process &p, u64 one, u64 other) {
    u32 round = p.round + 1, *queued = (u32 *)p.plan->queued, *list = list_of(*p.plan, round);
    u32 of_one = one == UNKNOWN ? round : exchange(queued + one, round);
    u32 of_other = other == UNKNOWN ? round : exchange(queued + other, round);
    if (of_one != round) append(list, count_of(*p.plan, round), (u32)one);
    if (of_other != round) append(list, count_of(*p.plan, round), (u32)other);
}

INLINE u64 charge(Process &p, u64 from, u64 to) {
    if (to < p.at.quiet) return 0;
    // The detour that ends the quiet is known: if no other is near, a look at the next one says all.
    if (p.at.next_detour != NONE && from <= p.at.quiet) {
        const Source &only = source_at(*p.plan, 0);
        Detour detour = detour_at(only, p.at.next_detour), other = detour_at(only, p.at.next_detour + 1);
        u64 noise = other.before - detour.before, next = p.at.quiet + (other.start - detour.start);
        // A detour that starts at the very end of the interval is outside, and in progress afterwards.
        if (p.at.next_detour + 1 < only.count && p.at.quiet < to && next > to + noise) {
            p.at.quiet = next;
            ++p.at.next_detour;
            return noise;
        }
    }
    Noise found = look_up(*p.plan, p.rank, p.replica, from, to);
    p.at.quiet = found.quiet.until;
    p.at.next_detour = found.quiet.next;
    return found.noise;
}

INLINE u64 charge_overhead(Process &p, u64 from, u64 to) {
    return p.plan->computation_only ? 0 : charge(p, from, to);
}

INLINE void makes_ready(Process &p, u32 operations, u64 t) {
    p.at.pending = operations;
    p.at.ready = p.at.cpu_free;
    p.at.created = t;
}

INLINE void enter(Process &p, u64 t) {
    p.entry = entry_at(*p.plan, p.rank, p.stage);
    p.at.afterwards = 0;
    u32 operations = p.entry.to != NONE ? SEND : 0;
    if (p.entry.recv_slot != NONE) operations |= RECV;
    if (p.entry.packed >> 8 & 255) operations |= CALC;
    makes_ready(p, operations, t);
}

INLINE bool ended(const Process &p) { return p.cycle == p.plan->cycles; }

INLINE void enter_next(Process &p, u64 t) {
    if (++p.stage == p.stages) {
        p.stage = 0;
        ++p.cycle;
        // A process may have fewer receives than others: its slots of the last cycle need not be full.
        p.at.low = p.cycle * p.plan->slots;
    }
    if (!ended(p)) enter(p, t);
}

INLINE bool goes_on(const Process &p) { return p.entry.packed >> 24 & 1; }

// An event that ran at `t` may have been the last that the stage needs.
INLINE void settle(Process &p, u64 t) {
    if (p.at.pending != 0) return;
    if (goes_on(p)) return enter_next(p, t);
    if (p.at.open != 0) return;
    if (p.entry.packed >> 16 & 255 && !p.at.afterwards) {
        p.at.afterwards = 1;
        return makes_ready(p, CALC, t);
    }
    p.at.low += p.at.span;
    p.at.span = 0;
    enter_next(p, t);
}

// Which of two messages runs first.
INLINE bool before(const Process &p, const Waiting &a, const Waiting &b) {
    if (a.arrived != b.arrived) return a.arrived < b.arrived;
    return a.arrived != UNKNOWN && sender_of(*p.plan, p.rank, a.slot) < sender_of(*p.plan, p.rank, b.slot);
}

// The messages that run next. Those that arrive after the window may be among them.
INLINE void find_messages(Process &p) {
    p.first = p.second = {UNKNOWN, 0};
    p.more = false;
    u32 top = p.plan->groups == 1 ? 64 : load((u32 *)p.plan->tops + p.index);
    for (u32 begin = p.at.low / 64 * 64; begin < top; begin += 64) {
        u64 bits = load(known_slots(p, begin, p.index));
        for (; bits != 0; bits &= bits - 1) {
            u32 slot = begin + lowest_bit(bits);
            Waiting message = {load(arrival(p, slot, p.index)), slot};
            if (before(p, message, p.first)) {
                p.more |= p.second.arrived != UNKNOWN;
                p.second = p.first;
                p.first = message;
            } else if (before(p, message, p.second)) {
                p.more |= p.second.arrived != UNKNOWN;
                p.second = message;
            } else {
                p.more = true;
            }
        }
    }
}

INLINE u64 message_runs(const Process &p) {
    return p.first.arrived == UNKNOWN ? UNKNOWN : later(p.first.arrived, later(p.at.cpu_free, p.at.recv_free));
}

INLINE void run_message(Process &p, u64 t) {
    u32 slot = p.first.slot;
    const Tariff *tariff = (const Tariff *)p.plan->tariffs + tariff_of(*p.plan, p.rank, slot);
    u64 noise = charge_overhead(p, t, t + tariff->recv_overhead);
    p.at.recv_free = t + tariff->nic;
    p.at.cpu_free = t + tariff->message_cpu + noise;
    clear_bits(known_slots(p, slot, p.index), 1ULL << slot % 64);
    p.first = p.second;
    p.second.arrived = UNKNOWN;
    if (p.first.arrived == UNKNOWN && p.more) find_messages(p);
    if (slot < p.at.low + p.at.span) {
        --p.at.open;
        settle(p, t);
    } else {
        store(arrival(p, slot, p.index), RAN);
    }
}

INLINE void run_send(Process &p, u64 t) {
    const Plan &plan = *p.plan;
    const Tariff *tariff = (const Tariff *)plan.tariffs + (p.entry.packed & 255);
    u64 noise = charge_overhead(p, t, t + tariff->send_overhead);
    p.at.cpu_free = t + tariff->send_cpu + noise;
    p.at.send_free = t + tariff->nic;
    u64 arrives = t + plan.flight;
    u64 receiver = p.entry.to * plan.by_process + p.replica * plan.by_replica;
    u32 slot = p.cycle * plan.slots + p.entry.send_slot;
    // Seen by this round or not: it arrives in a later window.
    store(arrival(p, slot, receiver), arrives);
    set_bits(known_slots(p, slot, receiver), 1ULL << slot % 64);
    if (plan.groups > 1) raise((u32 *)plan.tops + receiver, slot + 1);
    p.next = sooner(p.next, arrives);
    if (p.told != UNKNOWN) enlist(p, p.told, UNKNOWN);
    p.told = receiver;
}

INLINE void run_computation(Process &p, u64 t) {
    u32 which = p.entry.packed >> (p.at.afterwards ? 16 : 8) & 255;
    u64 length = constant((const u64 *)p.plan->durations + which);
    p.at.cpu_free = t + length + charge(p, t, t + length);
}

INLINE u64 send_runs(const Process &p) { return later(p.at.ready, later(p.at.cpu_free, p.at.send_free)); }

// When the first local operation may run.
INLINE u64 local_runs(const Process &p) {
    if (p.at.pending == 0) return UNKNOWN;
    u64 t = p.at.pending == SEND ? UNKNOWN : p.at.pending & RECV ? p.at.ready : later(p.at.ready, p.at.cpu_free);
    return p.at.pending & SEND ? sooner(t, send_runs(p)) : t;
}

// Runs the local operation whose turn it is, at `t`.
INLINE void run_local(Process &p, u64 t) {
    // A receive that is ready at the same time as a send is next: messages wait for the CPU.
    bool sends = p.at.pending & SEND && send_runs(p) == t;
    bool receives = p.at.pending & RECV && p.at.ready == t;
    u64 arrived = UNKNOWN;
    if (receives) arrived = load(arrival(p, p.cycle * p.plan->slots + p.entry.recv_slot, p.index));
    if (sends) {
        p.at.pending &= ~SEND;
        run_send(p, t);
    }
    if (receives) {
        p.at.pending &= ~RECV;
        ++p.at.span;
        if (arrived != RAN) ++p.at.open;
    } else if (!sends) {
        p.at.pending &= ~CALC;
        run_computation(p, t);
    }
    settle(p, t);
}

INLINE State *state_of(const Process &p) { return (State *)p.plan->states + p.index; }

INLINE void load_state(Process &p) {
#ifdef __CUDACC__
    const uint4 *from = (const uint4 *)state_of(p);
    uint4 *to = (uint4 *)&p.at;
    for (int part = 0; part < 4; ++part) to[part] = from[part];
#else
    p.at = *state_of(p);
#endif
    p.cycle = p.at.stage / p.plan->stages;
    p.stage = p.at.stage % p.plan->stages;
    if (!ended(p)) p.entry = entry_at(*p.plan, p.rank, p.stage);
}

INLINE void keep_state(Process &p) {
    p.at.stage = p.cycle * p.plan->stages + p.stage;
#ifdef __CUDACC__
    uint4 *to = (uint4 *)state_of(p);
    const uint4 *from = (const uint4 *)&p.at;
    for (int part = 0; part < 4; ++part) to[part] = from[part];
#else
    *state_of(p) = p.at;
#endif
}

// Whether the next message runs before the next local operation, given when both may run.
INLINE bool is_message_first(const Process &p, u64 message, u64 local) {
    if (message != local) return message < local;
    return message != UNKNOWN && p.first.arrived - p.plan->flight < p.at.created;
}

// Runs the events of a process in the window of its replica. A turn of the loop runs a message, then a local operation,
// each if it is next: so threads that run side by side stay together.
INLINE void advance(Process &p) {
    find_messages(p);
    gather(p.lanes);
    u64 local = local_runs(p), message = message_runs(p);
    while (any(p.lanes, sooner(local, message) < p.until)) {
        if (message < p.until && is_message_first(p, message, local)) {
            run_message(p, message);
            local = local_runs(p);
            message = message_runs(p);
        }
        gather(p.lanes);
        if (local < p.until && !is_message_first(p, message, local)) {
            run_local(p, local);
            local = local_runs(p);
            message = message_runs(p);
        }
        gather(p.lanes);
    }
    // When time has run out, nobody goes on.
    u64 due = p.until == 0 ? UNKNOWN : sooner(local, message);
    p.next = sooner(p.next, due);
    enlist(p, p.told, due == UNKNOWN ? UNKNOWN : p.index);
}

// Which process of which replica has a place in the arrays.
INLINE void who(const Plan &plan, u64 index, u32 &rank, u32 &replica) {
    if (plan.by_process == 1) {
        replica = (u32)((u32)index / plan.processes);
        rank = (u32)index - replica * plan.processes;
    } else {
        rank = (u32)((u32)index / plan.replicas);
        replica = (u32)index - rank * plan.replicas;
    }
}

INLINE u64 *soonest(const Plan &plan, u32 round, u32 replica) {
    return (u64 *)plan.soonest + (u64)(round % 3) * plan.replicas + replica;
}

INLINE u32 index_of(const Plan &plan, u32 round, u64 place) {
    return round == 0 ? (u32)place : list_of(plan, round)[place];
}

INLINE u32 listed(const Plan &plan, u32 round) {
    return round == 0 ? (u32)plan.threads : load(count_of(plan, round));
}

// Runs a process that is on the list of a round. Returns the first event of later windows that it knows of.
INLINE u64 run_listed(const Plan &plan, u32 round, u32 index, u32 lanes, u32 &replica) {
    Process p = Process();
    p.plan = &plan;
    p.round = round;
    p.index = index;
    who(plan, p.index, p.rank, p.replica);
    replica = p.replica;
    p.stages = plan.way == 0 ? constant((const u32 *)plan.stages_of + p.rank) : plan.stages;
    u64 begins = round == 0 ? 0 : load(soonest(plan, round, p.replica));
    p.until = begins + plan.flight;
    p.next = p.told = UNKNOWN;
    p.lanes = lanes;
    if (round == 0) {
        p.at.next_detour = NONE;
        p.cycle = p.stages > 0 ? 0 : plan.cycles;
        if (!ended(p)) enter(p, 0);
    } else {
        load_state(p);
    }
    if (p.until >= END_OF_TIME) {
        *(volatile u32 *)plan.status = 1;
        p.until = 0;
    }
    gather(lanes);
    advance(p);
    keep_state(p);
    return p.next;
}

// What a round needs besides its processes: the next but one begins with nothing.
INLINE void clear_ahead(const Plan &plan, u32 round, u64 thread) {
    if (thread < plan.replicas) *soonest(plan, round + 2, (u32)thread) = UNKNOWN;
    if (thread == 0) ((u32 *)plan.counts)[(round + 2) % 3] = 0;
}

INLINE void begin(const Plan &plan, u64 index) {
    u64 slots = (u64)plan.slots * plan.cycles;
    for (u64 slot = 0; slot < slots; ++slot) ((u64 *)plan.arrivals)[slot * plan.threads + index] = UNKNOWN;
    for (u64 group = 0; group < plan.groups; ++group) ((u64 *)plan.known)[group * plan.threads + index] = 0;
    ((u32 *)plan.tops)[index] = 0;
    ((u32 *)plan.queued)[index] = 0;
    if (index < plan.replicas) {
        *soonest(plan, 1, (u32)index) = UNKNOWN;
        ((u64 *)plan.latest)[index] = 0;
    }
    if (index == 0) {
        ((u32 *)plan.counts)[1] = 0;
        *(u32 *)plan.status = 0;
    }
}

// A process that did not come to its end has no finish time.
INLINE u64 finish_of(const Plan &plan, u64 index) {
    const State &state = ((const State *)plan.states)[index];
    u32 rank, replica;
    who(plan, index, rank, replica);
    u32 stages = plan.way == 0 ? constant((const u32 *)plan.stages_of + rank) : plan.stages;
    bool has_ended = stages == 0 || state.stage / plan.stages == plan.cycles;
    return has_ended ? state.cpu_free : UNKNOWN;
}

INLINE void conclude(const Plan &plan, u64 index) {
    u32 rank, replica;
    who(plan, index, rank, replica);
    u64 finish = finish_of(plan, index), *latest = (u64 *)plan.latest + replica;
    ((u64 *)plan.arrivals)[index] = finish;
    if (load(latest) < finish) raise(latest, finish);
}

}  // namespace straggler

using namespace straggler;

#ifdef __CUDACC__

extern "C" __global__ void straggler_begin(const __grid_constant__ Plan plan) {
    u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index < plan.threads) begin(plan, index);
}

extern "C" __global__ void __launch_bounds__(128, 6) straggler_advance(const __grid_constant__ Plan plan, u32 round) {
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, all = (u64)gridDim.x * blockDim.x;
    for (u64 ahead = thread; ahead < plan.replicas || ahead == 0; ahead += all) clear_ahead(plan, round, ahead);
    if (threadIdx.x == 0) staged().turn = staged().count[0] = 0;
    __syncthreads();
    u32 count = listed(plan, round), turn = 0;
    u64 place = thread;
    u32 index = place < count ? index_of(plan, round, place) : 0;
    for (u64 first = thread - threadIdx.x; first < count; first += all, turn ^= 1) {
        u64 next = UNKNOWN;
        u32 replica = 0, lanes = __ballot_sync(~0U, place < count), now = index;
        bool runs = place < count;
        place += all;
        if (place < count) {
            index = index_of(plan, round, place);
            expect((const State *)plan.states + index);
            expect((const u64 *)plan.known + index);
        }
        if (runs) next = run_listed(plan, round, now, lanes, replica);
        __syncwarp();
        // One of a warp speaks for all, where they are of one replica.
        u32 of_first = __shfl_sync(~0U, replica, 0);
        if (__all_sync(~0U, replica == of_first || next == UNKNOWN)) {
            u32 high = __reduce_min_sync(~0U, (u32)(next >> 32));
            u32 low = __reduce_min_sync(~0U, (u32)(next >> 32) == high ? (u32)next : NONE);
            replica = of_first;
            next = threadIdx.x % 32 == 0 ? (u64)high << 32 | low : UNKNOWN;
        }
        if (next != UNKNOWN) {
            u64 *begins = soonest(plan, round + 1, replica);
            if (next < load(begins)) lower(begins, next);
        }
        flush(list_of(plan, round + 1), count_of(plan, round + 1), turn);
    }
}

extern "C" __global__ void straggler_conclude(const __grid_constant__ Plan plan) {
    u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index < plan.threads) conclude(plan, index);
}

#else

extern "C" void straggler_begin(const Plan *plan) {
    for (u64 index = 0; index < plan->threads; ++index) begin(*plan, index);
}

extern "C" void straggler_advance(const Plan *plan, u32 round) {
    for (u64 ahead = 0; ahead < plan->replicas; ++ahead) clear_ahead(*plan, round, ahead);
    u32 count = listed(*plan, round);
    for (u32 i = 0; i < count; ++i) {
        // Backwards in every other round: no result may depend on the order of threads.
        u32 replica;
        u32 place = round & 1 ? count - 1 - i : i;
        u64 next = run_listed(*plan, round, index_of(*plan, round, place), 1, replica);
        lower(soonest(*plan, round + 1, replica), next);
    }
}

extern "C" void straggler_conclude(const Plan *plan) {
    for (u64 index = 0; index < plan->threads; ++index) conclude(*plan, index);
}

#endif
