//! Whole operands as contiguous slices, for kernels that jump around in them.

use std::ops::{Deref, DerefMut};

use crate::base::Result;
use crate::device::cpu::copy::gathered;
use crate::device::cpu::strided::{Overlap, Strided, missing};

use super::super::kernel::{Arg, Launch};
use super::convert::Compute;
use super::copy;
use super::scratch::zeros;

/// A whole input as a contiguous slice of a compute type.
pub enum Dense<'a, C> {
    Borrowed(&'a [C]),
    Owned(Vec<C>),
}

impl<C> Deref for Dense<'_, C> {
    type Target = [C];

    fn deref(&self) -> &[C] {
        match self {
            Dense::Borrowed(slice) => slice,
            Dense::Owned(values) => values,
        }
    }
}

/// Input `index` of a launch in row-major order. It is converted or copied where it has another dtype or
/// layout, and where it shares memory with an output.
pub fn dense<'a, C: Compute>(launch: &Launch<'a>, index: usize) -> Result<Dense<'a, C>> {
    let Some(Arg::View(view)) = launch.inputs.get(index) else { return Err(missing(launch, "input", index)) };
    let view = Strided::new(view)?;
    let mut shared = false;
    for output in launch.outputs {
        shared |= view.overlap(&Strided::new(output)?) != Overlap::None;
    }
    if !shared {
        // SAFETY: the launch writes its outputs alone, and none of them holds an element of this view.
        if let Some(slice) = unsafe { view.slice() } {
            return Ok(Dense::Borrowed(slice));
        }
    }
    gathered(launch.cancel, &view).map(Dense::Owned)
}

/// A whole output as a contiguous slice of a compute type; [`DenseOut::finish`] brings it to its place.
pub(crate) struct DenseOut<'a, C> {
    view: Strided<'a>,
    values: Filled<'a, C>,
}

enum Filled<'a, C> {
    InPlace(&'a mut [C]),
    Aside(Vec<C>),
}

impl<'a, C: Compute> DenseOut<'a, C> {
    /// Output `index` of a launch, its values arbitrary.
    pub(crate) fn new(launch: &Launch<'a>, index: usize) -> Result<DenseOut<'a, C>> {
        DenseOut::open(launch, index, false)
    }

    /// Output `index` of a launch with the values it has.
    pub(crate) fn with_values(launch: &Launch<'a>, index: usize) -> Result<DenseOut<'a, C>> {
        DenseOut::open(launch, index, true)
    }

    fn open(launch: &Launch<'a>, index: usize, keep: bool) -> Result<DenseOut<'a, C>> {
        let Some(view) = launch.outputs.get(index) else { return Err(missing(launch, "output", index)) };
        let view = Strided::new(view)?;
        // SAFETY: the launch holds its outputs exclusively; inputs that share memory with one are copied by
        // `dense`, or read in blocks before their place is written.
        let values = match unsafe { view.slice_mut() } {
            Some(slice) => Filled::InPlace(slice),
            None if keep => Filled::Aside(gathered(launch.cancel, &view)?),
            None => Filled::Aside(zeros(view.numel())?),
        };
        Ok(DenseOut { view, values })
    }

    /// Writes values that were computed aside to the output.
    pub(crate) fn finish(self, launch: &Launch) -> Result<()> {
        let Filled::Aside(mut values) = self.values else { return Ok(()) };
        let layout = self.view.as_rows()?;
        copy::between(launch.cancel, &Strided::of_slice(&mut values, &layout)?, &self.view)
    }
}

impl<C> Deref for DenseOut<'_, C> {
    type Target = [C];

    fn deref(&self) -> &[C] {
        match &self.values {
            Filled::InPlace(slice) => slice,
            Filled::Aside(values) => values,
        }
    }
}

impl<C> DerefMut for DenseOut<'_, C> {
    fn deref_mut(&mut self) -> &mut [C] {
        match &mut self.values {
            Filled::InPlace(slice) => slice,
            Filled::Aside(values) => values,
        }
    }
}
