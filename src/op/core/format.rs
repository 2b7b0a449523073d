//! In which order the dimensions of a tensor lie in memory, where a call says so.

use crate::base::dense::dense_in;
use crate::base::{Error, Layout, Result};
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
                dense_in(shape, &[0, 2, 3, 1])
            }
            MemoryFormat::ChannelsLast3d => {
                if shape.len() != 5 {
                    return Err(Error::runtime("required rank 5 tensor to use channels_last_3d format"));
                }
                dense_in(shape, &[0, 2, 3, 4, 1])
            }
        }
    }

    /// Whether elements lie in this order without gaps. Strides of dimensions of size 1 do not matter.
    pub(crate) fn is_of(self, layout: &Layout) -> bool {
        match self {
            MemoryFormat::Preserve => true,
            MemoryFormat::Contiguous => layout.is_contiguous(),
            MemoryFormat::ChannelsLast | MemoryFormat::ChannelsLast3d => {
                self.layout(layout).is_ok_and(|wanted| {
                    let strides = layout.strides().iter().zip(wanted.strides());
                    strides.zip(layout.shape()).all(|((have, want), &size)| size == 1 || have == want)
                })
            }
        }
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
