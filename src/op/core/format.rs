//! In which order the dimensions of a tensor lie in memory, where a call says so.

use crate::base::dense::dense_in;
use crate::base::{DType, Error, Layout, Result};
use crate::op::core::def::Args;
use crate::op::core::params::kinds;
use crate::op::core::record::{one, recorded};
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

pub(super) static CLONE: Vjp = Vjp { name: "CloneBackward0", run: |_, g| one(g.clone()) };

/// PyTorch's memory formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryFormat {
    /// As another tensor lies.
    Preserve,
    /// Row-major.
    Contiguous,
    /// Channels after the dimensions of an image, in a batch `[n, c, h, w]`.
    ChannelsLast,
    /// The same of volumes, `[n, c, d, h, w]`.
    ChannelsLast3d,
}

/// The dimensions of images and volumes with their channels last, outermost first.
const IMAGES: [usize; 4] = [0, 2, 3, 1];
const VOLUMES: [usize; 5] = [0, 2, 3, 4, 1];

/// The names of the formats in scripts.
pub(crate) const NAMES: [&str; 4] =
    ["preserve_format", "contiguous_format", "channels_last", "channels_last_3d"];

kinds! {
    /// A format by its name, without PyTorch's `torch.` in front.
    pub FormatWord(Str) => MemoryFormat, |args: &Args, at| MemoryFormat::parse(args.str(at)?),
        "TypeError: there is no such memory format";
}

impl MemoryFormat {
    fn parse(name: &str) -> Result<MemoryFormat> {
        match name.trim_start_matches("torch.") {
            "preserve_format" => Ok(MemoryFormat::Preserve),
            "contiguous_format" => Ok(MemoryFormat::Contiguous),
            "channels_last" => Ok(MemoryFormat::ChannelsLast),
            "channels_last_3d" => Ok(MemoryFormat::ChannelsLast3d),
            other => {
                Err(Error::type_error(format!("there is no memory format '{other}'")).with_near(other, NAMES))
            }
        }
    }

    /// The layout of a new tensor of the shape of `like`.
    pub(crate) fn layout(self, like: &Layout) -> Result<Layout> {
        let shape = like.shape();
        match self {
            MemoryFormat::Preserve => like.dense_like(),
            MemoryFormat::Contiguous => Layout::contiguous(shape),
            MemoryFormat::ChannelsLast => {
                if shape.len() != 4 {
                    return Err(Error::runtime("required rank 4 tensor to use channels_last format"));
                }
                dense_in(shape, &IMAGES)
            }
            MemoryFormat::ChannelsLast3d => {
                if shape.len() != 5 {
                    return Err(Error::runtime("required rank 5 tensor to use channels_last_3d format"));
                }
                dense_in(shape, &VOLUMES)
            }
        }
    }

    /// Whether elements lie in this order without gaps. Strides of dimensions of size 1 do not matter.
    pub(crate) fn is_of(self, layout: &Layout) -> bool {
        match self {
            MemoryFormat::Preserve => true,
            MemoryFormat::Contiguous => layout.is_contiguous(),
            MemoryFormat::ChannelsLast => layout.rank() == 4 && layout.is_dense_in(&IMAGES),
            MemoryFormat::ChannelsLast3d => layout.rank() == 5 && layout.is_dense_in(&VOLUMES),
        }
    }

    /// That which the results of a convolution or a pool take over from `x`: channels last, or row-major. Strides decide
    /// also along dimensions of size 1, as in `Tensor::suggest_memory_format`; where they fit both it is row-major.
    pub(crate) fn suggested(x: &Tensor) -> MemoryFormat {
        let (shape, strides) = (x.shape(), x.layout().strides());
        let (format, inwards): (MemoryFormat, &[usize]) = match shape.len() {
            4 => (MemoryFormat::ChannelsLast, &[1, 3, 2, 0]),
            5 => (MemoryFormat::ChannelsLast3d, &[1, 4, 3, 2, 0]),
            _ => return MemoryFormat::Contiguous,
        };
        let channel = strides.get(1).copied().unwrap_or(0);
        let mut least = 0;
        for &dim in inwards {
            let (size, stride) =
                (shape.get(dim).copied().unwrap_or(0), strides.get(dim).copied().unwrap_or(0));
            if channel == 0 || size == 0 || stride < least || dim == 0 && least == channel {
                return MemoryFormat::Contiguous;
            }
            least = if size > 1 { stride.saturating_mul(size as isize) } else { stride };
        }
        format
    }

    /// That of a result of several tensors: channels last where those of any are.
    pub(crate) fn of_any(inputs: &[&Tensor]) -> MemoryFormat {
        let all = inputs.iter().map(|t| MemoryFormat::suggested(t));
        all.into_iter().find(|format| *format != MemoryFormat::Contiguous).unwrap_or(MemoryFormat::Contiguous)
    }

    /// Uninitialised memory that lies so, on the device of `beside`.
    pub(crate) fn empty(
        self,
        shape: &[usize],
        dtype: DType,
        beside: &Tensor,
        op: &'static str,
    ) -> Result<Tensor> {
        Tensor::empty_in(self.layout(&Layout::contiguous(shape)?)?, dtype, &beside.context(), op)
    }

    /// `x` itself where it lies so, else a copy that does.
    pub(crate) fn applied(self, x: &Tensor) -> Result<Tensor> {
        // A call that asks for channels of what has none is refused.
        let layout = self.layout(x.layout())?;
        if self.is_of(x.layout()) {
            return Ok(x.clone());
        }
        self.copied(x, layout)
    }

    /// Has `x` itself lie so, where nothing else looks at its memory.
    pub(crate) fn lay_in_place(self, x: &Tensor) -> Result<()> {
        let layout = self.layout(x.layout())?;
        if self.is_of(x.layout()) { Ok(()) } else { x.lay_in_place(layout) }
    }

    /// A copy of `x` that lies so.
    pub(crate) fn cloned(self, x: &Tensor) -> Result<Tensor> {
        self.copied(x, self.layout(x.layout())?)
    }

    fn copied(self, x: &Tensor, layout: Layout) -> Result<Tensor> {
        let out = Tensor::empty_in(layout, x.dtype(), &x.context(), "clone")?;
        out.assign(x, "clone")?;
        Ok(recorded(out, &CLONE, &[x], |_, _| ()))
    }
}
