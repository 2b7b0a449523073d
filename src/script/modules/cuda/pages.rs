//! What help says of `cuda::` and of what stands beside it.

use crate::script::help::Page;

/// A page of `cuda::`.
const fn page(name: &'static str, call: &'static str, text: &'static str) -> Page {
    Page { name, call, text }
}

/// Every function of these modules.
pub const PAGES: &[Page] = &[
    page("is_available", "cuda::is_available()", "Whether there is a GPU, real or simulated."),
    page("device_count", "cuda::device_count()", "The number of GPUs."),
    page("current_device", "cuda::current_device()", "The ordinal that \"cuda\" means."),
    page("set_device", "cuda::set_device(device)", "Makes another GPU the one that \"cuda\" means."),
    page(
        "cuda::device",
        "with cuda::device(device) { … }",
        "Another GPU is the current one inside the block, and the old one after it, on an error too.",
    ),
    page(
        "get_device_name",
        "cuda::get_device_name(device = ())",
        "The name of a GPU; that of a simulated one ends in \"(simulated)\".",
    ),
    page(
        "get_device_capability",
        "cuda::get_device_capability(device = ())",
        "The compute capability as [major, minor].",
    ),
    page(
        "get_device_properties",
        "cuda::get_device_properties(device = ())",
        "A map of name, major, minor, total_memory (bytes), multi_processor_count, \
         max_threads_per_multi_processor, L2_cache_size (bytes), warp_size and simulated.",
    ),
    page("is_simulated", "cuda::is_simulated(device = ())", "Whether a GPU is simulated."),
    page(
        "can_device_access_peer",
        "cuda::can_device_access_peer(device, peer)",
        "Whether two GPUs copy to each other over their own link; others copy through the host.",
    ),
    page(
        "synchronize",
        "cuda::synchronize(device = ())",
        "The host waits for everything that was given to a GPU.",
    ),
    page(
        "memory_allocated",
        "cuda::memory_allocated(device = ())",
        "Bytes that tensors hold, each rounded up to blocks of 512.",
    ),
    page(
        "max_memory_allocated",
        "cuda::max_memory_allocated(device = ())",
        "The most bytes that tensors held since the last reset_peak_memory_stats().",
    ),
    page(
        "memory_reserved",
        "cuda::memory_reserved(device = ())",
        "Bytes that the caching allocator took from the GPU, in use or kept for the next request.",
    ),
    page(
        "max_memory_reserved",
        "cuda::max_memory_reserved(device = ())",
        "The most bytes that were reserved since the last reset_peak_memory_stats().",
    ),
    page(
        "memory_stats",
        "cuda::memory_stats(device = ())",
        "Every statistic of the allocator under PyTorch's keys, such as \"allocated_bytes.all.peak\".",
    ),
    page(
        "memory_summary",
        "cuda::memory_summary(device = (), #{abbreviated: false})",
        "The statistics as a table.",
    ),
    page(
        "memory_snapshot",
        "cuda::memory_snapshot()",
        "Every segment of every GPU as a map: address, total_size, allocated_size, active_size, stream, \
         segment_type, segment_pool_id, and blocks with address, size, requested_size and state. \
         telemetry::export_memory_snapshot(path) writes a file for PyTorch's memory viewer.",
    ),
    page(
        "reset_peak_memory_stats",
        "cuda::reset_peak_memory_stats(device = ())",
        "Peaks start again from what is held now.",
    ),
    page(
        "reset_accumulated_memory_stats",
        "cuda::reset_accumulated_memory_stats(device = ())",
        "Sums of what was allocated and freed start again from 0.",
    ),
    page(
        "empty_cache",
        "cuda::empty_cache()",
        "Gives reserved memory that no tensor uses back to the GPU. Segments of a captured graph stay.",
    ),
    page("mem_get_info", "cuda::mem_get_info(device = ())", "The GPU's [free, total] bytes."),
    page(
        "set_per_process_memory_fraction",
        "cuda::set_per_process_memory_fraction(fraction, device = ())",
        "Lets tensors use only a part of the memory, from 0.0 to 1.0: beyond it, out of memory.",
    ),
    page(
        "get_per_process_memory_fraction",
        "cuda::get_per_process_memory_fraction(device = ())",
        "The part of the memory that may be used.",
    ),
    page(
        "Stream",
        "cuda::Stream(device = ())",
        "A stream of its own: a queue of work that runs beside those of other streams. It has synchronize(), query(), \
         wait_stream(s), wait_event(e), record_event(), device and id. There are 32, which come round again.",
    ),
    page(
        "stream",
        "with cuda::stream(s) { … }",
        "Work inside the block goes to the stream, on its device. Memory made on one stream and used on another needs \
         wait_stream() before, and record_stream() where it may be freed early.",
    ),
    page("current_stream", "cuda::current_stream(device = ())", "The stream that work goes to now."),
    page("default_stream", "cuda::default_stream(device = ())", "The stream that work goes to at first."),
    page(
        "set_stream",
        "cuda::set_stream(s)",
        "Work goes to the stream from now on; `with cuda::stream(s)` ends by itself.",
    ),
    page(
        "Event",
        "cuda::Event(#{enable_timing: false})",
        "A point in a stream's work: record(), record(s), wait(), wait(s), query(), synchronize(), and with \
         enable_timing start.elapsed_time(end) in milliseconds, modelled on a simulated GPU.",
    ),
    page(
        "graph",
        "let g = cuda::graph(|| …)",
        "Writes down the kernels that the closure would launch, without running them; g.replay() launches all of them \
         as one, on the same memory. What the closure makes has its values only after a replay. Waiting for the GPU, \
         printing its tensors and pageable copies are errors inside. g.len() counts the launches, g.result is what the \
         closure gave, g.reset() gives the memory back.",
    ),
    page(
        "is_current_stream_capturing",
        "cuda::is_current_stream_capturing()",
        "Whether work is being written down for a graph.",
    ),
    page("cuda::manual_seed", "cuda::manual_seed(seed)", "Seeds the current GPU's generator."),
    page("manual_seed_all", "cuda::manual_seed_all(seed)", "Seeds the generators of all GPUs."),
    page("initial_seed", "cuda::initial_seed()", "The seed of the current GPU's generator."),
    page(
        "smi",
        "smi()",
        "The GPUs with their memory as a table, as nvidia-smi shows them; simulated ones are marked SIM.",
    ),
    page(
        "benchmark",
        "cudnn::benchmark(on)",
        "Lets cuDNN try its convolution algorithms and keep the fastest; without `on` it asks. A simulated GPU has one \
         algorithm: the switch is kept, and changes nothing.",
    ),
    page(
        "deterministic",
        "cudnn::deterministic(on)",
        "Lets cuDNN use deterministic algorithms alone; without `on` it asks. A simulated GPU's are.",
    ),
    page(
        "enabled",
        "cudnn::enabled(on)",
        "Whether convolutions go to cuDNN; without `on` it asks. Without cuDNN matmul::allow_tf32 decides whether they \
         use TF32.",
    ),
    page(
        "allow_tf32",
        "matmul::allow_tf32(on), cudnn::allow_tf32(on)",
        "Lets float32 products (off at first) or convolutions (on at first) use TF32; without `on` it asks. On a \
         simulated GPU that changes the modelled time by the device's TF32 rate; values are computed in float32.",
    ),
    page(
        "use_deterministic_algorithms",
        "use_deterministic_algorithms(on, #{warn_only: false})",
        "Makes operations without a deterministic implementation on CUDA an error on GPUs, such as the backward pass \
         of adaptive_avg_pool2d. With warn_only they run.",
    ),
    page(
        "are_deterministic_algorithms_enabled",
        "are_deterministic_algorithms_enabled()",
        "Whether use_deterministic_algorithms is on.",
    ),
    page(
        "set_float32_matmul_precision",
        "set_float32_matmul_precision(name)",
        "\"highest\" computes float32 products in float32; \"high\" and \"medium\" let them use TF32.",
    ),
    page("get_float32_matmul_precision", "get_float32_matmul_precision()", "\"highest\" or \"high\"."),
];
