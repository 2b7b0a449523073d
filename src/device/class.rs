//! Classes of kernels: those that come equally near the hardware's peaks.

/// What kind of kernel it is: how near the hardware's peaks its kind comes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum KernelClass {
    Matmul,
    Convolution,
    Elementwise,
    Reduction,
    /// Normalisation and softmax.
    Normalise,
    /// Gathers of whole rows, and what reads and writes by indices otherwise.
    GatherScatter,
    Random,
    /// Copies, casts and fills within the device's memory.
    Copy,
    /// Reductions that several blocks share, with a step that joins their results.
    SplitReduction,
    /// Reductions to the place of an extreme.
    ArgReduction,
    /// Single elements read or written by indices: a sector of memory for each.
    GatherElements,
    /// Additions to where indices say, which are atomic.
    ScatterAdd,
    /// Copies that read along other lines than they write.
    Transpose,
}

impl KernelClass {
    /// Every class.
    pub const ALL: [KernelClass; 13] = [
        KernelClass::Matmul,
        KernelClass::Convolution,
        KernelClass::Elementwise,
        KernelClass::Reduction,
        KernelClass::Normalise,
        KernelClass::GatherScatter,
        KernelClass::Random,
        KernelClass::Copy,
        KernelClass::SplitReduction,
        KernelClass::ArgReduction,
        KernelClass::GatherElements,
        KernelClass::ScatterAdd,
        KernelClass::Transpose,
    ];

    /// Its key in the profile of a simulated device.
    pub fn key(self) -> &'static str {
        match self {
            KernelClass::Matmul => "matmul",
            KernelClass::Convolution => "convolution",
            KernelClass::Elementwise => "elementwise",
            KernelClass::Reduction => "reduction",
            KernelClass::Normalise => "normalise",
            KernelClass::GatherScatter => "gather_scatter",
            KernelClass::Random => "random",
            KernelClass::Copy => "copy",
            KernelClass::SplitReduction => "split_reduction",
            KernelClass::ArgReduction => "arg_reduction",
            KernelClass::GatherElements => "gather_elements",
            KernelClass::ScatterAdd => "scatter_add",
            KernelClass::Transpose => "transpose",
        }
    }

    /// The class whose figures hold where a profile has none of this one: it is a finer part of that.
    pub fn part_of(self) -> Option<KernelClass> {
        match self {
            KernelClass::SplitReduction | KernelClass::ArgReduction => Some(KernelClass::Reduction),
            KernelClass::GatherElements | KernelClass::ScatterAdd => Some(KernelClass::GatherScatter),
            KernelClass::Transpose => Some(KernelClass::Copy),
            _ => None,
        }
    }
}
