//! The algorithms among which cuDNN chooses for a convolution.
//!
//! Which there are, where they serve, what memory they work in and which add by atomics is as NVIDIA documents it
//! (cuDNN API, `cudnnConvolutionFwdAlgo_t` and its two siblings); how long each takes is the profile's, as a part of
//! the time of the one that cuDNN's heuristic takes.

use smallvec::SmallVec;

use crate::base::DType;
use crate::device::kernel::{Arg, Conv, Kernel, Launch};

use super::error::ProfileError;
use super::figures::{Quantity, Section, count};
use super::rate::Rate;

/// Times of algorithms, in times of the one that the heuristic takes.
#[derive(Clone, PartialEq, Debug)]
pub struct AlgorithmFigures {
    /// How often the search runs each algorithm.
    pub trials: u32,
    /// The product that finds each element's place anew.
    pub implicit_gemm: f64,
    /// The product of an unrolled copy of the input.
    pub gemm: f64,
    /// The same product cut into other tiles.
    pub other_tiles: f64,
    /// Winograd's, for 3 x 3 filters without tensor cores.
    pub winograd: f64,
    /// By Fourier transforms of tiles, for filters of 5 x 5 and more without tensor cores.
    pub fft_tiling: f64,
    /// The gradient by the weight without atomics, where the heuristic's adds by them.
    pub without_atomics: f64,
}

/// An algorithm for a convolution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Algorithm {
    /// Of the time of the heuristic's.
    pub time: f64,
    /// Bytes.
    pub workspace: u64,
    /// Its sums depend on the order in which threads come.
    pub atomics: bool,
}

/// What an algorithm is looked for once for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Question {
    kernel: &'static str,
    conv: Conv,
    shapes: SmallVec<[usize; 16]>,
    dtype: DType,
    rate: Rate,
    deterministic: bool,
}

impl AlgorithmFigures {
    /// The section `convolution_algorithms`; none where a profile leaves it out.
    pub(super) fn read(root: &Section<'_, '_>) -> Result<Option<AlgorithmFigures>, ProfileError> {
        const TRIALS: Quantity = count(100, "a whole number from 1 to 100");
        const TIMES: Quantity = Quantity {
            units: &[],
            low: 0.01,
            high: 100.0,
            whole: false,
            rule: "from 0.01 to 100 times the heuristic's",
            example: r#"{ value = 1.2, source = "assumed" }"#,
        };
        let keys =
            ["trials", "implicit_gemm", "gemm", "other_tiles", "winograd", "fft_tiling", "without_atomics"];
        let Some(part) = root.optional_section("convolution_algorithms", &keys)? else { return Ok(None) };
        Ok(Some(AlgorithmFigures {
            trials: part.number("trials", &TRIALS)? as u32,
            implicit_gemm: part.number("implicit_gemm", &TIMES)?,
            gemm: part.number("gemm", &TIMES)?,
            other_tiles: part.number("other_tiles", &TIMES)?,
            winograd: part.number("winograd", &TIMES)?,
            fft_tiling: part.number("fft_tiling", &TIMES)?,
            without_atomics: part.number("without_atomics", &TIMES)?,
        }))
    }

    /// What is taken without a search.
    pub(super) fn heuristic(&self, launch: &Launch, deterministic: bool) -> Algorithm {
        match launch.kernel {
            Kernel::Conv2dGradWeight(_) if deterministic => Algorithm::of(self.without_atomics),
            Kernel::Conv2dGradWeight(_) => Algorithm { atomics: true, ..Algorithm::of(1.0) },
            _ => Algorithm::of(1.0),
        }
    }

    /// What a search tries: the heuristic's first.
    pub(super) fn candidates(
        &self,
        launch: &Launch,
        rate: Rate,
        deterministic: bool,
    ) -> SmallVec<[Algorithm; 8]> {
        let Some(sizes) = ConvShapes::of(launch) else { return SmallVec::new() };
        let first = self.heuristic(launch, deterministic);
        let mut all: SmallVec<[Algorithm; 8]> = [first].into_iter().collect();
        if first.atomics {
            all.push(Algorithm::of(self.without_atomics));
        }
        all.push(Algorithm { time: first.time * self.other_tiles, ..first });
        if let Kernel::Conv2d(_) = launch.kernel {
            all.push(Algorithm::of(self.implicit_gemm));
            all.push(Algorithm { workspace: sizes.unrolled(), ..Algorithm::of(self.gemm) });
        }
        let plain = sizes.conv.stride == [1, 1] && sizes.conv.dilation == [1, 1] && sizes.conv.groups == 1;
        let tensor_cores = matches!(rate, Rate::Tf32 | Rate::Fp16 | Rate::Bf16);
        if plain && !tensor_cores && rate == Rate::Fp32 {
            match sizes.filter {
                [3, 3] => {
                    all.push(Algorithm { workspace: sizes.transformed(), ..Algorithm::of(self.winograd) })
                }
                [h, w] if h.min(w) >= 5 => {
                    all.push(Algorithm { workspace: sizes.spectra(), ..Algorithm::of(self.fft_tiling) })
                }
                _ => {}
            }
        }
        all
    }
}

impl Algorithm {
    fn of(time: f64) -> Algorithm {
        Algorithm { time, workspace: 0, atomics: false }
    }
}

impl Question {
    /// None where the launch is no convolution.
    pub(super) fn of(launch: &Launch, rate: Rate, deterministic: bool) -> Option<Question> {
        let (Kernel::Conv2d(conv) | Kernel::Conv2dGradInput(conv) | Kernel::Conv2dGradWeight(conv)) =
            launch.kernel
        else {
            return None;
        };
        let inputs = launch.inputs.iter().filter_map(|arg| match arg {
            Arg::View(view) => Some(view),
            Arg::Scalar(_) => None,
        });
        let shapes = inputs.chain(launch.outputs).flat_map(|view| view.layout.shape()).copied().collect();
        let kernel = launch.kernel.name();
        Some(Question { kernel, conv: *conv, shapes, dtype: launch.dtype(), rate, deterministic })
    }
}

/// The numbers of a convolution, whichever of its tensors is written.
struct ConvShapes {
    conv: Conv,
    /// Height and width of the filter.
    filter: [usize; 2],
    /// Bytes of the input, the weight and the output.
    bytes: [u64; 3],
    /// Pixels of the output, over all images.
    pixels: u64,
    /// Elements of a filter, bytes of one.
    depth: u64,
    size: u64,
}

impl ConvShapes {
    fn of(launch: &Launch) -> Option<ConvShapes> {
        let input = |i: usize| match launch.inputs.get(i) {
            Some(Arg::View(view)) => Some(view.layout.shape()),
            _ => None,
        };
        let output = launch.outputs.first().map(|view| view.layout.shape());
        let (conv, x, weight, y) = match launch.kernel {
            Kernel::Conv2d(conv) => (conv, input(0)?, input(1)?, output?),
            Kernel::Conv2dGradInput(conv) => (conv, output?, input(1)?, input(0)?),
            Kernel::Conv2dGradWeight(conv) => (conv, input(1)?, output?, input(0)?),
            _ => return None,
        };
        let (&[_, per_filter, height, width], &[images, _, rows, columns]) = (weight, y) else { return None };
        let size = launch.dtype().size() as u64;
        let bytes = |shape: &[usize]| shape.iter().fold(size, |all, &n| all.saturating_mul(n as u64));
        Some(ConvShapes {
            conv: *conv,
            filter: [height, width],
            bytes: [bytes(x), bytes(weight), bytes(y)],
            pixels: bytes(&[images, rows, columns]) / size.max(1),
            depth: bytes(&[per_filter, height, width]) / size.max(1),
            size,
        })
    }

    /// Bytes of the input's copy in which every pixel of the output has its window.
    fn unrolled(&self) -> u64 {
        let groups = self.conv.groups as u64;
        self.pixels.saturating_mul(self.depth).saturating_mul(groups).saturating_mul(self.size)
    }

    /// Bytes of tiles of 4 x 4 for every 2 x 2 pixels of input and output, and of filters of 3 x 3 as 4 x 4.
    fn transformed(&self) -> u64 {
        let [x, weight, y] = self.bytes;
        x.saturating_add(y).saturating_mul(4).saturating_add(weight.saturating_mul(16) / 9)
    }

    /// Bytes of the spectra in tiles of 32 x 32: half as many complex numbers, and filters as large as a tile.
    fn spectra(&self) -> u64 {
        let [x, weight, y] = self.bytes;
        let filters = weight / self.filter.iter().product::<usize>().max(1) as u64;
        x.saturating_add(y).saturating_mul(2).saturating_add(filters.saturating_mul(32 * 32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Layout;
    use crate::device::{Buffer, Cancel, View};

    static NOWHERE: Buffer = Buffer::new(0, 0, None, false);
    const FIGURES: AlgorithmFigures = AlgorithmFigures {
        trials: 2,
        implicit_gemm: 1.25,
        gemm: 1.5,
        other_tiles: 0.875,
        winograd: 0.75,
        fft_tiling: 0.5,
        without_atomics: 1.2,
    };

    fn conv(stride: usize) -> Conv {
        Conv { stride: [stride; 2], padding: [1; 2], dilation: [1; 2], groups: 1 }
    }

    /// 8 images of 16 channels of 32 x 32, and 64 filters of `filter` x `filter`.
    fn with<T>(kernel: &Kernel, filter: usize, run: impl FnOnce(&Launch) -> T) -> T {
        let plain = |shape: &[usize]| Layout::contiguous(shape).unwrap();
        let layouts = [plain(&[8, 16, 32, 32]), plain(&[64, 16, filter, filter]), plain(&[8, 64, 32, 32])];
        let [x, w, y] = [&layouts[0], &layouts[1], &layouts[2]];
        let view = |layout| View { buffer: &NOWHERE, dtype: DType::Float32, layout };
        let (inputs, output) = match kernel {
            Kernel::Conv2dGradInput(_) => ([y, w], x),
            Kernel::Conv2dGradWeight(_) => ([y, x], w),
            _ => ([x, w], y),
        };
        let inputs = inputs.map(|layout| Arg::View(view(layout)));
        let outputs = [view(output)];
        let cancel = Cancel::default();
        let launch = Launch {
            op: "op",
            kernel,
            inputs: &inputs,
            outputs: &outputs,
            stream: 0,
            cancel: &cancel,
            timed: false,
        };
        run(&launch)
    }

    fn fastest(kernel: &Kernel, filter: usize, rate: Rate, deterministic: bool) -> Algorithm {
        with(kernel, filter, |launch| {
            let all = FIGURES.candidates(launch, rate, deterministic);
            assert!(all.len() >= 2, "several are tried");
            assert_eq!(all[0], FIGURES.heuristic(launch, deterministic));
            all.into_iter().min_by(|a, b| a.time.total_cmp(&b.time)).unwrap()
        })
    }

    #[test]
    fn the_fastest_depends_on_the_filter_and_the_cores() {
        let forward = Kernel::Conv2d(conv(1));
        let winograd = fastest(&forward, 3, Rate::Fp32, false);
        let (x, w, y) = (8 * 16 * 32 * 32 * 4, 64 * 16 * 9 * 4, 8 * 64 * 32 * 32 * 4);
        assert_eq!((winograd.time, winograd.workspace), (0.75, 4 * (x + y) + w / 9 * 16));
        assert_eq!(fastest(&forward, 5, Rate::Fp32, false).time, 0.5);
        assert_eq!(fastest(&forward, 3, Rate::Tf32, false), Algorithm::of(0.875));
        assert_eq!(fastest(&Kernel::Conv2d(conv(2)), 3, Rate::Fp32, false), Algorithm::of(0.875));
        assert_eq!(fastest(&forward, 1, Rate::Fp32, false), Algorithm::of(0.875));
    }

    #[test]
    fn only_a_gradient_by_the_weight_adds_by_atomics_and_not_where_it_must_not() {
        let by_weight = Kernel::Conv2dGradWeight(conv(2));
        assert!(fastest(&by_weight, 3, Rate::Fp32, false).atomics);
        let fixed = fastest(&by_weight, 3, Rate::Fp32, true);
        assert!(!fixed.atomics && fixed.time > 1.0);
        with(&by_weight, 3, |launch| {
            let all = FIGURES.candidates(launch, Rate::Fp32, true);
            assert!(all.iter().all(|a| !a.atomics));
        });
        for kernel in [Kernel::Conv2d(conv(1)), Kernel::Conv2dGradInput(conv(1))] {
            assert!(!fastest(&kernel, 3, Rate::Fp32, false).atomics);
        }
    }

    #[test]
    fn questions_differ_by_all_that_the_answer_depends_on() {
        let ask = |kernel: Kernel, filter, rate, fixed| {
            with(&kernel, filter, |launch| Question::of(launch, rate, fixed)).unwrap()
        };
        let one = ask(Kernel::Conv2d(conv(1)), 3, Rate::Fp32, false);
        assert_eq!(one, ask(Kernel::Conv2d(conv(1)), 3, Rate::Fp32, false));
        for other in [
            ask(Kernel::Conv2d(conv(2)), 3, Rate::Fp32, false),
            ask(Kernel::Conv2d(conv(1)), 5, Rate::Fp32, false),
            ask(Kernel::Conv2d(conv(1)), 3, Rate::Tf32, false),
            ask(Kernel::Conv2d(conv(1)), 3, Rate::Fp32, true),
            ask(Kernel::Conv2dGradInput(conv(1)), 3, Rate::Fp32, false),
        ] {
            assert_ne!(one, other);
        }
        let product = Kernel::Matmul { alpha: 1.0, beta: 0.0 };
        assert!(with(&product, 3, |launch| Question::of(launch, Rate::Fp32, false)).is_none());
    }
}
