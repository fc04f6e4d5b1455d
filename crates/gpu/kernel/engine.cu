// The engine of the GPU: many replicas of one collective, each process a thread.
//
// The same source is compiled twice: by nvcc for the GPU, and as plain C++ for the tests, where a loop takes the place
// of the grid. It has no other header than the C++ language.
//
// How it works. Every receive of a process has a slot for the arrival of its message, unknown at first. A thread runs its
// process through the events of the execution model, in the model's order, until it waits for a message whose arrival is
// unknown. A send writes the arrival into the slot of its receiver and gives it notice; whoever has notice runs again in
// the next round. A thread does not know which messages it has not heard of yet. So it may run an event too soon: when it
// hears of a message that arrived before, it goes back to where it waited before that arrival (it keeps the last few such
// places) and runs on from there. A send that comes out the same as before gives no notice.
//
// When nobody has notice, every process has run with exactly the messages that were sent: that is the simulation's
// result, and there is only one. A message takes a time above 0, so that what happens before it was sent cannot depend on
// it; by induction over time, all events before n times that time are right after n rounds, in whatever order threads run.

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

namespace {

const u64 UNKNOWN = ~0ULL;
const u32 NONE = ~0U;
// Simulated time beyond this is left to the CPU's engines, which know what to do when it runs out.
const u64 END_OF_TIME = 1ULL << 62;

const u32 SEND = 1, RECV = 2, CALC = 4;

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
    u64 starts, before, slots;  // addresses of the arrays of a trace
    u64 length;
    u32 count, shift;
    u32 who, first, second;  // everyone; ranks from first to second; remainder second modulo first
    u32 once;                // no trace, one delay:
    u64 at, duration;
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
    u64 arrivals;      // u64 by slot of all cycles and thread
    u64 notices;       // u64 by thread: the earliest arrival that changed; if there are several groups, or is new
    u64 known;         // u64 by group of 64 slots and thread: a bit for every slot with an arrival
    u64 tops;          // u32 by thread: one more than the last slot with an arrival
    u64 kept;          // Kept by thread
    u64 places;        // the words of a Place by number, word and thread
    u64 finish;        // u64 by thread
    u64 latest;        // u64 by replica
    u64 status;        // u32: the last round in which anyone gets notice; whether time ran out

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
    u32 ring;          // how many places are kept
    u32 turns;         // how often the threads of a block may run in a round
    u32 block;         // how many threads a block has
    u32 groups;        // of 64 slots, in all cycles
    u32 unused;
};

// Where a process waits.
struct Place {
    u64 cpu_free, send_free, recv_free, quiet;
    u64 last;        // when its last event ran
    u64 mark;        // messages up to this arrival have run; of equal ones, those up to the sender of
    u32 mark_slot;   // this slot
    u32 stage;       // of all cycles
    u32 low;         // the first slot of the receives it waits for
    u16 open, span;  // how many have not run, of how many
};

// The words of a place, and when the first message ran afterwards: its CPU was idle until then.
const u32 PLACE_WORDS = sizeof(Place) / 8 + 1;
const u32 LAST = 4, LEFT = 8;

// What a thread remembers from round to round.
struct Kept {
    u32 number;      // of places that it came by, and
    u32 valid;       // how many of the last ones are kept
    u64 seen;        // the slots whose arrivals it has heard of, of one group
};

static_assert(sizeof(Plan) == 248 && sizeof(Place) == 64 && sizeof(Source) == 72, "layout.rs says so");

// ---- What differs between the GPU and the CPU.

#ifdef __CUDACC__
INLINE u64 high_product(u64 a, u64 b) { return __umul64hi(a, b); }
INLINE u64 take(u64 *at) { return atomicExch(at, UNKNOWN); }
INLINE void lower(u64 *at, u64 value) { atomicMin(at, value); }
INLINE void raise(u32 *at, u32 value) { atomicMax(at, value); }
INLINE void mark_bits(u64 *at, u64 bits) { atomicOr(at, bits); }
INLINE u32 lowest_bit(u64 bits) { return __ffsll((long long)bits) - 1; }
INLINE void raise(u64 *at, u64 value) { atomicMax(at, value); }
INLINE void fence() { __threadfence(); }
INLINE u64 load(const u64 *at) { return *(const volatile u64 *)at; }
INLINE u32 load(const u32 *at) { return *(const volatile u32 *)at; }
INLINE void store(u64 *at, u64 value) { *(volatile u64 *)at = value; }
template <typename T> INLINE T constant(const T *at) { return __ldg(at); }
#else
INLINE u64 high_product(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
INLINE u64 take(u64 *at) { u64 value = *at; *at = UNKNOWN; return value; }
INLINE void lower(u64 *at, u64 value) { if (value < *at) *at = value; }
INLINE void raise(u32 *at, u32 value) { if (value > *at) *at = value; }
INLINE void mark_bits(u64 *at, u64 bits) { *at |= bits; }
INLINE u32 lowest_bit(u64 bits) { return __builtin_ctzll(bits); }
INLINE void raise(u64 *at, u64 value) { if (value > *at) *at = value; }
INLINE void fence() {}
INLINE u64 load(const u64 *at) { return *at; }
INLINE u32 load(const u32 *at) { return *at; }
INLINE void store(u64 *at, u64 value) { *at = value; }
template <typename T> INLINE T constant(const T *at) { return *at; }
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

// How many detours of a trace start at or before a position inside its length.
INLINE u32 started_by(const Source &source, u64 position) {
    const u64 *starts = (const u64 *)source.starts;
    u32 index = constant((const u32 *)source.slots + (position >> source.shift));
    while (index < source.count && constant(starts + index) <= position) ++index;
    return index;
}

// What is left, at a position of the endless repetition, of the detour that started last.
INLINE u64 residual(const Source &source, u64 position, u64 within, u32 started) {
    const u64 *starts = (const u64 *)source.starts, *before = (const u64 *)source.before;
    u32 last = started > 0 ? started - 1 : source.count - 1;
    u64 end = constant(starts + last) + constant(before + last + 1) - constant(before + last);
    if (started > 0) return end > within ? end - within : 0;
    // The last detour of the previous turn, unless this is the first turn.
    if (position < source.length) return 0;
    return end > within + source.length ? end - within - source.length : 0;
}

// noise(x, y) of a trace.
INLINE u64 between(const Source &source, u64 x, u64 y) {
    const u64 *before = (const u64 *)source.before;
    u64 turn = turn_of(source, x), within = x - turn * source.length;
    u32 started = started_by(source, within);
    u64 left = residual(source, x, within, started);
    if (y <= x) return left;
    u64 last = y - 1, last_turn = turn_of(source, last), turns = last_turn - turn;
    u64 all = constant(before + source.count);
    if (high_product(turns, all) != 0 || turns * all > END_OF_TIME) return END_OF_TIME;
    u32 ended = started_by(source, last - last_turn * source.length);
    // The sum of two turns' parts may be less than nothing by itself.
    return turns * all + constant(before + ended) - constant(before + started) + left;
}

// The time up to which a trace disturbs nothing, seen from `now`; 0 when it does at `now`.
INLINE u64 quiet_until(const Source &source, u64 offset, u64 now) {
    const u64 *starts = (const u64 *)source.starts;
    u64 position = now + offset, within = position - turn_of(source, position) * source.length;
    u32 started = started_by(source, within);
    if (residual(source, position, within, started) > 0) return 0;
    u64 turn = position - within - offset;
    return started < source.count ? turn + constant(starts + started) : turn + source.length + constant(starts);
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
            until = sooner(until, quiet_until(source, offset, now));
        }
    }
    return until;
}

// The noise in an interval of a process's CPU, and up to when nothing disturbs it afterwards.
struct Noise {
    u64 noise, quiet;
};

APART Noise look_up(const Plan &plan, u32 rank, u32 replica, u64 from, u64 to) {
    Noise found = {0, 0};
    const Source &only = source_at(plan, 0);
    if (plan.source_count == 1 && !plan.wallclock && !only.once && only.count > 0 && holds(only, rank)) {
        u64 offset = offset_of(plan, 0, only.length, rank, replica);
        // Most often no detour is near: then the first look-up answers both questions.
        found.quiet = quiet_until(only, offset, from);
        if (found.quiet > to) return found;
        found.noise = between(only, from + offset, to + offset);
        u64 end = to + found.noise;
        found.quiet = end < END_OF_TIME ? quiet_until(only, offset, end) : 0;
        return found;
    }
    found.noise = all_between(plan, rank, replica, from, to);
    while (plan.wallclock && to + found.noise < END_OF_TIME) {
        u64 longer = all_between(plan, rank, replica, from, to + found.noise);
        if (longer == found.noise) break;
        found.noise = longer;
    }
    u64 end = to + found.noise;
    found.quiet = end < END_OF_TIME ? all_quiet_until(plan, rank, replica, end) : 0;
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
    u64 index;  // of the thread in the arrays
    u32 rank, replica;
    bool here;  // whether it waits at the last place that it came by
    bool left;  // whether a message has run since
    bool told;  // whether it gave notice to anyone
    Place at;
    Kept kept;
    u32 cycle, stage, stages;
    Entry entry;
    // The operations of the stage that have not run, when they became ready, and when what released them ran.
    u32 pending;
    bool afterwards;
    u64 ready, created;
    // The messages that run next, of those it knows of, and whether there may be more.
    Waiting first, second;
    bool more;
    // The slots with an arrival that were found last, and their group.
    u64 known;
    u32 known_group;
};

INLINE u64 *arrival(const Process &p, u32 slot, u64 index) {
    return (u64 *)p.plan->arrivals + (u64)slot * p.plan->threads + index;
}

INLINE u64 *known_slots(const Process &p, u32 group, u64 index) {
    return (u64 *)p.plan->known + (u64)group * p.plan->threads + index;
}

INLINE u64 charge(Process &p, u64 from, u64 to) {
    if (to < p.at.quiet) return 0;
    Noise found = look_up(*p.plan, p.rank, p.replica, from, to);
    p.at.quiet = found.quiet;
    return found.noise;
}

INLINE u64 charge_overhead(Process &p, u64 from, u64 to) {
    return p.plan->computation_only ? 0 : charge(p, from, to);
}

INLINE void makes_ready(Process &p, u32 operations, u64 t) {
    p.pending = operations;
    p.ready = p.at.cpu_free;
    p.created = t;
}

INLINE void enter(Process &p, u64 t) {
    p.entry = entry_at(*p.plan, p.rank, p.stage);
    p.afterwards = false;
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
    if (p.pending != 0) return;
    if (goes_on(p)) return enter_next(p, t);
    if (p.at.open != 0) return;
    if (p.entry.packed >> 16 & 255 && !p.afterwards) {
        p.afterwards = true;
        return makes_ready(p, CALC, t);
    }
    p.at.low += p.at.span;
    p.at.span = 0;
    enter_next(p, t);
}

INLINE u32 sender_of(const Process &p, u32 slot) { return sender_of(*p.plan, p.rank, slot); }

// Which of two messages runs first.
INLINE bool before(const Process &p, const Waiting &a, const Waiting &b) {
    if (a.arrived != b.arrived) return a.arrived < b.arrived;
    return a.arrived != UNKNOWN && sender_of(p, a.slot) < sender_of(p, b.slot);
}

INLINE bool has_run(const Process &p, const Waiting &message) {
    Waiting mark = {p.at.mark, p.at.mark_slot};
    return p.at.mark != 0 && !before(p, mark, message);
}

// The slots of a group that the process has heard of.
INLINE u64 slots_of(const Process &p, u32 group) {
    return p.plan->groups == 1 ? p.kept.seen : load(known_slots(p, group, p.index));
}

// The messages that run next, of those the process knows of.
INLINE void find_messages(Process &p) {
    p.first = p.second = {UNKNOWN, 0};
    p.more = false;
    u32 top = p.plan->groups == 1 ? 1 : load((u32 *)p.plan->tops + p.index);
    p.known_group = p.at.low / 64;
    p.known = 0;
    for (u32 group = p.known_group; group * 64 < top; ++group) {
        u64 bits = slots_of(p, group);
        if (group == p.known_group) {
            p.known = bits;
            bits &= ~0ULL << p.at.low % 64;
        }
        for (; bits != 0; bits &= bits - 1) {
            u32 slot = group * 64 + lowest_bit(bits);
            Waiting message = {load(arrival(p, slot, p.index)), slot};
            if (has_run(p, message)) continue;
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

INLINE void run_message(Process &p) {
    Waiting message = p.first;
    const Tariff *tariff = (const Tariff *)p.plan->tariffs + tariff_of(*p.plan, p.rank, message.slot);
    u64 t = later(message.arrived, later(p.at.cpu_free, p.at.recv_free));
    u64 noise = charge_overhead(p, t, t + tariff->recv_overhead);
    p.at.recv_free = t + tariff->nic;
    p.at.cpu_free = t + tariff->message_cpu + noise;
    p.at.last = t;
    p.at.mark = message.arrived;
    p.at.mark_slot = message.slot;
    p.first = p.second;
    p.second.arrived = UNKNOWN;
    if (p.first.arrived == UNKNOWN && p.more) find_messages(p);
    if (message.slot < p.at.low + p.at.span) {
        --p.at.open;
        settle(p, t);
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
    u64 *there = arrival(p, slot, receiver);
    u64 before = load(there);
    if (before == arrives) return;
    store(there, arrives);
    p.told = true;
    // Whoever sees the bit or the notice sees the arrival.
    fence();
    if (before == UNKNOWN) mark_bits(known_slots(p, slot / 64, receiver), 1ULL << slot % 64);
    if (before == UNKNOWN && plan.groups == 1) return;
    if (before == UNKNOWN) raise((u32 *)plan.tops + receiver, slot + 1);
    fence();
    lower((u64 *)plan.notices + receiver, sooner(before, arrives));
}

INLINE bool is_known(Process &p, u32 slot) {
    if (slot / 64 != p.known_group) {
        p.known_group = slot / 64;
        p.known = slots_of(p, p.known_group);
    }
    return p.known >> slot % 64 & 1;
}

// Whether the message of a slot has run.
INLINE bool is_there(Process &p, u32 slot) {
    return is_known(p, slot) && has_run(p, {load(arrival(p, slot, p.index)), slot});
}

INLINE void run_receive(Process &p) {
    u32 slot = p.cycle * p.plan->slots + p.entry.recv_slot;
    ++p.at.span;
    if (!is_there(p, slot)) ++p.at.open;
}

INLINE void run_computation(Process &p, u64 t) {
    u32 which = p.entry.packed >> (p.afterwards ? 16 : 8) & 255;
    u64 length = constant((const u64 *)p.plan->durations + which);
    p.at.cpu_free = t + length + charge(p, t, t + length);
}

// Runs the local operation whose turn it is, unless a message comes first.
INLINE void run_local_or_message(Process &p) {
    u64 sends = later(p.ready, later(p.at.cpu_free, p.at.send_free));
    u64 t;
    if (p.pending & RECV) t = p.ready;
    else if (p.pending == SEND) t = sends;
    else t = later(p.ready, p.at.cpu_free);
    if (p.pending & SEND) t = sooner(t, sends);
    if (p.first.arrived != UNKNOWN) {
        u64 runs = later(p.first.arrived, later(p.at.cpu_free, p.at.recv_free));
        if (runs < t || (runs == t && p.first.arrived - p.plan->flight < p.created)) return run_message(p);
    }
    p.at.last = t;
    // A receive that is ready at the same time is next: messages wait for the CPU.
    bool sends_now = p.pending & SEND && sends == t;
    bool receives_now = p.pending & RECV && p.ready == t;
    if (sends_now) {
        p.pending &= ~SEND;
        run_send(p, t);
    }
    if (receives_now) {
        p.pending &= ~RECV;
        run_receive(p);
    } else if (!sends_now) {
        p.pending &= ~CALC;
        run_computation(p, t);
    }
    settle(p, t);
}

// Whether all messages that the process waits for are known.
INLINE bool knows_what_it_waits_for(Process &p) {
    for (u32 slot = p.at.low; slot < p.at.low + p.at.span; ++slot) {
        if (!is_known(p, slot)) return false;
    }
    return true;
}

INLINE u64 *place_word(const Process &p, u32 number, u32 word) {
    return (u64 *)p.plan->places + ((u64)(number % p.plan->ring) * PLACE_WORDS + word) * p.plan->threads + p.index;
}

INLINE u64 both(u32 low, u32 high) { return (u64)high << 32 | low; }

INLINE void keep_place(Process &p) {
    p.at.stage = p.cycle * p.plan->stages + p.stage;
    const Place &at = p.at;
    u64 words[PLACE_WORDS] = {at.cpu_free, at.send_free, at.recv_free, at.quiet, at.last, at.mark,
                              both(at.mark_slot, at.stage), both(at.low, (u32)at.span << 16 | at.open), UNKNOWN};
    for (u32 word = 0; word < PLACE_WORDS; ++word) *place_word(p, p.kept.number, word) = words[word];
    ++p.kept.number;
    if (p.kept.valid < p.plan->ring) ++p.kept.valid;
    p.here = true;
    p.left = false;
}

INLINE void return_to_place(Process &p) {
    u64 words[PLACE_WORDS];
    for (u32 word = 0; word < LEFT; ++word) words[word] = *place_word(p, p.kept.number - 1, word);
    p.at = {words[0], words[1], words[2], words[3], words[4], words[5], (u32)words[6], (u32)(words[6] >> 32),
            (u32)words[7], (u16)(words[7] >> 32), (u16)(words[7] >> 48)};
    p.cycle = p.at.stage / p.plan->stages;
    p.stage = p.at.stage % p.plan->stages;
    p.entry = entry_at(*p.plan, p.rank, p.stage);
    p.pending = 0;
    p.afterwards = false;
    p.here = true;
    p.left = false;
}

INLINE void start(Process &p) {
    p.kept.number = p.kept.valid = 0;
    p.at = Place();
    p.cycle = p.stages > 0 ? 0 : p.plan->cycles;
    p.stage = 0;
    p.pending = 0;
    p.here = false;
    if (!ended(p)) enter(p, 0);
}

// Goes back to the last place that the process came by before anything changed.
INLINE void go_back(Process &p, u64 changed) {
    if (p.here && !p.left && p.at.last < changed) return;
    while (p.kept.valid > 0 && *place_word(p, p.kept.number - 1, LAST) >= changed) {
        --p.kept.number;
        --p.kept.valid;
    }
    if (p.kept.valid > 0) return_to_place(p);
    else start(p);
}

// Whether a message that the process had not heard of ran while it waited, and so changes nothing but that it was there.
INLINE bool ran_while_idle(Process &p, u64 arrived, u32 slot) {
    for (u32 back = 1; back <= p.kept.valid; ++back) {
        u32 number = p.kept.number - back;
        if (*place_word(p, number, LAST) >= arrived) continue;
        u64 free = later(*place_word(p, number, 0), *place_word(p, number, 2)), left = *place_word(p, number, LEFT);
        const Tariff *tariff = (const Tariff *)p.plan->tariffs + tariff_of(*p.plan, p.rank, slot);
        if (left == UNKNOWN || arrived < free || arrived >= left || arrived + tariff->nic > left) return false;
        u64 end = arrived + tariff->recv_overhead, noise = 0;
        if (!p.plan->computation_only && end >= *place_word(p, number, 3)) {
            noise = look_up(*p.plan, p.rank, p.replica, arrived, end).noise;
        }
        if (arrived + tariff->message_cpu + noise > left) return false;
        *place_word(p, number, LEFT) = arrived;
        return true;
    }
    return false;
}

// Takes note of slots that have got arrivals.
INLINE void hear_of(Process &p, u64 news) {
    p.kept.seen |= news;
    p.known_group = NONE;
    for (; news != 0; news &= news - 1) {
        u32 slot = lowest_bit(news);
        u64 arrived = load(arrival(p, slot, p.index));
        if (arrived <= p.at.last && !ran_while_idle(p, arrived, slot)) go_back(p, arrived);
    }
}

// How many of the messages that it waits for have not run. If none, it has waited for nothing.
INLINE void count_open(Process &p) {
    p.at.open = 0;
    for (u32 slot = p.at.low; slot < p.at.low + p.at.span; ++slot) p.at.open += !is_there(p, slot);
    if (p.at.open == 0) settle(p, p.at.last);
}

// Runs a process that has notice as far as the known messages allow; says whether it had any.
INLINE bool advance(Process &p) {
    u64 *notice = (u64 *)p.plan->notices + p.index;
    u64 changed = load(notice), news = 0;
    if (p.plan->groups == 1) news = load(known_slots(p, 0, p.index)) & ~p.kept.seen;
    if (changed == UNKNOWN && news == 0) return false;
    if (changed != UNKNOWN) changed = take(notice);
    fence();
    if (changed != UNKNOWN) go_back(p, changed);
    else if (!p.here || p.left) return_to_place(p);
    hear_of(p, news);
    if (p.here) count_open(p);
    find_messages(p);
    while (!ended(p) && p.at.cpu_free < END_OF_TIME) {
        if (p.pending != 0) {
            p.here = false;
            run_local_or_message(p);
            continue;
        }
        if (!p.here) keep_place(p);
        // A message that arrives at this moment may be known and not found: there will be notice of it.
        if (!knows_what_it_waits_for(p) || p.first.arrived == UNKNOWN) return true;
        if (!p.left) *place_word(p, p.kept.number - 1, LEFT) = later(p.first.arrived, later(p.at.cpu_free, p.at.recv_free));
        p.left = true;
        run_message(p);
    }
    p.here = false;
    if (ended(p)) store((u64 *)p.plan->finish + p.index, p.at.cpu_free);
    else ((volatile u32 *)p.plan->status)[1] = 1;
    return true;
}

// Which process of which replica a thread is.
INLINE void who(const Plan &plan, u64 thread, u32 &rank, u32 &replica) {
    if (plan.by_process == 1) {
        rank = (u32)(thread % plan.processes);
        replica = (u32)(thread / plan.processes);
    } else {
        rank = (u32)(thread / plan.replicas);
        replica = (u32)(thread % plan.replicas);
    }
}

// A process as it was left in the last round.
INLINE Process process_of(const Plan &plan, u64 thread) {
    Process p = Process();
    p.plan = &plan;
    who(plan, thread, p.rank, p.replica);
    p.index = p.rank * plan.by_process + p.replica * plan.by_replica;
    p.stages = plan.way == 0 ? constant((const u32 *)plan.stages_of + p.rank) : plan.stages;
    p.kept = ((const Kept *)plan.kept)[p.index];
    return p;
}

INLINE void leave(const Process &p) { ((Kept *)p.plan->kept)[p.index] = p.kept; }

INLINE void begin(const Plan &plan, u64 index) {
    u64 slots = (u64)plan.slots * plan.cycles;
    for (u64 slot = 0; slot < slots; ++slot) ((u64 *)plan.arrivals)[slot * plan.threads + index] = UNKNOWN;
    for (u64 group = 0; group * 64 < slots; ++group) ((u64 *)plan.known)[group * plan.threads + index] = 0;
    // Notice of everything: all start.
    ((u64 *)plan.notices)[index] = 0;
    ((u32 *)plan.tops)[index] = 0;
    ((Kept *)plan.kept)[index] = {0, 0, 0};
    ((u64 *)plan.finish)[index] = UNKNOWN;
    if (index < plan.replicas) ((u64 *)plan.latest)[index] = 0;
    if (index < 2) ((u32 *)plan.status)[index] = 0;
}

INLINE void conclude(const Plan &plan, u64 thread) {
    u32 rank, replica;
    who(plan, thread, rank, replica);
    u64 index = rank * plan.by_process + replica * plan.by_replica;
    raise((u64 *)plan.latest + replica, ((u64 *)plan.finish)[index]);
}

}  // namespace

#ifdef __CUDACC__

extern "C" __global__ void straggler_begin(const __grid_constant__ Plan plan) {
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (thread < plan.threads) begin(plan, thread);
}

extern "C" __global__ void straggler_advance(const __grid_constant__ Plan plan, u32 round) {
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    bool exists = thread < plan.threads;
    Process p = process_of(plan, exists ? thread : 0);
    bool ran = false;
    // Neighbours often wait for each other: as long as one of them gets on, the others look again.
    for (u32 turn = 0; turn < plan.turns; ++turn) {
        bool runs = exists && advance(p);
        ran |= runs;
        if (!__syncthreads_or(runs)) break;
    }
    if (ran) leave(p);
    if (__syncthreads_or(p.told) && threadIdx.x == 0) *(volatile u32 *)plan.status = round + 1;
}

extern "C" __global__ void straggler_conclude(const __grid_constant__ Plan plan) {
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (thread < plan.threads) conclude(plan, thread);
}

#else

extern "C" void straggler_begin(const Plan *plan) {
    for (u64 thread = 0; thread < plan->threads; ++thread) begin(*plan, thread);
}

extern "C" void straggler_advance(const Plan *plan, u32 round) {
    const u64 BLOCK = 8;
    u64 blocks = (plan->threads + BLOCK - 1) / BLOCK;
    for (u64 i = 0; i < blocks; ++i) {
        // Backwards in every other round: no result may depend on the order of threads.
        u64 first = BLOCK * (round & 1 ? blocks - 1 - i : i);
        u64 count = plan->threads - first < BLOCK ? plan->threads - first : BLOCK;
        Process block[BLOCK];
        for (u64 lane = 0; lane < count; ++lane) block[lane] = process_of(*plan, first + lane);
        bool runs = true;
        for (u32 turn = 0; turn < plan->turns && runs; ++turn) {
            runs = false;
            for (u64 lane = 0; lane < count; ++lane) runs |= advance(block[round & 2 ? count - 1 - lane : lane]);
        }
        for (u64 lane = 0; lane < count; ++lane) {
            leave(block[lane]);
            if (block[lane].told) *(u32 *)plan->status = round + 1;
        }
    }
}

extern "C" void straggler_conclude(const Plan *plan) {
    for (u64 thread = 0; thread < plan->threads; ++thread) conclude(*plan, thread);
}

#endif
