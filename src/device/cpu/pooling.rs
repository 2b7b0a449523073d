//! `MaxPool2d`, `AvgPool2d` and their gradients.

#![allow(clippy::indexing_slicing, reason = "an axis is 0 or 1, and indexes a pair")]

use std::ops::Range;

use crate::base::{Error, Result, memory};
use crate::device::kernel::{Launch, Window};

use super::access::{DenseOut, dense};
use super::convert::with_compute;
use super::float::Number;
use super::isa::{self, Isa, Work};
use super::lines::{expect_shape, input_shape, output_shape};
use super::parallel::{self, SharedMut};

/// The largest element of each window and its place in the plane. Padding is below everything; NaN wins, and
/// of equals the first, as in PyTorch.
pub(super) fn max_pool(launch: &Launch, window: &Window) -> Result<()> {
    let planes = Planes::new(launch, input_shape(launch, 0)?, output_shape(launch, 0)?, window)?;
    expect_shape(launch, "the indices", output_shape(launch, 1)?, output_shape(launch, 0)?)?;
    with_compute!(launch.dtype(), C => {
        let x = dense::<C>(launch, 0)?;
        let mut y = DenseOut::<C>::new(launch, 0)?;
        let mut indices = DenseOut::<i64>::new(launch, 1)?;
        let (to_y, to_indices) = (SharedMut::new(&mut y), SharedMut::new(&mut indices));
        planes.each(launch, |plane| {
            // SAFETY: planes are disjoint.
            let (y, indices) = unsafe { (to_y.slice(planes.small(plane)), to_indices.slice(planes.small(plane))) };
            let x = x.get(planes.large(plane)).unwrap_or(&[]);
            isa::dispatch(MaxPlane { planes: &planes, x, y, indices });
        })?;
        y.finish(launch)?;
        indices.finish(launch)
    })
}

/// Each gradient at the place its maximum came from.
pub(crate) fn max_pool_grad(launch: &Launch, window: &Window) -> Result<()> {
    let planes = Planes::new(launch, output_shape(launch, 0)?, input_shape(launch, 0)?, window)?;
    expect_shape(launch, "the indices", input_shape(launch, 1)?, input_shape(launch, 0)?)?;
    with_compute!(launch.dtype(), C => {
        let (dy, indices) = (dense::<C>(launch, 0)?, dense::<i64>(launch, 1)?);
        let mut dx = DenseOut::<C>::new(launch, 0)?;
        let all = SharedMut::new(&mut dx);
        planes.each(launch, |plane| {
            // SAFETY: planes are disjoint.
            let dx = unsafe { all.slice(planes.large(plane)) };
            dx.fill(C::default());
            let small = planes.small(plane);
            let (dy, places) = (dy.get(small.clone()).unwrap_or(&[]), indices.get(small).unwrap_or(&[]));
            for (&dy, &place) in dy.iter().zip(places) {
                if let Some(to) = usize::try_from(place).ok().and_then(|p| dx.get_mut(p)) {
                    *to = to.plus(dy);
                }
            }
        })?;
        dx.finish(launch)
    })
}

/// The mean of each window; with `count_include_pad` padding counts as zeros.
pub(super) fn avg_pool(launch: &Launch, window: &Window) -> Result<()> {
    let planes = Planes::new(launch, input_shape(launch, 0)?, output_shape(launch, 0)?, window)?;
    with_compute!(launch.dtype(), C => {
        let x = dense::<C>(launch, 0)?;
        let mut y = DenseOut::<C>::new(launch, 0)?;
        let all = SharedMut::new(&mut y);
        planes.each(launch, |plane| {
            // SAFETY: planes are disjoint.
            let y = unsafe { all.slice(planes.small(plane)) };
            let x = x.get(planes.large(plane)).unwrap_or(&[]);
            planes.windows(y, |y, [rows, columns], count| {
                let mut sum = C::default();
                for row in rows {
                    let start = row * planes.size[1];
                    let line = x.get(start + columns.start..start + columns.end).unwrap_or(&[]);
                    sum = line.iter().fold(sum, |sum, &v| sum.plus(v));
                }
                *y = sum.over(count);
            });
        })?;
        y.finish(launch)
    })
}

/// Each gradient spread evenly over its window.
pub(crate) fn avg_pool_grad(launch: &Launch, window: &Window) -> Result<()> {
    let planes = Planes::new(launch, output_shape(launch, 0)?, input_shape(launch, 0)?, window)?;
    with_compute!(launch.dtype(), C => {
        let dy = dense::<C>(launch, 0)?;
        let mut dx = DenseOut::<C>::new(launch, 0)?;
        let all = SharedMut::new(&mut dx);
        planes.try_each(launch, |plane| {
            // SAFETY: planes are disjoint.
            let dx = unsafe { all.slice(planes.large(plane)) };
            dx.fill(C::default());
            let mut dy = memory::copied(dy.get(planes.small(plane)).unwrap_or(&[]))?;
            planes.windows(&mut dy, |dy, [rows, columns], count| {
                let share = dy.over(count);
                for row in rows {
                    let start = row * planes.size[1];
                    let line = dx.get_mut(start + columns.start..start + columns.end);
                    line.into_iter().flatten().for_each(|to| *to = to.plus(share));
                }
            });
            Ok(())
        })?;
        dx.finish(launch)
    })
}

/// Planes of an `n x c x h x w` tensor and of what pooling makes of them.
struct Planes<'a> {
    count: usize,
    /// Height and width before pooling, and after.
    size: [usize; 2],
    pooled: [usize; 2],
    window: &'a Window,
}

impl<'a> Planes<'a> {
    fn new(launch: &Launch, large: &[usize], small: &[usize], window: &'a Window) -> Result<Planes<'a>> {
        let (&[n, c, h, w], &[n2, c2, oh, ow]) = (large, small) else {
            return Err(Error::runtime(format!("{}: planes have shape {large:?}", launch.op)));
        };
        expect_shape(launch, "the pooled tensor", &[n2, c2], &[n, c])?;
        if window.size.contains(&0) || window.stride.contains(&0) || window.dilation.contains(&0) {
            return Err(Error::runtime(format!(
                "{}: sizes, strides and dilations of a window must be greater than zero",
                launch.op
            )));
        }
        Ok(Planes { count: n * c, size: [h, w], pooled: [oh, ow], window })
    }

    fn large(&self, plane: usize) -> Range<usize> {
        let n = self.size[0] * self.size[1];
        plane * n..(plane + 1) * n
    }

    fn small(&self, plane: usize) -> Range<usize> {
        let n = self.pooled[0] * self.pooled[1];
        plane * n..(plane + 1) * n
    }

    fn each(&self, launch: &Launch, work: impl Fn(usize) + Sync) -> Result<()> {
        parallel::for_ranges(self.count, self.grain(), launch.cancel, |range| range.for_each(&work))
    }

    /// As [`each`](Planes::each), for work that can fail.
    fn try_each(&self, launch: &Launch, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
        let all = |mut range: Range<usize>| range.try_for_each(&work);
        parallel::try_for_ranges(self.count, self.grain(), launch.cancel, all)
    }

    fn grain(&self) -> usize {
        let [oh, ow] = self.pooled;
        let [kh, kw] = self.window.size;
        parallel::grain(oh.saturating_mul(ow).saturating_mul(kh.saturating_mul(kw)))
    }

    /// The window of output `at` along an axis: where it meets the plane, and its length with padding.
    fn span(&self, axis: usize, at: usize) -> (Range<usize>, usize) {
        let (size, padding) = (self.size[axis], self.window.padding[axis]);
        let start = at.saturating_mul(self.window.stride[axis]);
        let padded = size.saturating_add(padding.saturating_mul(2));
        let end = start.saturating_add(self.window.size[axis]).min(padded);
        let inside = start.saturating_sub(padding).min(size)..end.saturating_sub(padding).min(size);
        (inside, end.saturating_sub(start))
    }

    /// Calls `visit` for each element of a pooled plane with its window (rows, columns) and what to divide by;
    /// windows that lie in the padding alone leave zero.
    #[inline(always)]
    fn windows<C: Number>(&self, pooled: &mut [C], mut visit: impl FnMut(&mut C, [Range<usize>; 2], usize)) {
        let columns: Vec<_> = (0..self.pooled[1]).map(|i| self.span(1, i)).collect();
        for (i, line) in pooled.chunks_exact_mut(self.pooled[1].max(1)).enumerate() {
            let (rows, height) = self.span(0, i);
            for (value, (columns, width)) in line.iter_mut().zip(&columns) {
                let whole =
                    if self.window.count_include_pad { height * width } else { rows.len() * columns.len() };
                if rows.is_empty() || columns.is_empty() {
                    *value = C::default();
                } else {
                    visit(value, [rows.clone(), columns.clone()], whole);
                }
            }
        }
    }

    /// Places of a window along an axis that lie inside the plane for one of these outputs.
    fn met(&self, axis: usize, outputs: Range<usize>) -> Range<usize> {
        let Window { size, stride, padding, dilation, .. } = self.window;
        let (near, far) = (outputs.start * stride[axis], outputs.end.saturating_sub(1) * stride[axis]);
        let first = padding[axis].saturating_sub(far).div_ceil(dilation[axis]);
        let end = (self.size[axis] + padding[axis]).saturating_sub(near).div_ceil(dilation[axis]);
        first..end.min(size[axis])
    }

    /// Outputs along the width whose window has element `k` inside the plane.
    fn outputs_of(&self, k: usize) -> Range<usize> {
        let (offset, stride) = (k * self.window.dilation[1], self.window.stride[1]);
        let padding = self.window.padding[1];
        let first = padding.saturating_sub(offset).div_ceil(stride);
        let end = (self.size[1] + padding).saturating_sub(offset).div_ceil(stride);
        first.min(self.pooled[1])..end.min(self.pooled[1])
    }
}

/// A plane, an output row at a time: each place of the window is compared for the whole row.
struct MaxPlane<'a, C> {
    planes: &'a Planes<'a>,
    x: &'a [C],
    y: &'a mut [C],
    indices: &'a mut [i64],
}

impl<C: Number> Work for MaxPlane<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Planes { size: [h, w], pooled: [_, ow], window, .. } = *self.planes;
        let pairs = window.size == [2; 2]
            && window.stride == [2; 2]
            && window.padding == [0; 2]
            && window.dilation == [1; 2];
        if pairs && 2 * self.planes.pooled[0] <= h && 2 * ow <= w {
            return self.halved();
        }
        let columns = self.planes.met(1, 0..ow);
        let lines = self.y.chunks_exact_mut(ow.max(1)).zip(self.indices.chunks_exact_mut(ow.max(1)));
        for (oy, (best, places)) in lines.enumerate() {
            best.fill(C::LEAST);
            first_places(self.planes, oy, places);
            for ky in self.planes.met(0, oy..oy + 1) {
                let row = oy * window.stride[0] + ky * window.dilation[0];
                let Some(row) = row.checked_sub(window.padding[0]).filter(|r| *r < h) else { continue };
                let line = self.x.get(row * w..(row + 1) * w).unwrap_or(&[]);
                for kx in columns.clone() {
                    let outputs = self.planes.outputs_of(kx);
                    let first = (outputs.start * window.stride[1] + kx * window.dilation[1])
                        .saturating_sub(window.padding[1]);
                    let (Some(best), Some(places), Some(from)) =
                        (best.get_mut(outputs.clone()), places.get_mut(outputs), line.get(first..))
                    else {
                        continue;
                    };
                    let at = (row * w + first) as i64;
                    match window.stride[1] {
                        1 => compare(best, places, from.iter(), at, 1),
                        2 => compare(best, places, from.iter().step_by(2), at, 2),
                        step => compare(best, places, from.iter().step_by(step), at, step),
                    }
                }
            }
        }
    }
}

impl<C: Number> MaxPlane<'_, C> {
    /// Windows of two by two that meet: each is read once, its largest held in a register.
    #[inline(always)]
    fn halved(self) {
        let Planes { size: [_, w], pooled: [_, ow], .. } = *self.planes;
        let lines = self.y.chunks_exact_mut(ow.max(1)).zip(self.indices.chunks_exact_mut(ow.max(1)));
        for ((best, places), (pair, rows)) in lines.zip(self.x.chunks_exact(2 * w.max(1)).enumerate()) {
            let (top, bottom) = rows.split_at(w);
            let windows = top.as_chunks::<2>().0.iter().zip(bottom.as_chunks::<2>().0);
            let first = (pair * 2 * w) as i64;
            for (i, ((best, place), (&[a, b], &[c, d]))) in
                best.iter_mut().zip(places).zip(windows).enumerate()
            {
                let (mut value, mut at) = (a, 0);
                for (other, place) in [(b, 1), (c, w as i64), (d, w as i64 + 1)] {
                    let wins = wins(other, value);
                    value = if wins { other } else { value };
                    at = if wins { place } else { at };
                }
                *best = value;
                *place = first + 2 * i as i64 + at;
            }
        }
    }
}

/// What stays where a window holds nothing above the least value: its first element in the plane.
#[inline(always)]
fn first_places(planes: &Planes, oy: usize, places: &mut [i64]) {
    let first = |axis: usize, o: usize| {
        let Window { stride, padding, dilation, .. } = planes.window;
        let start = o * stride[axis];
        let steps = padding[axis].saturating_sub(start).div_ceil(dilation[axis]);
        (start + steps * dilation[axis]).saturating_sub(padding[axis])
    };
    let row = first(0, oy) * planes.size[1];
    for (ox, place) in places.iter_mut().enumerate() {
        *place = (row + first(1, ox)) as i64;
    }
}

#[inline(always)]
fn compare<'a, C: Number>(
    best: &mut [C],
    places: &mut [i64],
    from: impl Iterator<Item = &'a C>,
    at: i64,
    step: usize,
) {
    for (i, ((best, place), &value)) in best.iter_mut().zip(places).zip(from).enumerate() {
        let wins = wins(value, *best);
        *best = if wins { value } else { *best };
        *place = if wins { at + (i * step) as i64 } else { *place };
    }
}

/// Whether a later element takes the place of the largest so far.
#[inline(always)]
#[allow(clippy::eq_op, reason = "only NaN differs from itself")]
fn wins<C: Number>(value: C, best: C) -> bool {
    value > best || value != value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{DType, Layout};
    use crate::device::cpu::testing::{Sample, assert_close, launch, output};
    use crate::device::kernel::Kernel;
    use proptest::prelude::*;

    fn windows() -> impl Strategy<Value = Window> {
        let pair = |from: usize, to: usize| prop::array::uniform2(from..to);
        (pair(1, 4), pair(1, 4), pair(0, 2), pair(1, 3), any::<bool>()).prop_map(
            |(size, stride, padding, dilation, count_include_pad)| {
                let padding = [padding[0].min(size[0] / 2), padding[1].min(size[1] / 2)];
                Window { size, stride, padding, dilation, count_include_pad }
            },
        )
    }

    fn pooled(window: &Window, size: [usize; 2]) -> Option<[usize; 2]> {
        let axis = |a: usize| {
            let span = window.dilation[a] * (window.size[a] - 1) + 1;
            (size[a] + 2 * window.padding[a]).checked_sub(span).map(|room| room / window.stride[a] + 1)
        };
        Some([axis(0)?, axis(1)?])
    }

    /// The places of a window inside the plane, in order.
    fn places(window: &Window, size: [usize; 2], at: [usize; 2]) -> Vec<usize> {
        let axis = |a: usize| {
            (0..window.size[a])
                .map(move |k| {
                    (at[a] * window.stride[a] + k * window.dilation[a]) as isize - window.padding[a] as isize
                })
                .filter(move |&i| i >= 0 && i < size[a] as isize)
                .collect::<Vec<_>>()
        };
        axis(0)
            .into_iter()
            .flat_map(|y| axis(1).into_iter().map(move |x| y as usize * size[1] + x as usize))
            .collect()
    }

    fn noise(seed: u64, nan: bool) -> impl Iterator<Item = f64> {
        let mut state = seed;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            match state >> 33 {
                n if nan && n % 11 == 0 => f64::NAN,
                n => (n % 9) as f64 - 4.0,
            }
        })
    }

    proptest! {
        #[test]
        fn maxima_and_their_places(
            window in windows(), h in 1usize..9, w in 1usize..9, seed in any::<u64>(), nan in any::<bool>(), d in 0usize..5, turned in any::<bool>(),
        ) {
            let Some([oh, ow]) = pooled(&window, [h, w]) else { return Ok(()) };
            let layout = if turned { Layout::contiguous(&[2, 3, w, h]).unwrap().transpose(2, 3).unwrap() } else { Layout::contiguous(&[2, 3, h, w]).unwrap() };
            let x = Sample::laid_out(DType::ALL[d], layout, noise(seed, nan && d < 4));
            let (y, indices) = (Sample::zeros(x.dtype, &[2, 3, oh, ow]), Sample::zeros(DType::Int64, &[2, 3, oh, ow]));
            launch(&Kernel::MaxPool2d(window), &[x.arg()], &[y.view(), indices.view()]).unwrap();
            let (values, mut want, mut want_at) = (x.values(), vec![], vec![]);
            let mut want_dx = vec![0.0; values.len()];
            for plane in 0..6 {
                for at in 0..oh * ow {
                    let mut best: Option<(f64, usize)> = None;
                    for place in places(&window, [h, w], [at / ow, at % ow]) {
                        let value = values[plane * h * w + place];
                        if best.is_none_or(|(b, _)| value > b || value.is_nan()) {
                            best = Some((value, place));
                        }
                    }
                    // A dilated window may step over the whole plane.
                    let Some((value, place)) = best else { return Ok(()) };
                    want.push(value);
                    want_at.push(place as f64);
                    want_dx[plane * h * w + place] += want.len() as f64;
                }
            }
            assert_close(&y.values(), &want, 0.0, 0.0);
            prop_assert_eq!(indices.values(), want_at);
            let dy = Sample::new(DType::Float64, &[2, 3, oh, ow], (1..).map(f64::from));
            let dx = output(&Kernel::MaxPool2dGrad(window), &[dy.arg(), indices.arg()], DType::Float64, &[2, 3, h, w]);
            prop_assert_eq!(dx, want_dx);
        }

        #[test]
        fn means_and_their_gradients(window in windows(), h in 1usize..9, w in 1usize..9, seed in any::<u64>()) {
            let window = Window { dilation: [1, 1], ..window };
            let Some([oh, ow]) = pooled(&window, [h, w]) else { return Ok(()) };
            let x = Sample::new(DType::Float64, &[2, 1, h, w], noise(seed, false));
            let got = output(&Kernel::AvgPool2d(window), &[x.arg()], DType::Float64, &[2, 1, oh, ow]);
            let dy = Sample::new(DType::Float64, &[2, 1, oh, ow], (1..).map(f64::from));
            let got_dx = output(&Kernel::AvgPool2dGrad(window), &[dy.arg()], DType::Float64, &[2, 1, h, w]);
            let (values, mut want, mut want_dx) = (x.values(), vec![], vec![0.0; 2 * h * w]);
            for plane in 0..2 {
                for at in 0..oh * ow {
                    let inside = places(&window, [h, w], [at / ow, at % ow]);
                    let span = |a: usize, o: usize| {
                        let start = o * window.stride[a];
                        (start + window.size[a]).min([h, w][a] + 2 * window.padding[a]) - start
                    };
                    let whole = span(0, at / ow) * span(1, at % ow);
                    let count = if window.count_include_pad { whole } else { inside.len() } as f64;
                    let sum: f64 = inside.iter().map(|p| values[plane * h * w + p]).sum();
                    want.push(sum / count);
                    inside.iter().for_each(|p| want_dx[plane * h * w + p] += want.len() as f64 / count);
                }
            }
            assert_close(&got, &want, 1e-12, 1e-12);
            assert_close(&got_dx, &want_dx, 1e-12, 1e-12);
        }
    }

    #[test]
    fn a_plane_of_minus_infinity_names_its_first_place() {
        let window = Window {
            size: [2, 2],
            stride: [2, 2],
            padding: [1, 1],
            dilation: [1, 1],
            count_include_pad: true,
        };
        let x = Sample::new(DType::Float32, &[1, 1, 2, 2], [f64::NEG_INFINITY; 4]);
        let (y, indices) =
            (Sample::zeros(DType::Float32, &[1, 1, 2, 2]), Sample::zeros(DType::Int64, &[1, 1, 2, 2]));
        launch(&Kernel::MaxPool2d(window), &[x.arg()], &[y.view(), indices.view()]).unwrap();
        assert_eq!(indices.values(), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(y.values(), [f64::NEG_INFINITY; 4]);
    }

    #[test]
    fn a_window_of_nothing_is_refused_and_no_planes_are_fine() {
        let window = Window {
            size: [2, 2],
            stride: [0, 1],
            padding: [0, 0],
            dilation: [1, 1],
            count_include_pad: true,
        };
        let x = Sample::zeros(DType::Float32, &[1, 1, 4, 4]);
        assert!(launch(&Kernel::AvgPool2d(window), &[x.arg()], &[x.view()]).is_err());
        let none = Sample::zeros(DType::Float32, &[0, 1, 4, 4]);
        let window = Window { stride: [2, 2], ..window };
        assert!(output(&Kernel::AvgPool2d(window), &[none.arg()], DType::Float32, &[0, 1, 2, 2]).is_empty());
    }
}
