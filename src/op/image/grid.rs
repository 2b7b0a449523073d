//! Images sampled at places of a grid, and grids of affine maps.

use crate::base::{DType, DeviceSpec, Error, Kind, Result, Scalar};
use crate::device::class::KernelClass;
use crate::op::core::autocast;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, FUNCTIONAL, Family, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::promote::only_floats;
use crate::op::core::record::{beside, named, no_grad, undetermined};
use crate::op::core::value::Value;
use crate::op::core::whole::{Whole, first};
use crate::op::core::wide::in_single;
use crate::op::create::filled::Make;
use crate::op::create::ranges::linspace;
use crate::op::elementwise::arithmetic::{add, fmod, mul, remainder, scale, shift, sub};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::clamp::clamp;
use crate::op::elementwise::comparison::{eq, ge, le, logical_and};
use crate::op::elementwise::rounding::{floor, round};
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::abs;
use crate::op::gather::along_dim::{gather, same_place};
use crate::op::linalg::matmul::matmul;
use crate::op::shape::join::stack;
use crate::op::shape::part::select;
use crate::op::shape::permute::transpose;
use crate::op::shape::view::{expand_to, reshape_to, unsqueeze};
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

/// How values between elements come about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Linear in each dimension.
    Bilinear,
    Nearest,
    /// Cubic convolution with a = -0.75.
    Bicubic,
}

/// What lies outside of the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outside {
    Zeros,
    Border,
    Reflection,
}

impl Mode {
    fn parse(name: &str) -> Result<Mode> {
        match name {
            "bilinear" => Ok(Mode::Bilinear),
            "nearest" => Ok(Mode::Nearest),
            "bicubic" => Ok(Mode::Bicubic),
            _ => Err(Error::value(format!(
                "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{name}'"
            ))),
        }
    }
}

impl Outside {
    fn parse(name: &str) -> Result<Outside> {
        match name {
            "zeros" => Ok(Outside::Zeros),
            "border" => Ok(Outside::Border),
            "reflection" => Ok(Outside::Reflection),
            _ => Err(Error::value(format!(
                "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: \
                 '{name}'"
            ))),
        }
    }
}

/// Where each place of an output `size` (`[n, c, h, w]` or `[n, c, d, h, w]`) lies in the input under the maps
/// `theta` (`[n, 2, 3]` or `[n, 3, 4]`): `[n, .., 2 or 3]`, from -1 to 1, width first.
pub fn affine_grid(theta: &Tensor, size: &[i64], align: bool) -> Result<Tensor> {
    let dtype = theta.dtype();
    if !dtype.is_float() {
        return Err(Error::value(format!(
            "Expected theta to have floating point type, but got torch.{dtype}"
        )));
    }
    let dims = match size.len() {
        4 | 5 => size.len() - 2,
        _ => {
            return Err(Error::new(
                Kind::NotImplementedError,
                format!(
                    "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size \
                     {size:?}."
                ),
            ));
        }
    };
    if theta.rank() != 3 || theta.shape().get(1..) != Some(&[dims, dims + 1][..]) {
        return Err(Error::value(format!(
            "Expected a batch of {dims}D affine matrices of shape Nx{dims}x{} for size {size:?}. Got \
             torch.Size({:?}).",
            dims + 1,
            theta.shape()
        )));
    }
    if size.iter().any(|s| *s < 1) {
        return Err(Error::value(format!("Expected non-zero, positive output size. Got {size:?}")));
    }
    if size.first() != theta.shape().first().map(|n| *n as i64).as_ref() {
        let text =
            format!("the size {size:?} asks for another number of grids than theta {:?} has", theta.shape());
        return Err(Error::runtime(text).with_hint("the first size is that of the batch"));
    }
    let places = size.get(2..).unwrap_or(&[]);
    let make = Make { dtype: Some(dtype), device: Some(DeviceSpec::from(theta.device())), ..Make::default() };
    let mut columns = Vec::new();
    for (d, &n) in places.iter().enumerate().rev() {
        let line = match n {
            1 => crate::op::create::filled::zeros(&[1], &make)?,
            _ if align => linspace(-1.0, 1.0, n, &make)?,
            _ => scale(&linspace(-1.0, 1.0, n, &make)?, (n - 1) as f64 / n as f64)?,
        };
        let mut shape = vec![1; dims];
        if let Some(slot) = shape.get_mut(d) {
            *slot = n as usize;
        }
        columns.push(expand_to(&reshape_to(&line, &shape)?, places)?);
    }
    columns.push(crate::op::create::filled::ones(places, &make)?);
    let base = stack(&columns.iter().collect::<Vec<_>>(), -1)?;
    let count = base.numel() / (dims + 1);
    let grid = matmul(&reshape_to(&base, &[count, dims + 1])?, &transpose(theta, 1, 2)?)?;
    let mut shape: Vec<usize> = theta.shape().iter().take(1).copied().collect();
    shape.extend(places.iter().map(|n| *n as usize));
    shape.push(dims);
    reshape_to(&grid, &shape)
}

/// `x [n, c, h, w]` at the places of `grid [n, h', w', 2]`, which run from -1 to 1 over the image, width first:
/// `[n, c, h', w']`. With five dimensions volumes are sampled. As `torch.nn.functional.grid_sample`.
pub fn grid_sample(x: &Tensor, grid: &Tensor, mode: Mode, outside: Outside, align: bool) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("grid_sample", &[x, grid])? {
        return grid_sample(&casts.cast(x)?, &casts.cast(grid)?, mode, outside, align);
    }
    let _paused = crate::tensor::autocast::pause();
    check(x, grid, mode)?;
    static PLANE: Vjp =
        Vjp { name: "GridSampler2DBackward0", run: |_, g| undetermined(g, "grid_sampler_2d_backward_cuda") };
    static VOLUME: Vjp =
        Vjp { name: "GridSampler3DBackward0", run: |_, g| undetermined(g, "grid_sampler_3d_backward_cuda") };
    static IN_PLANE: Whole =
        Whole::new("grid_sampler_2d", "grid_sampler_2d_backward", "GridSampler2DBackward0").class(GATHERS);
    static IN_VOLUME: Whole =
        Whole::new("grid_sampler_3d", "grid_sampler_3d_backward", "GridSampler3DBackward0").class(GATHERS);
    let run = move |all: &[Tensor]| match all {
        [x, grid] => {
            let out = in_single([x, grid], |[x, grid]| sampled(x, grid, mode, outside, align))?;
            Ok(named(out, if x.rank() == 4 { &PLANE } else { &VOLUME }))
        }
        _ => first(all).cloned(),
    };
    let kernel = if x.rank() == 4 { &IN_PLANE } else { &IN_VOLUME };
    kernel.run(&[x, grid], &[], Box::new(run))
}

const GATHERS: KernelClass = KernelClass::GatherElements;

fn sampled(x: &Tensor, grid: &Tensor, mode: Mode, outside: Outside, align: bool) -> Result<Tensor> {
    let (dims, channels) = (x.rank() - 2, x.shape().get(1).copied().unwrap_or(0));
    let sizes = x.shape().get(2..).unwrap_or(&[]);
    let batch = grid.shape().first().copied().unwrap_or(0);
    let places: usize = grid.shape().get(1..dims + 1).unwrap_or(&[]).iter().product();
    let image =
        Image { flat: reshape_to(x, &[batch, channels, sizes.iter().product()])?, sizes, outside, align };
    let coordinates = (0..dims)
        .map(|d| {
            let along = reshape_to(&select(grid, -1, (dims - 1 - d) as i64)?, &[batch, places])?;
            image.scaled(&along, d)
        })
        .collect::<Result<Vec<_>>>()?;
    let out = match mode {
        Mode::Nearest => {
            let near = coordinates
                .iter()
                .enumerate()
                .map(|(d, c)| image.inside(c, d).and_then(|c| round(&c.detach())))
                .collect::<Result<Vec<_>>>()?;
            beside(image.at(&near, None)?, grid)
        }
        Mode::Bilinear => image.linear(&coordinates)?,
        Mode::Bicubic => image.cubic(&coordinates)?,
    };
    let mut shape = vec![batch, channels];
    shape.extend(grid.shape().get(1..dims + 1).unwrap_or(&[]));
    reshape_to(&out, &shape)
}

/// What is sampled, its places in one dimension.
struct Image<'a> {
    /// `[n, c, places]`
    flat: Tensor,
    sizes: &'a [usize],
    outside: Outside,
    align: bool,
}

impl Image<'_> {
    fn size(&self, d: usize) -> f64 {
        self.sizes.get(d).copied().unwrap_or(1) as f64
    }

    /// From -1..1 to elements.
    fn scaled(&self, c: &Tensor, d: usize) -> Result<Tensor> {
        let n = self.size(d);
        if self.align {
            return scale(&scale(&shift(c, 1.0)?, 0.5)?, n - 1.0);
        }
        scale(&shift(&scale(&shift(c, 1.0)?, n)?, -1.0)?, 0.5)
    }

    /// A coordinate outside of the image, where what lies there decides.
    fn inside(&self, c: &Tensor, d: usize) -> Result<Tensor> {
        let last = self.size(d) - 1.0;
        let bounded = |c: &Tensor| clamp(c, Some(0.0.into()), Some(last.into()));
        match self.outside {
            Outside::Zeros => Ok(c.clone()),
            Outside::Border => bounded(c),
            Outside::Reflection => {
                let (low, span) = if self.align { (0.0, last) } else { (-0.5, last + 1.0) };
                if span == 0.0 {
                    return scale(c, 0.0);
                }
                let away = abs(&shift(c, -low)?)?;
                let rest = fmod(&away, span)?;
                let turns = {
                    let _off = no_grad();
                    eq(&remainder(&floor(&scale(&away, 1.0 / span)?)?, 2.0)?, 0.0)?
                };
                let (there, back) = (shift(&rest, low)?, shift(&neg(&rest)?, span + low)?);
                bounded(&where_(&turns, Operand::Tensor(&there), Operand::Tensor(&back))?)
            }
        }
    }

    /// The elements at whole coordinates, times a weight; nothing where they lie outside.
    fn at(&self, whole: &[Tensor], weight: Option<Tensor>) -> Result<Tensor> {
        let (mut index, mut within): (Option<Tensor>, Option<Tensor>) = (None, None);
        {
            let _off = no_grad();
            for (d, c) in whole.iter().enumerate() {
                let last = self.size(d) - 1.0;
                let valid = logical_and(&ge(c, 0.0)?, &le(c, last)?)?;
                within = Some(match within {
                    Some(before) => logical_and(&before, &valid)?,
                    None => valid,
                });
                let place = to_dtype(&clamp(c, Some(0.0.into()), Some(last.into()))?, DType::Int64)?;
                index = Some(match index {
                    Some(before) => {
                        add(&mul(&before, self.sizes.get(d).copied().unwrap_or(1) as i64)?, &place)?
                    }
                    None => place,
                });
            }
        }
        let (Some(index), Some(within)) = (index, within) else {
            return Err(Error::runtime("grid_sampler(): an image without dimensions"));
        };
        let (channels, count) = (self.flat.shape().get(1).copied().unwrap_or(0), index.shape().to_vec());
        let shape: Vec<i64> = [count.first().copied(), Some(channels), count.get(1).copied()]
            .into_iter()
            .flatten()
            .map(|n| n as i64)
            .collect();
        let values = gather(&self.flat, 2, &expand_to(&unsqueeze(&index, 1)?, &shape)?)?;
        let one = Operand::Scalar(Scalar::Float(1.0));
        let shared = where_(
            &within,
            weight.as_ref().map_or(one, Operand::Tensor),
            Operand::Scalar(Scalar::Float(0.0)),
        )?;
        mul(&values, &to_dtype(&unsqueeze(&shared, 1)?, self.flat.dtype())?)
    }

    /// Between the two neighbours along each dimension.
    fn linear(&self, coordinates: &[Tensor]) -> Result<Tensor> {
        let mut neighbours = Vec::new();
        for (d, c) in coordinates.iter().enumerate() {
            let c = self.inside(c, d)?;
            let low = floor(&c.detach())?;
            let high = shift(&low, 1.0)?;
            let weights = (sub(&high, &c)?, sub(&c, &low)?);
            neighbours.push([(low, weights.0), (high, weights.1)]);
        }
        self.mixed(&neighbours)
    }

    /// Between four neighbours along each dimension.
    fn cubic(&self, coordinates: &[Tensor]) -> Result<Tensor> {
        const A: f64 = -0.75;
        let near = |t: &Tensor| -> Result<Tensor> {
            shift(&mul(&mul(&shift(&scale(t, A + 2.0)?, -(A + 3.0))?, t)?, t)?, 1.0)
        };
        let far = |t: &Tensor| -> Result<Tensor> {
            shift(&mul(&shift(&mul(&shift(&scale(t, A)?, -5.0 * A)?, t)?, 8.0 * A)?, t)?, -4.0 * A)
        };
        let mut neighbours = Vec::new();
        for (d, c) in coordinates.iter().enumerate() {
            let low = floor(&c.detach())?;
            let t = sub(c, &low)?;
            let back = shift(&neg(&t)?, 1.0)?;
            let weights = [far(&shift(&t, 1.0)?)?, near(&t)?, near(&back)?, far(&shift(&back, 1.0)?)?];
            let all = weights.into_iter().zip([-1.0, 0.0, 1.0, 2.0]);
            let all = all.map(|(w, by)| Ok((self.inside(&shift(&low, by)?, d)?, w)));
            neighbours.push(all.collect::<Result<Vec<_>>>()?);
        }
        self.mixed(&neighbours)
    }

    /// The sum over every choice of one neighbour along each dimension, the last dimension first.
    fn mixed<N: AsRef<[(Tensor, Tensor)]>>(&self, neighbours: &[N]) -> Result<Tensor> {
        let counts: Vec<usize> = neighbours.iter().map(|n| n.as_ref().len()).collect();
        let mut total: Option<Tensor> = None;
        for choice in 0..counts.iter().product() {
            let (mut rest, mut places, mut weight) = (choice, Vec::new(), None);
            for (side, &count) in neighbours.iter().zip(&counts).rev() {
                let Some((place, share)) = side.as_ref().get(rest % count) else { continue };
                rest /= count;
                places.push(place.clone());
                weight = Some(match weight {
                    Some(before) => mul(&before, share)?,
                    None => share.clone(),
                });
            }
            places.reverse();
            let part = self.at(&places, weight)?;
            total = Some(match total {
                Some(before) => add(&before, &part)?,
                None => part,
            });
        }
        total.ok_or_else(|| Error::runtime("grid_sampler(): an image without dimensions"))
    }
}

fn check(x: &Tensor, grid: &Tensor, mode: Mode) -> Result<()> {
    let show = |text: &str| {
        Error::runtime(format!(
            "grid_sampler(): expected {text}, but got input with sizes {:?} and grid with sizes {:?}",
            x.shape(),
            grid.shape()
        ))
    };
    same_place(x, "grid", grid, "wrapper_CUDA__grid_sampler_2d")?;
    if x.shape().first() != grid.shape().first() {
        return Err(show("grid and input to have same batch size"));
    }
    if !matches!(x.rank(), 4 | 5) || grid.rank() != x.rank() {
        return Err(show("4D or 5D input and grid with same number of dimensions"));
    }
    let dims = x.rank() - 2;
    if grid.shape().last() != Some(&dims) {
        return Err(Error::runtime(format!(
            "grid_sampler(): expected grid to have size {dims} in last dimension, but got grid with sizes {:?}",
            grid.shape()
        )));
    }
    if let Some(d) = (2..x.rank()).find(|&d| x.shape().get(d) == Some(&0)) {
        return Err(Error::runtime(format!(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {:?} with \
             dimension {d} being empty",
            x.shape()
        )));
    }
    if mode == Mode::Bicubic && dims == 3 {
        return Err(Error::runtime("grid_sampler(): bicubic interpolation only supports 4D input"));
    }
    only_floats(x.dtype(), "grid_sampler_2d_cpu_kernel_impl")?;
    if x.dtype() != grid.dtype() {
        let (want, got) = (x.dtype().type_name(), grid.dtype().type_name());
        return Err(Error::runtime(format!("expected scalar type {want} but found {got}")));
    }
    Ok(())
}

const IMAGE: Draw = Draw::of("x", &[2, 2, 3, 4], Domain::Any);
const GRID: Draw = Draw::of("g", &[2, 3, 2, 2], Domain::Inside);

params! {
    AffineGridParams {
        theta: kind::Tensor, "affine matrices, `[n, 2, 3]`";
        size: kind::Ints, "sizes of the images that are sampled, `[n, c, h, w]`";
        align_corners: kind::Bool = false, "takes -1 and 1 as the centres of the outer pixels, not as their edges";
    }
}

params! {
    GridSampleParams {
        input: kind::Tensor, "images, `[n, c, h, w]`";
        grid: kind::Tensor, "where to look, as x and y in -1 to 1 for each output pixel";
        mode: kind::Str = "bilinear", "how values between pixels are found: `bilinear` or `nearest`";
        padding_mode: kind::Str = "zeros", "what lies outside of the image: `zeros`, `border` or `reflection`";
        align_corners: kind::Bool = false, "takes -1 and 1 as the centres of the outer pixels, not as their edges";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call("affine_grid", Family::Convolution, "The places of an output's elements in the input under affine maps, for `F::grid_sample`.", AffineGridParams::LIST, by_name!(AffineGridParams, |a| affine_grid(a.theta, &a.size, a.align_corners).map(Value::from)))
    .forms(FUNCTIONAL)
    .details(
        "`theta` is `[n, 2, 3]` with `size` `[n, c, h, w]`, or `[n, 3, 4]` with `[n, c, d, h, w]`. Places run from -1 to \
         1 over the input, width first; with `align_corners` from the centre of the first element to that of the last.",
    )
    .shapes("(N, 2, 3), size (N, C, H, W) -> (N, H, W, 2); (N, 3, 4), (N, C, D, H, W) -> (N, D, H, W, 3)")
    .errors(&[
        "ValueError: the maps do not fit the size",
        "RuntimeError: `size` asks for another number of grids than `theta` has",
    ])
    .example(
        "F::affine_grid(tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.5]]]), [1, 1, 1, 2])",
        "tensor([[[[-0.5000,  0.5000],\n          [ 0.5000,  0.5000]]]])",
    )
    .samples(&[
        Sample::of("F::affine_grid(t, [2, 1, 2, 3])", &[Draw::of("t", &[2, 2, 3], Domain::Any)]),
        Sample::of("F::affine_grid(t, [1, 1, 2, 3, 2], true)", &[Draw::of("t", &[1, 3, 4], Domain::Any)]),
    ]),
    OpDef::call("grid_sample", Family::Convolution, "An image at the places of a grid, between its elements.", GridSampleParams::LIST, by_name!(GridSampleParams, |a| {
            let (mode, outside) = (Mode::parse(a.mode)?, Outside::parse(a.padding_mode)?);
            grid_sample(a.input, a.grid, mode, outside, a.align_corners).map(Value::from)
        }))
    .forms(FUNCTIONAL)
    .details(
        "`[n, c, h, w]` and a grid `[n, h', w', 2]` give `[n, c, h', w']`, volumes likewise with one dimension more. \
         Places run from -1 to 1, width first. `mode` is \"bilinear\", \"nearest\" or \"bicubic\"; `padding_mode` says \
         what lies outside: \"zeros\", \"border\" or \"reflection\".",
    )
    .shapes("(N, C, H, W), (N, H_out, W_out, 2) -> (N, C, H_out, W_out); volumes likewise")
    .errors(&[
        "RuntimeError: the batches differ",
        "RuntimeError: a place has not as many numbers as the image dimensions",
    ])
    .example(
        "F::grid_sample(tensor([[[[0.0, 10.0]]]]), tensor([[[[-0.5, 0.0], [0.0, 0.0], [0.25, 0.0]]]]))",
        "tensor([[[[0.0000, 5.0000, 7.5000]]]])",
    )
    .samples(&[
        Sample::of("F::grid_sample(x, g)", &[IMAGE, GRID]),
        Sample::of("F::grid_sample(x, 2.0 * g, #{padding_mode: \"border\", align_corners: true})", &[IMAGE, GRID]),
        Sample::of("F::grid_sample(x, 2.2 * g, #{padding_mode: \"reflection\"})", &[IMAGE, GRID]),
        Sample::of("F::grid_sample(x, g, \"bicubic\")", &[IMAGE, GRID]),
        Sample::of(
            "F::grid_sample(x, g, #{align_corners: true})",
            &[Draw::of("x", &[1, 2, 2, 3, 2], Domain::Any), Draw::of("g", &[1, 2, 1, 2, 3], Domain::Inside)],
        ),
    ]),
];
