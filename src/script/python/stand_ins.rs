//! Python for what this lab has as one call and PyTorch in several lines: functions that are written once, below the imports.

/// A function that a translation brings along.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum StandIn {
    Digits,
    Ranks,
    Timed,
    Div,
    DivIn,
    Rem,
    Copy,
}

impl StandIn {
    pub(super) fn name(self) -> &'static str {
        match self {
            StandIn::Digits => "handwritten_digits",
            StandIn::Ranks => "run_ranks",
            StandIn::Timed => "timed",
            StandIn::Div => "_div",
            StandIn::DivIn => "_div_in_place",
            StandIn::Rem => "_rem",
            StandIn::Copy => "_copy",
        }
    }

    /// The function's lines. Each brings what it imports.
    pub(super) fn python(self) -> &'static str {
        match self {
            StandIn::Digits => DIGITS,
            StandIn::Ranks => RANKS,
            StandIn::Timed => TIMED,
            StandIn::Div => DIV,
            StandIn::DivIn => DIV_IN_PLACE,
            StandIn::Rem => REM,
            StandIn::Copy => COPY,
        }
    }

    pub(super) fn needs_torch(self) -> bool {
        matches!(self, StandIn::Digits | StandIn::Ranks | StandIn::Timed)
    }
}

/// The same images in the same order, each fifth one for testing.
const DIGITS: &str = r#"def handwritten_digits():
    """1,797 digits of 8 x 8 pixels with their labels: scikit-learn's, each fifth one for testing."""
    import types
    from sklearn.datasets import load_digits
    x, y = load_digits(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32) / 16, torch.tensor(y)
    test = torch.arange(len(x)) % 5 == 0
    return types.SimpleNamespace(x_train=x[~test], y_train=y[~test], x_test=x[test], y_test=y[test])
"#;

/// Ranks are forked: what `torch.multiprocessing.spawn` starts can be given no function of another, and gives nothing
/// back.
const RANKS: &str = r#"def run_ranks(function, nprocs=None, args=None, timeout=1800.0):
    """What function(rank, world) gives on each rank: processes of one group, forked from this one.

    A process that is forked from one that has used CUDA can't use it. On GPUs let this come first, or write the ranks
    as a program of their own, for torchrun.
    """
    import datetime, io, tempfile, traceback
    import torch.distributed
    import torch.multiprocessing
    if torch.cuda.is_initialized():
        raise RuntimeError("run_ranks forks, and CUDA is in use here already: run this part as a program of its own")
    nprocs = nprocs or max(1, torch.cuda.device_count())
    folder = tempfile.mkdtemp()
    backend = "nccl" if torch.cuda.device_count() >= nprocs else "gloo"
    forking = torch.multiprocessing.get_context("fork")
    told = forking.SimpleQueue()

    def run(rank):
        torch.set_num_threads(1)
        try:
            group = f"file://{folder}/group"
            torch.distributed.init_process_group(
                backend, init_method=group, rank=rank, world_size=nprocs, timeout=datetime.timedelta(seconds=timeout)
            )
            out = io.BytesIO()
            torch.save(function(rank, *((nprocs,) if args is None else args)), out)
            torch.distributed.destroy_process_group()
            told.put((rank, out.getvalue(), None))
        except Exception:
            told.put((rank, None, traceback.format_exc()))

    ranks = [forking.Process(target=run, args=(rank,)) for rank in range(nprocs)]
    for process in ranks:
        process.start()
    results = [None] * nprocs
    for _ in ranks:
        rank, out, failed = told.get()
        if failed:
            for process in ranks:
                process.terminate()
            raise RuntimeError(f"rank {rank} failed:\n{failed}")
        results[rank] = torch.load(io.BytesIO(out), weights_only=False)
    for process in ranks:
        process.join()
    return results
"#;

const TIMED: &str = r#"def timed(function):
    """How long one call of a function takes, with the work that it gives a GPU."""
    import time, types
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    wait()
    begin = time.perf_counter()
    function()
    wait()
    return types.SimpleNamespace(median=time.perf_counter() - begin, clock="measured")
"#;

const DIV: &str = r#"def _div(a, b):
    """a / b, of whole numbers towards zero."""
    if type(a) is int and type(b) is int:
        return a // b if (a < 0) == (b < 0) else -(-a // b)
    return a / b
"#;

const DIV_IN_PLACE: &str = r#"def _div_in_place(a, b):
    """a after a /= b, of whole numbers towards zero."""
    if type(a) is int and type(b) is int:
        return a // b if (a < 0) == (b < 0) else -(-a // b)
    a /= b
    return a
"#;

const REM: &str = r#"def _rem(a, b):
    """What remains of a / b, with the sign of a where both are numbers."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a) % abs(b) if a >= 0 else -(abs(a) % abs(b))
    return a % b
"#;

const COPY: &str = r#"def _copy(value):
    """A copy of lists and dicts, with what else is in them."""
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return {name: _copy(item) for name, item in value.items()} if type(value) is dict else value
"#;
