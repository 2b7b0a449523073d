//! `Places`: where a mask is true.

use crate::base::dtype::Bool;
use crate::base::{Error, Result};
use crate::device::kernel::{Arg, Launch};

use super::dense::DenseOut;
use super::parallel::{self, SharedMut};
use super::strided::{Strided, missing};

/// Elements of the mask that are looked at together.
const PIECE: usize = 1 << 14;

/// The places of a mask's true elements in row-major order: each piece counts its own, then writes behind the others'.
/// More than the output has room for are left out.
pub(super) fn places(launch: &Launch) -> Result<()> {
    let Some(Arg::View(view)) = launch.inputs.first() else { return Err(missing(launch, "input", 0)) };
    let view = Strided::new(view)?;
    // SAFETY: the output is int64 and shares no memory with a mask.
    let Some(mask) = (unsafe { view.slice::<Bool>() }) else {
        return Err(Error::runtime(format!("{}: a mask of bools in a row is needed", launch.op)));
    };
    let mut y = DenseOut::<i64>::new(launch, 0)?;
    let part = |range: std::ops::Range<usize>| mask.get(range).unwrap_or(&[]);
    let counts = parallel::map_ranges(mask.len(), PIECE, launch.cancel, |range| {
        part(range).iter().filter(|is| is.0 != 0).count()
    })?;
    let (mut starts, mut before) = (counts, 0);
    for start in &mut starts {
        before += std::mem::replace(start, before);
    }
    let to = SharedMut::new(&mut y);
    parallel::for_ranges(mask.len(), PIECE, launch.cancel, |range| {
        let from = range.start;
        let start = starts.get(from / PIECE).copied().unwrap_or(0);
        let end = starts.get(from / PIECE + 1).copied().unwrap_or(before);
        // SAFETY: pieces write behind each other.
        let to = unsafe { to.slice(start..end) };
        let places = part(range).iter().enumerate().filter(|(_, is)| is.0 != 0);
        to.iter_mut().zip(places).for_each(|(to, (i, _))| *to = (from + i) as i64);
    })?;
    y.finish(launch)
}

#[cfg(test)]
mod tests {
    use crate::base::DType;
    use crate::device::cpu::testing::{Sample, output};
    use crate::device::kernel::Kernel;

    #[test]
    fn places_come_in_order_and_stop_where_there_is_no_more_room() {
        let is = |i: usize| i * 7919 % 13 < 6;
        let n = 70_000;
        let mask = Sample::new(DType::Bool, &[n], (0..n).map(|i| f64::from(u8::from(is(i)))));
        let want: Vec<f64> = (0..n).filter(|&i| is(i)).map(|i| i as f64).collect();
        for room in [want.len(), want.len() / 2, 0] {
            let got = output(&Kernel::Places, &[mask.arg()], DType::Int64, &[room]);
            assert_eq!(got, want[..room]);
        }
    }
}
