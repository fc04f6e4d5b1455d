// The engine of the GPU: many replicas of one collective, each process a thread.
//
// The same source is compiled twice: by nvcc for the GPU, and as plain C++ for the tests, where a loop takes the
// place of the grid. It includes only its own parts: plan.h has the structures that the host fills, noise.h the
// noise.
//
// How it works. Nothing that a process does at t reaches another before t + o_s + L. So all processes of a replica
// run independently through a window of that length, which begins with the replica's first event, or with the arrival
// of a message whose receiver is busy. Every receive of a process has a slot, into which the sender writes the
// arrival time. Processes with something to do in the next window are marked: receivers of messages, and those that
// wait for their own CPU or NIC. A round runs one window of every replica; each replica has its own simulated time.
// No result depends on the order in which the threads of a round run.

#include "plan.h"
// After plan.h, whose types it uses.
#include "noise.h"

namespace straggler {

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
    if (plan.plain) entry.packed = 0;
    if (plan.plain || (plan.way != 0 && entry.to != NONE)) entry.to = partner(plan, rank, entry.to);
    return entry;
}

// Most have one cycle, and a division takes long.
INLINE u32 slot_of_cycle(const Plan &plan, u32 slot) { return plan.cycles == 1 ? slot : slot % plan.slots; }

INLINE u32 sender_of(const Plan &plan, u32 rank, u32 slot) {
    const u32 *from = (const u32 *)plan.slot_from;
    u32 in_cycle = slot_of_cycle(plan, slot);
    if (plan.way == 0) return constant(from + (u64)in_cycle * plan.processes + rank);
    return partner(plan, rank, constant(from + in_cycle));
}

INLINE MessageCost tariff_at(const Plan &plan, u32 kind) {
    return plan.tariffs_differ ? ((const MessageCost *)plan.tariffs)[kind] : plan.tariff;
}

INLINE u32 kind_of(const Plan &plan, u32 rank, u32 slot) {
    if (!plan.tariffs_differ) return 0;
    const u8 *kinds = (const u8 *)plan.slot_tariff;
    u32 in_cycle = slot_of_cycle(plan, slot);
    return constant(kinds + (plan.way == 0 ? (u64)in_cycle * plan.processes + rank : in_cycle));
}

// ---- One process.

// Beyond this many detours the index of the trace is faster.
const u32 STEPS = 8;

// A message that waits to run: its arrival and its slot.
struct Waiting {
    u64 arrived;
    u32 slot;
};

struct Process {
    const Plan *plan;
    const Plan *given;  // the plan as the host passed it; functions that are not inlined read this one
    u32 index;     // of the thread in the arrays
    u32 rank, replica, round;
    u64 until;     // the end of the window
    u64 next;      // the first event that it has caused or left for later windows
    State at;
    u64 letters;   // its inbox, if there is only one group
    u32 cycle, stage, stages;
    Entry entry;
    Waiting first;  // the message that runs next
    // When its next operation and its next message may run.
    u64 local, message;
};

INLINE u64 *arrival(const Process &p, u32 slot, u64 index) {
    return (u64 *)p.plan->arrivals + (u64)slot * p.plan->threads + index;
}

INLINE u64 *inbox(const Process &p, u32 slot, u64 index) {
    u32 group = p.plan->groups == 1 ? 0 : slot / 32;
    return (u64 *)p.plan->inbox + (u64)group * p.plan->threads + index;
}

INLINE u64 known(u32 slot) { return 1ULL << slot % 32; }
INLINE u64 has_run(u32 slot) { return 1ULL << slot % 32 << 32; }

INLINE u32 waiting_of(u64 letters) { return (u32)letters & ~(u32)(letters >> 32); }

// Bits of the messages that have come for the group of a slot, and of those that have run.
INLINE u64 letters(const Process &p, u32 slot) { return p.plan->groups == 1 ? p.letters : load(inbox(p, slot, p.index)); }

INLINE u8 *mark_of(const Plan &plan, u32 round, u64 index) { return (u8 *)plan.marks + (round & 1) * plan.room + index; }

// Marks a process that has something to do in the next round.
INLINE void mark(const Process &p, u64 index) { store(mark_of(*p.plan, p.round + 1, index), 1); }

// Computes noise(from, to) by walking along the trace from the next detour, which is known. Returns false if that
// takes too many steps or reaches the end of the trace. A detour in progress at the end stays the next one, so that
// its rest counts later.
INLINE bool follow(const Source &trace, State &at, u64 from, u64 to, u64 &noise) {
    u32 index = at.next_detour;
    Detour detour = detour_at(trace, index);
    u64 moved = at.quiet - detour.start;
    noise = 0;
    ROLLED for (u32 step = 0; step < STEPS; ++step) {
        u64 start = detour.start + moved;
        // For an empty interval, a detour that starts there counts as in progress.
        bool inside = start < to || start <= from;
        Detour next = detour;
        if (start <= to + noise) {
            // This is the last detour: the trace repeats after it.
            if (index + 1 >= trace.count) return false;
            next = detour_at(trace, index + 1);
        }
        u64 length = next.before - detour.before;
        if (!inside && (start > to + noise || start + length > to + noise)) {
            at.quiet = start;
            at.next_detour = index;
            return true;
        }
        if (start <= from) noise = start + length > from ? start + length - from : 0;
        else if (inside) noise += length;
        detour = next;
        ++index;
    }
    return false;
}

INLINE u64 charge(Process &p, u64 from, u64 to) {
    if (to < p.at.quiet) return 0;
    u64 noise;
    if (p.at.next_detour != NONE && follow(p.given->source, p.at, from, to, noise)) return noise;
    Noise found = look_up(*p.given, p.rank, p.replica, from, to);
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

// Posts the receive of the stage.
INLINE void post(Process &p) {
    u32 slot = p.cycle * p.plan->slots + p.entry.recv_slot;
    ++p.at.span;
    if (!(letters(p, slot) & has_run(slot))) ++p.at.open;
}

INLINE void enter(Process &p, u64 t) {
    p.entry = entry_at(*p.plan, p.rank, p.stage);
    p.at.afterwards = 0;
    u32 operations = p.plan->plain || p.entry.to != NONE ? SEND : 0;
    if (p.entry.packed >> 8 & 255) operations |= CALC;
    if (p.plan->plain || p.entry.recv_slot != NONE) {
        // The stage's other operations run no sooner than its receive, so posting it now makes no difference.
        if (operations != 0) post(p);
        else operations = RECV;
    }
    makes_ready(p, operations, t);
}

INLINE bool ended(const Process &p) { return p.cycle == p.plan->cycles; }

INLINE void enter_next(Process &p, u64 t) {
    if (++p.stage == p.stages) {
        p.stage = 0;
        ++p.cycle;
        // A process with fewer receives than others leaves slots of the previous cycle unused.
        p.at.low = p.cycle * p.plan->slots;
    }
    if (!ended(p)) enter(p, t);
}

INLINE bool goes_on(const Process &p) { return p.entry.packed >> 24 & 1; }

// Moves on if the event that ran at `t` was the last one the stage needs.
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

// Whether message `a` runs before message `b`.
INLINE bool before(const Process &p, const Waiting &a, const Waiting &b) {
    if (a.arrived != b.arrived) return a.arrived < b.arrived;
    return a.arrived != UNKNOWN && sender_of(*p.plan, p.rank, a.slot) < sender_of(*p.plan, p.rank, b.slot);
}

// Finds the message that runs next. It may arrive after the window.
INLINE void find_message(Process &p) {
    p.first = {UNKNOWN, 0};
    u32 top = p.plan->groups == 1 ? 32 : load((u32 *)p.plan->tops + p.index);
    for (u32 begin = p.plan->groups == 1 ? 0 : p.at.low / 32 * 32; begin < top; begin += 32) {
        u64 all = letters(p, begin);
        // Reads two at a time, since each read takes long.
        ROLLED for (u32 bits = waiting_of(all); bits != 0; bits &= bits - 1) {
            u32 one = begin + lowest_bit(bits);
            if (bits & (bits - 1)) bits &= bits - 1;
            u32 other = begin + lowest_bit(bits);
            Waiting a = {load(arrival(p, one, p.index)), one}, b = {load(arrival(p, other, p.index)), other};
            if (before(p, a, p.first)) p.first = a;
            if (before(p, b, p.first)) p.first = b;
        }
    }
}

INLINE u64 message_runs(const Process &p) {
    return p.first.arrived == UNKNOWN ? UNKNOWN : later(p.first.arrived, later(p.at.cpu_free, p.at.recv_free));
}

INLINE void run_message(Process &p, u64 t) {
    u32 slot = p.first.slot;
    MessageCost tariff = tariff_at(*p.plan, kind_of(*p.plan, p.rank, slot));
    u64 noise = charge_overhead(p, t, t + tariff.recv_overhead);
    p.at.recv_free = t + tariff.nic;
    p.at.cpu_free = t + tariff.message_cpu + noise;
    set_bits(inbox(p, slot, p.index), has_run(slot));
    p.letters |= has_run(slot);
    if (slot < p.at.low + p.at.span) {
        --p.at.open;
        settle(p, t);
    }
}

INLINE void run_send(Process &p, u64 t) {
    const Plan &plan = *p.plan;
    MessageCost tariff = tariff_at(plan, p.entry.packed & 255);
    u64 noise = charge_overhead(p, t, t + tariff.send_overhead);
    p.at.cpu_free = t + tariff.send_cpu + noise;
    p.at.send_free = t + tariff.nic;
    u64 arrives = t + plan.flight;
    u32 receiver = p.entry.to * plan.by_process + p.replica * plan.by_replica;
    u32 slot = p.cycle * plan.slots + p.entry.send_slot;
    // Whether the receiver sees it in this round makes no difference: it arrives in a later window.
    store(arrival(p, slot, receiver), arrives);
    set_bits(inbox(p, slot, receiver), known(slot));
    if (plan.groups > 1) raise((u32 *)plan.tops + receiver, slot + 1);
    p.next = sooner(p.next, arrives);
    mark(p, receiver);
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
    if (p.plan->plain) return send_runs(p);
    if (p.at.pending == RECV) return p.at.ready;
    u64 t = p.at.pending & CALC ? later(p.at.ready, p.at.cpu_free) : UNKNOWN;
    return p.at.pending & SEND ? sooner(t, send_runs(p)) : t;
}

// Runs the local operation whose turn it is, at `t`.
INLINE void run_local(Process &p, u64 t) {
    if (!p.plan->plain && p.at.pending == RECV) {
        p.at.pending = 0;
        post(p);
    } else if (p.plan->plain || (p.at.pending & SEND && send_runs(p) == t)) {
        p.at.pending &= ~SEND;
        run_send(p, t);
    } else {
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
    // Most have one cycle, and a division takes long.
    p.cycle = p.plan->cycles == 1 ? p.at.stage >= p.plan->stages : p.at.stage / p.plan->stages;
    p.stage = p.at.stage - p.cycle * p.plan->stages;
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

INLINE bool is_busy(const Process &p) { return sooner(p.local, p.message) < p.until; }

INLINE void look(Process &p) {
    p.local = local_runs(p);
    p.message = message_runs(p);
}

// Runs a message and then a local operation, each only if it is next within the replica's window. The fixed order
// keeps the threads of a warp together.
INLINE void turn(Process &p, u32 lanes) {
    bool runs = p.message < p.until && is_message_first(p, p.message, p.local);
    if (runs) run_message(p, p.message);
    gather(lanes);
    if (runs) find_message(p);
    gather(lanes);
    look(p);
    if (p.local < p.until && !is_message_first(p, p.message, p.local)) run_local(p, p.local);
    gather(lanes);
    look(p);
}

// Finds the rank and the replica that an index of the arrays belongs to.
INLINE void who(const Plan &plan, u32 index, u32 &rank, u32 &replica) {
    if (plan.by_process == 1) {
        replica = plan.shift != NONE ? index >> plan.shift : index / plan.processes;
        rank = index - replica * plan.processes;
    } else {
        rank = index / plan.replicas;
        replica = index - rank * plan.replicas;
    }
}

INLINE u64 *soonest(const Plan &plan, u32 round, u32 replica) {
    return (u64 *)plan.soonest + (u64)(round % 3) * plan.replicas + replica;
}

INLINE Process process_at(const Plan &plan, const Plan &given, u32 round, u32 index) {
    Process p = Process();
    p.plan = &plan;
    p.given = &given;
    p.round = round;
    p.index = index;
    who(plan, index, p.rank, p.replica);
    p.stages = plan.way == 0 ? constant((const u32 *)plan.stages_of + p.rank) : plan.stages;
    p.next = UNKNOWN;
    return p;
}

// Loads a process that is marked for a round.
INLINE Process takes_up(const Plan &plan, const Plan &given, u32 round, u32 index, u32 lanes) {
    Process p = process_at(plan, given, round, index);
    p.until = load(soonest(plan, round, p.replica)) + plan.flight;
    if (plan.groups == 1) p.letters = load(inbox(p, 0, p.index));
    load_state(p);
    if (p.until >= END_OF_TIME) {
        store((u32 *)plan.status, 1);
        p.until = 0;
    }
    find_message(p);
    gather(lanes);
    look(p);
    return p;
}

// Stores a process that has nothing more to do in the round.
INLINE void lays_down(Process &p) {
    keep_state(p);
    // Nothing continues once time has run out.
    u64 due = p.until == 0 ? UNKNOWN : sooner(p.local, p.message);
    if (due == UNKNOWN) return;
    p.next = sooner(p.next, due);
    mark(p, p.index);
}

// Notes the earliest event that processes of a replica have left for later windows.
INLINE void tell(const Plan &plan, u32 round, u32 replica, u64 next) {
    if (next == UNKNOWN) return;
    u64 *begins = soonest(plan, round + 1, replica);
    if (next < load(begins)) lower(begins, next);
    store((u32 *)plan.goes_on + (round + 1) % 3, 1);
}

// Resets the bookkeeping of the round after the next.
INLINE void clear_ahead(const Plan &plan, u32 round, u64 thread) {
    if (thread < plan.replicas) *soonest(plan, round + 2, (u32)thread) = UNKNOWN;
    if (thread == 0) ((u32 *)plan.goes_on)[(round + 2) % 3] = 0;
}

INLINE void begin(const Plan &plan, u64 index) {
    *mark_of(plan, 0, index) = *mark_of(plan, 1, index) = 0;
    if (index >= plan.threads) return;
    // A receiver may see a message's bit before its arrival time. Until then the message counts as not arrived.
    u64 slots = (u64)plan.slots * plan.cycles;
    for (u64 slot = 0; slot < slots; ++slot) ((u64 *)plan.arrivals)[slot * plan.threads + index] = UNKNOWN;
    for (u64 group = 0; group < plan.groups; ++group) ((u64 *)plan.inbox)[group * plan.threads + index] = 0;
    ((u32 *)plan.tops)[index] = 0;
    Process p = process_at(plan, plan, 0, (u32)index);
    Quiet quiet = quiet_at_first(plan, p.rank, p.replica);
    p.at.quiet = quiet.until;
    p.at.next_detour = quiet.next;
    p.cycle = p.stages > 0 ? 0 : plan.cycles;
    if (!ended(p)) {
        enter(p, 0);
        *mark_of(plan, 0, index) = 1;
    }
    keep_state(p);
    if (index < plan.replicas) {
        *soonest(plan, 0, (u32)index) = 0;
        *soonest(plan, 1, (u32)index) = UNKNOWN;
        ((u64 *)plan.latest)[index] = 0;
    }
    if (index == 0) {
        ((u32 *)plan.goes_on)[1] = 0;
        *(u32 *)plan.status = 0;
    }
}

// Returns a process's finish time, or UNKNOWN if it did not come to its end.
INLINE u64 finish_of(const Plan &plan, u64 index) {
    const State &state = ((const State *)plan.states)[index];
    u32 rank, replica;
    who(plan, (u32)index, rank, replica);
    u32 stages = plan.way == 0 ? constant((const u32 *)plan.stages_of + rank) : plan.stages;
    bool has_ended = stages == 0 || state.stage / plan.stages == plan.cycles;
    return has_ended ? state.cpu_free : UNKNOWN;
}

INLINE void conclude(const Plan &plan, u64 index) {
    u32 rank, replica;
    who(plan, (u32)index, rank, replica);
    u64 finish = finish_of(plan, index), *latest = (u64 *)plan.latest + replica;
    ((u64 *)plan.arrivals)[index] = finish;
    if (load(latest) < finish) raise(latest, finish);
}

#ifdef __CUDACC__

// A warp looks for marks in chunks, of which each reading lane takes 8 bytes, and keeps what it finds until a thread
// is free for it.
const u32 WARPS = 4, BYTES = 8, KEPT = 512;
struct Found {
    u32 items[KEPT];
};

// Adds the marks of a chunk to what a warp has found, and removes them. Returns how many there were.
INLINE u32 find_marks(const Plan &plan, u32 round, u64 first, u32 readers, Found &found, u32 have) {
    u32 lane = threadIdx.x % 32;
    u64 own = first + lane * BYTES, *at = (u64 *)mark_of(plan, round, own), marks = 0;
    if (lane < readers && own < plan.room) marks = *at;
    if (marks != 0) *at = 0;
    u32 count = __popcll(marks), upto = count;
    for (u32 step = 1; step < 32; step *= 2) {
        u32 before = __shfl_up_sync(~0U, upto, step);
        if (lane >= step) upto += before;
    }
    ROLLED for (u32 place = have + upto - count; marks != 0; marks &= marks - 1, ++place) {
        found.items[place % KEPT] = (u32)own + (__ffsll((long long)marks) - 1) / 8;
    }
    __syncwarp();
    return __shfl_sync(~0U, upto, 31);
}

// Counts the next chunks without marks. In long runs most have none, and reading them one after another takes long.
const u32 CHUNKS = 8;
INLINE u32 without_marks(const Plan &plan, u32 round, u64 first, u64 stride, u32 readers) {
    u32 lane = threadIdx.x % 32;
    u64 marks[CHUNKS];
    for (u32 chunk = 0; chunk < CHUNKS; ++chunk) {
        u64 own = first + chunk * stride + lane * BYTES;
        marks[chunk] = lane < readers && own < plan.room ? *(const u64 *)mark_of(plan, round, own) : 0;
    }
    u32 empty = 0;
    for (u32 chunk = 0; chunk < CHUNKS; ++chunk) {
        bool none = !__any_sync(~0U, marks[chunk] != 0);
        if (none && empty == chunk) ++empty;
    }
    return empty;
}

// Runs a round.
INLINE void advance_all(const Plan &plan, const Plan &given, u32 round) {
    __shared__ Found of_warps[WARPS];
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, all = (u64)gridDim.x * blockDim.x;
    for (u64 ahead = thread; ahead < plan.replicas || ahead == 0; ahead += all) clear_ahead(plan, round, ahead);
    Found &found = of_warps[threadIdx.x / 32];
    // With few processes, smaller chunks let all warps take part.
    u32 readers = (u32)min(32ULL, max(4ULL, plan.room / BYTES / (all / 32)));
    u64 chunk = thread / 32 * readers * BYTES, stride = all / 32 * readers * BYTES;
    bool sparse = false;
    u32 lane = threadIdx.x % 32, taken = 0, have = 0;
    u32 replica = 0;
    u64 next = UNKNOWN;
    for (;;) {
        while (have - taken < 32 && chunk < plan.room) {
            if (sparse) chunk += without_marks(plan, round, chunk, stride, readers) * stride;
            if (chunk >= plan.room) break;
            u32 more = find_marks(plan, round, chunk, readers, found, have);
            sparse = more == 0;
            have += more;
            chunk += stride;
        }
        if (taken == have) break;
        bool runs = taken + lane < have;
        u32 index = found.items[(taken + lane) % KEPT], lanes = __ballot_sync(~0U, runs);
        taken = min(have, taken + 32);
        if (runs) {
            Process p = takes_up(plan, given, round, index, lanes);
            if (p.replica != replica) {
                tell(plan, round, replica, next);
                replica = p.replica;
                next = UNKNOWN;
            }
            gather(lanes);
            while (__any_sync(lanes, is_busy(p))) turn(p, lanes);
            lays_down(p);
            next = sooner(next, p.next);
        }
        __syncwarp();
    }
    // If all threads of a warp have the same replica, one of them reports for all.
    u32 of_first = __shfl_sync(~0U, replica, 0);
    if (__all_sync(~0U, replica == of_first || next == UNKNOWN)) {
        u32 high = __reduce_min_sync(~0U, (u32)(next >> 32));
        u32 low = __reduce_min_sync(~0U, (u32)(next >> 32) == high ? (u32)next : NONE);
        replica = of_first;
        next = lane == 0 ? (u64)high << 32 | low : UNKNOWN;
    }
    tell(plan, round, replica, next);
}

#else

static void advance_all(const Plan &plan, const Plan &given, u32 round) {
    for (u64 ahead = 0; ahead < plan.replicas; ++ahead) clear_ahead(plan, round, ahead);
    for (u64 i = 0; i < plan.threads; ++i) {
        // Backwards in every other round: no result may depend on the order of threads.
        u64 index = round & 1 ? plan.threads - 1 - i : i;
        u8 *mark = mark_of(plan, round, index);
        if (!*mark) continue;
        *mark = 0;
        Process p = takes_up(plan, given, round, (u32)index, 1);
        while (is_busy(p)) turn(p, 1);
        lays_down(p);
        tell(plan, round, p.replica, p.next);
    }
}

#endif

}  // namespace straggler

using namespace straggler;

#ifdef __CUDACC__

extern "C" __global__ void straggler_begin(const __grid_constant__ Plan plan) {
    u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index < plan.room) begin(plan, index);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 5) straggler_advance(const __grid_constant__ Plan plan, u32 round) {
    if (plan.plain) advance_all(plain_of(plan), plan, round);
    else advance_all(plan, plan, round);
}

extern "C" __global__ void straggler_conclude(const __grid_constant__ Plan plan) {
    u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index < plan.threads) conclude(plan, index);
}

#else

extern "C" void straggler_begin(const Plan *plan) {
    for (u64 index = 0; index < plan->room; ++index) begin(*plan, index);
}

extern "C" void straggler_advance(const Plan *plan, u32 round) {
    if (plan->plain) advance_all(plain_of(*plan), *plan, round);
    else advance_all(*plan, *plan, round);
}

extern "C" void straggler_conclude(const Plan *plan) {
    for (u64 index = 0; index < plan->threads; ++index) conclude(*plan, index);
}

#endif
