"""Records what every rank of a PyTorch training loop does, as a table for `straggler training show`.

    import straggler_probe
    probe = straggler_probe.Probe("traces/", model=ddp_model, optimizer=optimizer)
    for batch in probe.steps(loader):
        with probe.forward(): loss = loss_of(ddp_model(batch))
        with probe.backward(): loss.backward()
        with probe.optimizer(): optimizer.step()
    probe.close()

Each rank writes rank-00000.csv and so on, rank 0 also meta.yaml. Copy this file beside your program: it needs nothing but
Python 3.8 or newer. An error of the probe never reaches the program: it ends the recording with one line on stderr.
"""

import atexit, collections, contextlib, functools, gc, itertools, os, socket, sys, time

COLUMNS = "step,rank,dp_rank,stage,optype,start_ts,duration,seq_id,mc,gmc,mb_id\n"
META = "trial_name: %s\ndp_size: %d\npp_size: %d\ntp_size: %d\nworld_size: %d\n"
CLOCK = "host: %s\nwall_minus_monotonic_at_start: %s\nwall_minus_monotonic_at_last_flush: %s\n"
INCLUDES_WAITS = "backward includes waits for other ranks: "
FORWARD, BACKWARD, OPTIMIZER = "forward-compute", "backward-compute", "optimizer"
GRAD_SYNC, PARAM_GATHER, DATALOAD, GC = "grads-reduce-scatter", "params-all-gather", "dataload", "gc"
SECOND, SHORTEST_GC = 10**9, 10**5  # ns. Young objects are collected all the time; only long pauses delay a step.
EPOCH = 1767225600 * SECOND  # 2026-01-01: readers use doubles, which resolve only 240 ns in seconds since 1970.

def _soft(method):  # An exception inside the probe ends the recording, not the training.
    @functools.wraps(method)
    def call(self, *args, **named):
        if not self._off:
            try:
                return method(self, *args, **named)
            except Exception as error:
                self._note("recording ends here: %s: %s" % (type(error).__name__, error))
                with contextlib.suppress(Exception):
                    self._stop()
    return call

def _wall_offset():
    """Wall clock minus monotonic clock in ns. The shortest of some readings was not interrupted."""
    readings = [(time.monotonic_ns(), time.time_ns(), time.monotonic_ns()) for _ in range(9)]
    before, wall, after = min(readings, key=lambda reading: reading[2] - reading[0])
    return wall - (before + after) // 2

def _seconds(ns): return "-" * (ns < 0) + "%d.%09d" % divmod(abs(ns), SECOND)

def _write_whole(path, text):
    with open(path + ".tmp", "w") as file:
        file.write(text)
    os.replace(path + ".tmp", path)

class _Phase:
    def __init__(self, probe, optype): self._probe, self._optype = probe, optype
    def __enter__(self): self._probe._begin(self._optype)
    def __exit__(self, error, *_): self._probe._end(error is not None)

class Probe:
    """Recorder of one rank. All ranks of a job name the same folder; another job gets another folder.

    model                     the DistributedDataParallel or FSDP module: waits for other ranks are told from computing
    optimizer                 its steps are recorded without `with probe.optimizer()`, in PyTorch 2.0 or newer
    cuda                      whether phases run on a GPU; the model's device tells if not given
    rank, world_size          from torch.distributed, or else from RANK and WORLD_SIZE
    pp_size, tp_size          how the job is divided; of each tensor-parallel group the first member records
    stage, dp_rank            this rank's place, where rank is not (stage * dp_size + dp_rank) * tp_size
    first_step                the number of the first step, for a job that resumes
    flush_steps, flush_seconds    rows are written between two steps, when one of these has passed
    """
    def __init__(self, folder, model=None, optimizer=None, **options):
        self._off, self._pid, self._notes, self._rank = False, os.getpid(), set(), options.get("rank")
        self._start(str(folder), model, optimizer, **options)

    @_soft
    def _start(self, folder, model, optimizer, cuda=None, rank=None, world_size=None, pp_size=1, tp_size=1, stage=None,
               dp_rank=None, trial_name="training", first_step=0, flush_steps=50, flush_seconds=30):
        torch = self._torch = sys.modules.get("torch")
        dist = torch and torch.distributed.is_available() and torch.distributed.is_initialized() and torch.distributed
        world = world_size or (dist.get_world_size() if dist else int(os.environ.get("WORLD_SIZE", 1)))
        rank = rank if rank is not None else dist.get_rank() if dist else int(os.environ.get("RANK", 0))
        self._rank, self._pp, dp_size = rank, pp_size, world // (pp_size * tp_size)
        if world < 1 or dp_size * pp_size * tp_size != world:
            raise ValueError("world_size %d is not a multiple of pp_size * tp_size = %d" % (world, pp_size * tp_size))
        self._stage = rank // (dp_size * tp_size) if stage is None else stage
        dp_rank = rank // tp_size % dp_size if dp_rank is None else dp_rank
        self._place = ",%d,%d,%d," % (rank, dp_rank, self._stage)
        self._number, self._flush_steps, self._flush_ns = first_step, flush_steps, flush_seconds * SECOND
        # The running step: its rows, their count by type, the open phase, and when the last gradient was ready.
        self._in_step, self._ops, self._counts, self._open, self._depth, self._ready = False, [], {}, None, 0, []
        self._reference = self._anchor = None  # (host ns, CUDA event) of the running step, and of the last settled one
        self._pending, self._lines, self._hooks = collections.deque(), [], {}  # ended steps; rows to write; gradient hooks
        # Waits for other ranks in the open phase; whether one goes on; replaced functions; why waits may be in computing.
        self._waits, self._waiting, self._replaced, self._caveat = [], False, [], None
        self._steps, self._flushed, self._offset, self._gc_start = 0, time.monotonic_ns(), _wall_offset(), None
        if rank % tp_size:
            return self._stop(flush=False)
        on_gpu = [] if model is None else [parameter.is_cuda for parameter in model.parameters()]
        self._cuda = any(on_gpu or [torch and torch.cuda.is_initialized()]) if cuda is None else cuda
        os.makedirs(folder, exist_ok=True)
        self._path = os.path.join(folder, "rank-%05d" % rank)
        with contextlib.suppress(FileNotFoundError):
            os.replace(self._path + ".csv", self._path + ".csv.old")
        _write_whole(self._path + ".csv", COLUMNS)
        if rank == 0:
            _write_whole(os.path.join(folder, "meta.yaml"), META % (trial_name, dp_size, pp_size, tp_size, world))
        atexit.register(self.close)
        gc.callbacks.append(self._on_gc)
        if hasattr(optimizer, "register_step_post_hook"):
            optimizer.register_step_pre_hook(lambda *_: self._begin(OPTIMIZER))
            optimizer.register_step_post_hook(lambda *_: self._end(False))
        world > 1 and self._watch_gradients(model)

    def steps(self, loader, microbatches=1):
        """Yields the batches of the loader. A step is as many batches as `microbatches`; loading them is recorded."""
        batches = iter(loader)
        try:
            for taken in itertools.count():
                if taken % microbatches == 0:
                    self.next_step()
                begun, batch = time.monotonic_ns(), next(batches, self)
                if batch is self:  # no more batches
                    break
                self._add(DATALOAD, begun, time.monotonic_ns())
                yield batch
        finally:
            self._end_step()

    @_soft
    def next_step(self):
        """Ends a step and begins the next one. A loop without `steps` calls this at the beginning of each step."""
        self._end_step()
        self._settle(until=0)
        if self._steps >= self._flush_steps or time.monotonic_ns() - self._flushed >= self._flush_ns:
            self._flush()
        self._in_step, self._open, self._depth = True, None, 0
        if self._cuda:
            if self._anchor is None and not self._pending:
                self._torch.cuda.synchronize()  # Once: an idle GPU runs the first event as soon as it is recorded.
            self._reference = (time.monotonic_ns(), self._mark())

    # Phases, for use in `with`. They do not nest.
    def forward(self): return _Phase(self, FORWARD)
    def backward(self): return _Phase(self, BACKWARD)
    def clip(self): return _Phase(self, "optimizer-clip-main-grad")
    def optimizer(self): return _Phase(self, OPTIMIZER)
    def grad_sync(self): return _Phase(self, GRAD_SYNC)  # if the program does it itself: DDP is recorded anyway
    def param_gather(self): return _Phase(self, PARAM_GATHER)

    @_soft
    def close(self):
        if os.getpid() == self._pid:  # Not in a forked process. Called at program exit at the latest.
            self._end_step()
            self._settle(time.monotonic_ns() + 5 * SECOND)
            self._stop()
    def __enter__(self): return self
    def __exit__(self, *_): self.close()

    def _mark(self, stream=None):
        """A host time in ns, or a CUDA event, whose time is known later."""
        if not self._cuda:
            return time.monotonic_ns()
        if self._torch.cuda.is_current_stream_capturing():
            raise RuntimeError("phases cannot be timed while a CUDA graph is captured")
        event = self._torch.cuda.Event(enable_timing=True)
        return event.record(*[stream] if stream else []) or event

    @_soft
    def _add(self, optype, start, end, mc=-1, mb=-1, waits=()):
        seq = self._counts[optype] = self._counts.get(optype, -1) + 1
        self._ops.append([optype, seq, start, end, mc, mb, waits])
        return self._ops[-1]

    def _wait_of(self, owner, name):
        """Replaces a function that waits for other ranks by one that notes when. It does nothing else outside of phases."""
        function = getattr(owner, name, None)
        if function is None:
            return
        @functools.wraps(function)
        def call(*args, **named):
            stream = self._wait_begins(*args[:1])
            try:
                return function(*args, **named)
            finally:
                if stream is not None:
                    self._wait_ends(stream)
        setattr(owner, name, call)
        self._replaced.append((owner, name, function))

    @_soft
    def _wait_begins(self, first=None):
        """The stream that is going to wait, or False without a GPU; None if it is not the one that computes."""
        if self._waiting or not self._open or self._open[0] not in (FORWARD, BACKWARD):
            return None
        stream = False
        if self._cuda:
            cuda = self._torch.cuda
            stream = first if isinstance(first, cuda.Stream) else cuda.current_stream()
            if stream != self._stream:
                return None
        self._waits.append([self._mark(stream), None])
        self._waiting = True
        return stream

    @_soft
    def _wait_ends(self, stream):
        self._waiting, self._caveat = False, None
        self._waits[-1][1] = self._mark(stream)

    @_soft
    def _begin(self, optype):
        self._depth += 1
        if self._depth == 1:
            self._ready = []
            self._waits, self._stream = [], self._torch.cuda.current_stream() if self._cuda else None
            self._open = (optype, self._mark())
        elif self._open and self._open[0] != optype:
            self._note("%s is not recorded inside %s: end that phase first" % (optype, self._open[0]))

    @_soft
    def _end(self, failed):
        self._depth = max(self._depth - 1, 0)
        if self._depth or not self._open:
            return
        (optype, start), self._open = self._open, None
        if not self._in_step:
            self._note("%s is not recorded outside of steps: use probe.steps() or probe.next_step()" % optype)
        elif optype not in (FORWARD, BACKWARD) and not failed:
            self._add(optype, start, self._mark(), 0 if optype in (GRAD_SYNC, PARAM_GATHER) else -1)
        elif not failed:
            microbatch = self._counts[optype, "microbatch"] = self._counts.get((optype, "microbatch"), -1) + 1
            end, watched = self._mark(), self._ready and optype == BACKWARD
            if watched and len(self._hooks) > 1:
                self._keep_last_hook()
                watched = not self._cuda  # In the first backward pass, gradients have only host times.
            self._add(optype, start, self._ready[0] if watched else end, 0, microbatch, self._waits)
            if watched and self._model.require_backward_grad_sync:
                self._add(GRAD_SYNC, self._ready[0], end, 0)

    @_soft
    def _end_step(self):
        # Nothing is computed in a step if the loader has no more batches.
        if self._in_step and any(op[0] not in (DATALOAD, GC) for op in self._ops):
            self._pending.append((self._number, self._ops, self._reference))
            self._number, self._steps = self._number + 1, self._steps + 1
        self._in_step, self._ops, self._counts = False, [], {}

    @_soft
    def _on_gc(self, event, _):
        now = time.monotonic_ns()
        if event == "stop" and self._in_step and now - (self._gc_start or now) >= SHORTEST_GC:
            self._add(GC, self._gc_start, now)
        self._gc_start = now

    def _watch_gradients(self, model):
        """Finds out when the last gradient is there: from then on a backward pass only waits for other ranks."""
        model = getattr(model, "_orig_mod", model)  # torch.compile wraps it
        distributed = self._torch and self._torch.nn.parallel.DistributedDataParallel
        if not distributed or not isinstance(model, distributed):
            self._caveat = ("no model was given: pass the DistributedDataParallel module, Probe(folder, model)" if model is None
                            else "no wait of %s was seen" % type(model).__name__)
            if model is None or not self._torch:
                self._note(INCLUDES_WAITS + self._caveat)
            return self._torch and self._watch_waits()
        self._model, trained = model, [parameter for parameter in model.parameters() if parameter.requires_grad]
        self._hooks = {key: parameter.register_hook(functools.partial(self._on_gradient, key))
                       for key, parameter in enumerate(trained)}

    def _watch_waits(self):
        """Finds out when a phase waits for other ranks. FSDP, tensor parallelism and others wait in one of these calls. On a GPU
        it is the computing stream that waits, for a stream that communicates."""
        self._wait_of(self._torch.distributed.Work, "wait")
        self._wait_of(sys.modules.get("torch.distributed._functional_collectives"), "wait_tensor")
        if self._cuda:
            self._wait_of(self._torch.cuda.Stream, "wait_event")
            self._wait_of(self._torch.cuda.Stream, "wait_stream")

    @_soft
    def _on_gradient(self, key, _):
        if self._open and self._open[0] == BACKWARD:
            self._ready = [self._mark() if len(self._hooks) == 1 else time.monotonic_ns()]
            self._last_gradient = key

    def _keep_last_hook(self):
        """The order of gradients is the same in all steps: after the first one, only the last of them is watched."""
        for key in [key for key in self._hooks if key != self._last_gradient]:
            self._hooks.pop(key).remove()

    def _settle(self, until):
        """Turns steps into lines, in order, as far as the GPU has done them. After a crash it may never do the last."""
        while self._pending:
            number, ops, reference = self._pending[0]
            ops = sorted((op for op in ops if op[3] is not None), key=lambda op: op[:2])
            waits = [mark for op in ops for pair in op[6] for mark in pair if mark is not None]
            marks = [mark for op in ops for mark in op[2:4]] + waits + list(reference or [])
            events = [mark for mark in marks if not isinstance(mark, int)]
            while not all(event.query() for event in events):
                if time.monotonic_ns() >= until:
                    return
                time.sleep(0.001)
            self._pending.popleft()
            if reference and self._anchor:
                # The GPU and host clocks drift apart, but an event runs after it was recorded and before it is seen.
                ran = max(reference[0], min(self._host_ns(reference[1]), time.monotonic_ns()))
                reference = (ran, reference[1])
            self._anchor = reference
            self._lines += [self._line(number, op) for op in self._with_waits_last(ops)]

    def _host_ns(self, mark):
        return mark if isinstance(mark, int) else self._anchor[0] + int(self._anchor[1].elapsed_time(mark) * 1e6)

    def _with_waits_last(self, ops):
        """The operations with host times. The waits for other ranks within forward and backward passes become one, after the last
        of these: what a rank computes and how long it waits stay the same."""
        waited = lambda pair: max(self._host_ns(pair[1]) - self._host_ns(pair[0]), 0) if pair[1] is not None else 0
        ops = [op[:2] + [self._host_ns(op[2]), self._host_ns(op[3])] + op[4:6] + [sum(map(waited, op[6]))] for op in ops]
        last = max((op[3] for op in ops if op[0] in (FORWARD, BACKWARD)), default=0)
        late = 0
        for op in sorted(ops, key=lambda op: op[2:4]):
            if op[2] < last:
                op[2] -= late
                late += min(op[6], op[3] - late - op[2])
                op[3] -= late
        if late:
            ops.append([GRAD_SYNC, sum(op[0] == GRAD_SYNC for op in ops), last - late, last, 0, -1, 0])
            ops.sort(key=lambda op: op[:2])
        return ops

    def _line(self, number, op):
        optype, seq, start, end, mc, mb = op[:6]
        gmc = mc * self._pp + self._stage if mb >= 0 else -1
        times = _seconds(start + self._offset - EPOCH), _seconds(max(end - start, 0))
        return "%d%s%s,%s,%s,%d,%d,%d,%d\n" % ((number, self._place, optype) + times + (seq, mc, gmc, mb))

    def _flush(self):
        text = "".join(self._lines).encode()
        with open(self._path + ".csv", "r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if file.write(text) != len(text):
                file.truncate(size)
                raise OSError("%s.csv: the disk is full" % self._path)
        self._lines = []
        offsets = _seconds(self._offset), _seconds(_wall_offset())
        caveat = self._caveat and "caveat: %s%s\n" % (INCLUDES_WAITS, self._caveat)
        if caveat and self._torch:
            self._note(INCLUDES_WAITS + self._caveat)
        _write_whole(self._path + ".clock", CLOCK % ((socket.gethostname(),) + offsets) + (caveat or ""))
        self._steps, self._flushed = 0, time.monotonic_ns()

    def _stop(self, flush=True):
        self._off = True
        atexit.unregister(self.close)
        gc.callbacks[:] = [callback for callback in gc.callbacks if callback != self._on_gc]
        for owner, name, function in self._replaced:
            setattr(owner, name, function)
        if flush:
            self._flush()

    def _note(self, text):
        if text not in self._notes:
            self._notes.add(text)
            print("straggler_probe: rank %s: %s" % (self._rank, text), file=sys.stderr)
