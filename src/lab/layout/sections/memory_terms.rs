//! What the figures of a device's memory mean.

use crate::lab::layout::sections::entry::Term;

pub(crate) const TERMS: &[Term] = &[
    Term {
        name: "allocated",
        means: "Bytes that live tensors hold, rounded up to 512: torch.cuda.memory_allocated().",
    },
    Term {
        name: "reserved",
        means: "All bytes that the caching allocator has taken from the device, in use or not: \
         torch.cuda.memory_reserved(). It is allocated + cached.",
    },
    Term {
        name: "cached",
        means: "Reserved, but held by no tensor: kept for the next request, because taking memory from the device is slow. \
         torch.cuda.empty_cache() gives whole free segments back; no tensor is freed by it.",
    },
    Term {
        name: "other",
        means: "Taken from the device, but not by this allocator: the CUDA context and other programs. nvidia-smi counts it \
         in, memory_allocated() does not. n/a where the device does not say.",
    },
    Term {
        name: "free",
        means: "What can still be taken from the device: the first number of torch.cuda.mem_get_info().",
    },
    Term {
        name: "peak",
        means: "The most that was allocated at one time: torch.cuda.max_memory_allocated(). \
         reset_peak_memory_stats() starts it anew. The bar has a mark there.",
    },
    Term {
        name: "segment",
        means: "A stretch of memory taken from the device in one piece (cudaMalloc): 2 MiB for small tensors, 20 MiB or more \
         for large ones. It can go back only when all of it is free.",
    },
    Term {
        name: "block",
        means: "A part of a segment: one tensor's storage, or free. A free block is split for a smaller request, and joined \
         with its free neighbours when it comes back. Free blocks next to held ones are inactive_split in \
         memory_stats().",
    },
    Term {
        name: "fragmentation",
        means: "How much of the cached memory a single request can't use, since it lies in several pieces: 1 - largest free \
         block / all cached. At 0 % one block has it all; near 100 % there is memory, but no room.",
    },
    Term {
        name: "curve",
        means: "Allocated and reserved bytes since the session began, on the clock of the device: modelled where it is \
         simulated, measured where it is real. A change stands where the work told before it ended. Each column has \
         the most of its time; where events were too many to be sent, their peak stands for all of them.",
    },
    Term {
        name: "out of memory, tried",
        means: "A request that neither a cached block nor the device could serve, after the cache was given back. The \
         figure is the segment that the allocator tried for it, as in PyTorch's message: 2 MiB for up to 1 MiB, 20 MiB \
         for up to 10 MiB. The error's hint has what the tensor needs beside it.",
    },
    Term {
        name: "launches",
        means: "Kernels that the host has put on a stream. Each costs the host some microseconds, however little it computes.",
    },
    Term {
        name: "syncs",
        means: "How often the host waited for a device because it was asked to: torch.cuda.synchronize(), a stream's or an \
         event's. The implicit ones are counted beside them.",
    },
    Term {
        name: "implicit sync",
        means: "A wait that nobody asked for: .item(), .cpu(), printing a tensor, or a condition on one need its values, so \
         the host stops until the device has computed them. In a loop it leaves the GPU idle.",
    },
    Term {
        name: "race",
        means: "Two accesses of one piece of memory that nothing orders, one of them a write: on two streams, or by the host \
         while a copy of pinned memory is under way; or memory freed while another stream uses it. What comes of it is a \
         matter of chance. A stream's or an event's wait orders them, and record_stream() keeps memory until it is done.",
    },
    Term {
        name: "utilisation, power, temperature, PCIe",
        means: "What NVML tells of a real GPU, as nvidia-smi shows it; n/a where it is not asked. Of a simulated one smi() \
         has the part of the last modelled second in which a kernel ran, and the power that follows from it.",
    },
    Term {
        name: "SIM, modelled, measured",
        means: "A simulated device computes real values and counts real bytes; its times come from a model and are called \
         modelled. Measured times are this computer's own. The two are never added.",
    },
];
