//! Python for what this lab has as one call and PyTorch in several lines: functions that are written once, below the imports.

/// A function that a translation brings along.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum StandIn {
    Digits,
    Ranks,
    Timed,
}

impl StandIn {
    pub(super) fn name(self) -> &'static str {
        match self {
            StandIn::Digits => "handwritten_digits",
            StandIn::Ranks => "run_ranks",
            StandIn::Timed => "timed",
        }
    }

    /// The function's lines. Each brings what it imports.
    pub(super) fn python(self) -> &'static str {
        match self {
            StandIn::Digits => DIGITS,
            StandIn::Ranks => RANKS,
            StandIn::Timed => TIMED,
        }
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
