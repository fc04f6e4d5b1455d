// Random numbers and noise. Part of engine.cu.

namespace straggler {

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

// The turn (repetition of the trace) that a position lies in. Most runs are shorter than a trace.
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
    ROLLED while (index < source.count && detour_at(source, index).start <= position) ++index;
    return index;
}

// The rest of the last detour that started, at a position in the endlessly repeated trace.
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
    // The difference may be negative; unsigned arithmetic makes the sum right.
    return turns * all + detour_at(source, ended).before - detour_at(source, started).before + left;
}

// The time until which a trace has no detour, seen from `now`, and the detour that starts then; 0 if one is in
// progress at `now`.
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

// The noise in an interval of a process's CPU, and until when no detour follows.
struct Noise {
    u64 noise;
    Quiet quiet;
};

// Whether a single trace is the only source, the usual case.
INLINE bool is_one_trace(const Plan &plan) {
    return plan.source_count == 1 && !plan.wallclock && !plan.source.once && plan.source.count > 0;
}

INLINE Quiet quiet_at_first(const Plan &plan, u32 rank, u32 replica) {
    const Source &only = plan.source;
    if (!is_one_trace(plan) || !holds(only, rank)) return {all_quiet_until(plan, rank, replica, 0), NONE};
    return quiet_until(only, offset_of(plan, 0, only.length, rank, replica), 0);
}

APART Noise look_up(const Plan &plan, u32 rank, u32 replica, u64 from, u64 to) {
    Noise found = {0, {0, NONE}};
    const Source &only = plan.source;
    if (is_one_trace(plan) && holds(only, rank)) {
        u64 offset = offset_of(plan, 0, only.length, rank, replica);
        // Usually no detour is near, and this look-up is enough.
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

}  // namespace straggler
