use proptest::prelude::*;

use crate::base::{DType, Layout};
use crate::device::cancel::Cancel;
use crate::device::cpu::convolution::tap::Tap;
use crate::device::cpu::isa;
use crate::device::cpu::testing::{Sample, assert_close, launch, output};
use crate::device::kernel::{Conv, Kernel, Launch};

use super::correlate::{Correlation, FilterBank};
use super::plane::Planes;

#[derive(Clone, Debug)]
struct Case {
    images: usize,
    /// Channels and filters of a group.
    channels: usize,
    filters: usize,
    size: [usize; 2],
    filter: [usize; 2],
    conv: Conv,
}

impl Case {
    fn output(&self) -> Option<[usize; 2]> {
        let axis = |a: usize| {
            let span = self.conv.dilation[a] * (self.filter[a] - 1) + 1;
            (self.size[a] + 2 * self.conv.padding[a]).checked_sub(span).map(|r| r / self.conv.stride[a] + 1)
        };
        Some([axis(0)?, axis(1)?])
    }

    fn shapes(&self) -> Option<[[usize; 4]; 3]> {
        let [oh, ow] = self.output()?;
        let groups = self.conv.groups;
        Some([
            [self.images, self.channels * groups, self.size[0], self.size[1]],
            [self.filters * groups, self.channels, self.filter[0], self.filter[1]],
            [self.images, self.filters * groups, oh, ow],
        ])
    }

    /// Calls `visit(x, w, y)` with the flat indices of every product.
    fn products(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let [[n, c, h, w], [o, cg, kh, kw], [_, _, oh, ow]] = self.shapes().unwrap();
        let Conv { stride, padding, dilation, .. } = self.conv;
        for at in 0..n * o * oh * ow {
            let (image, filter, y, x) = (at / (o * oh * ow), at / (oh * ow) % o, at / ow % oh, at % ow);
            for k in 0..cg * kh * kw {
                let (channel, ky, kx) = (k / (kh * kw), k / kw % kh, k % kw);
                let row = (y * stride[0] + ky * dilation[0]).wrapping_sub(padding[0]);
                let column = (x * stride[1] + kx * dilation[1]).wrapping_sub(padding[1]);
                if row < h && column < w {
                    let channel = filter / self.filters * cg + channel;
                    visit(((image * c + channel) * h + row) * w + column, filter * cg * kh * kw + k, at);
                }
            }
        }
    }

    /// Whole numbers, so that every order of summation gives the same bits.
    fn check(&self, dtype: DType, turned: bool) {
        let Some([xs, ws, ys]) = self.shapes() else { return };
        let numbers = |seed: usize| (0..).map(move |i: usize| ((i * 7919 + seed) % 11) as f64 - 5.0);
        let layout = |shape: &[usize; 4]| {
            let [a, b, c, d] = *shape;
            match turned {
                true => Layout::contiguous(&[a, b, d, c]).unwrap().transpose(2, 3).unwrap(),
                false => Layout::contiguous(shape).unwrap(),
            }
        };
        let (x, w) = (
            Sample::laid_out(dtype, layout(&xs), numbers(1)),
            Sample::laid_out(dtype, layout(&ws), numbers(2)),
        );
        let (dy, bias) =
            (Sample::laid_out(dtype, layout(&ys), numbers(3)), Sample::new(dtype, &[ws[0]], numbers(4)));
        let (xv, wv, dyv, bv) = (x.values(), w.values(), dy.values(), bias.values());
        let area = ys[2] * ys[3];
        let mut want_y: Vec<f64> = (0..dyv.len()).map(|at| bv[at / area % ws[0]]).collect();
        let (mut want_dx, mut want_dw) = (vec![0.0; xv.len()], vec![0.0; wv.len()]);
        self.products(|x, w, y| {
            want_y[y] += xv[x] * wv[w];
            want_dx[x] += dyv[y] * wv[w];
            want_dw[w] += dyv[y] * xv[x];
        });
        let rounding = if dtype == DType::BFloat16 { 1e-2 } else { 0.0 };
        let y = output(&Kernel::Conv2d(self.conv), &[x.arg(), w.arg(), bias.arg()], dtype, &ys);
        assert_close(&y, &want_y, rounding, 0.0);
        let dx = Sample::laid_out(dtype, layout(&xs), numbers(5));
        launch(&Kernel::Conv2dGradInput(self.conv), &[dy.arg(), w.arg()], &[dx.view()]).unwrap();
        assert_close(&dx.values(), &want_dx, rounding, 0.0);
        let dw = output(&Kernel::Conv2dGradWeight(self.conv), &[dy.arg(), x.arg()], dtype, &ws);
        assert_close(&dw, &want_dw, rounding, 0.0);
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let pair = |from: usize, to: usize| prop::array::uniform2(from..to);
    (0usize..4, 1usize..5, 1usize..5, pair(1, 9), pair(1, 4), pair(1, 4), pair(0, 3), pair(1, 3), 1usize..3)
        .prop_map(|(images, channels, filters, size, filter, stride, padding, dilation, groups)| Case {
            images,
            channels,
            filters,
            size,
            filter,
            conv: Conv { stride, padding, dilation, groups },
        })
}

const PLAIN: Conv = Conv { stride: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 1 };

proptest! {
    #[test]
    fn convolutions_and_gradients_are_their_sums(case in cases(), turned in any::<bool>()) {
        case.check(DType::Float32, turned);
    }
}

#[test]
fn every_instruction_set_and_many_channels() {
    isa::on_each(|_| {
        for dtype in [DType::Float32, DType::Float64, DType::BFloat16] {
            let same = Conv { padding: [1, 1], ..PLAIN };
            for (images, channels, filters, size, filter, conv) in [
                (2, 37, 45, [9, 11], [3, 3], same),
                (1, 3, 70, [30, 31], [5, 3], Conv { stride: [2, 2], ..same }),
                (9, 20, 33, [4, 4], [1, 1], PLAIN),
                (2, 20, 33, [8, 8], [1, 1], Conv { stride: [2, 2], ..PLAIN }),
                (5, 1, 1, [12, 12], [3, 3], Conv { groups: 16, ..same }),
                (2, 1, 1, [21, 33], [3, 3], Conv { groups: 5, ..same }),
                (1, 1, 1, [200, 40], [3, 3], Conv { groups: 3, ..same }),
                (2, 1, 1, [20, 18], [5, 5], Conv { groups: 4, padding: [2, 2], ..PLAIN }),
                (2, 1, 1, [9, 13], [7, 3], Conv { groups: 4, padding: [3, 1], ..PLAIN }),
                (2, 1, 1, [30, 24], [3, 5], Conv { groups: 4, dilation: [2, 3], ..PLAIN }),
                (3, 1, 1, [3, 20], [3, 3], Conv { groups: 4, ..same }),
                (2, 1, 1, [17, 40], [3, 3], Conv { groups: 4, stride: [2, 2], ..same }),
                (3, 2, 3, [1, 50], [1, 7], Conv { padding: [0, 3], ..PLAIN }),
            ] {
                Case { images, channels, filters, size, filter, conv }.check(dtype, false);
            }
        }
    });
}

#[test]
fn large_weights_are_summed_tap_by_tap() {
    Case {
        images: 3,
        channels: 130,
        filters: 140,
        size: [5, 6],
        filter: [3, 3],
        conv: Conv { padding: [1, 1], ..PLAIN },
    }
    .check(DType::Float32, false);
}

#[test]
fn pixels_that_no_tap_reaches() {
    // The stride steps over most of the input, and the padding holds whole windows.
    let conv = Conv { stride: [4, 4], padding: [5, 5], ..PLAIN };
    Case { images: 2, channels: 2, filters: 2, size: [6, 6], filter: [2, 2], conv }
        .check(DType::Float32, false);
}

#[test]
fn taps_far_outside_cost_nothing() {
    let far = Conv { padding: [1 << 30, 1], dilation: [1 << 30, 1], ..PLAIN };
    Case { images: 1, channels: 1, filters: 2, size: [3, 3], filter: [3, 3], conv: far }
        .check(DType::Float32, false);
}

#[test]
fn infinities_stay_where_they_are() {
    let mut values = vec![1.0; 36];
    values[35] = f64::INFINITY;
    let x = Sample::new(DType::Float32, &[1, 1, 6, 6], values);
    let w = Sample::new(DType::Float32, &[1, 1, 3, 3], [1.0; 9]);
    let conv = Conv { padding: [1, 1], ..PLAIN };
    let y = output(&Kernel::Conv2d(conv), &[x.arg(), w.arg()], DType::Float32, &[1, 1, 6, 6]);
    assert_eq!(y.iter().filter(|v| v.is_finite()).count(), 32);
    assert!(y.iter().all(|v| !v.is_nan()));
    let dy = Sample::new(DType::Float32, &[1, 1, 6, 6], [1.0; 36]);
    let dw = output(&Kernel::Conv2dGradWeight(conv), &[dy.arg(), x.arg()], DType::Float32, &[1, 1, 3, 3]);
    // The last pixel is outside what the last row and column of taps see.
    assert!(dw.iter().all(|v| !v.is_nan()));
    assert_eq!(dw.iter().filter(|v| v.is_finite()).count(), 5);
}

#[test]
fn shapes_that_do_not_belong_together_are_an_error() {
    let (x, w) = (Sample::zeros(DType::Float32, &[1, 3, 4, 4]), Sample::zeros(DType::Float32, &[2, 2, 1, 1]));
    let y = Sample::zeros(DType::Float32, &[1, 2, 4, 4]);
    let error = launch(&Kernel::Conv2d(PLAIN), &[x.arg(), w.arg()], &[y.view()]).unwrap_err();
    assert!(error.message().contains("[1, 3, 4, 4]"), "{error}");
}

/// Outputs of more columns than a padded picture has: the last place of a row is the first of the next one, and that
/// of the last row lies in the image behind, which another thread may have written already.
#[test]
fn what_reaches_into_the_next_row_is_written_once() {
    let output = [3, 7];
    let taps = [-2, -1].map(|column| Tap { channel: 0, shift: [0, column] });
    let planes = Planes::new(1, [3, 10], [1, 2], output, &taps);
    assert!(planes.pitch < output[1]);
    let part = FilterBank::<f32>::new(&planes, &taps, 1, output, 0, |_, _| Some(1.0)).unwrap();
    let correlation = Correlation {
        planes: &planes,
        parts: vec![part],
        groups: 1,
        source: &[1.0; 30],
        to_channels: 1,
        to_size: output,
        bias: None,
    };
    let conv = Conv { stride: [1, 2], padding: [0, 2], dilation: [1, 1], groups: 1 };
    let (kernel, cancel) = (Kernel::Conv2d(conv), Cancel::default());
    let launch = Launch {
        op: "test",
        kernel: &kernel,
        inputs: &[],
        outputs: &[],
        stream: 0,
        cancel: &cancel,
        timed: false,
    };
    let mut images = [-1.0f32; 42];
    correlation.run(&launch, 1, &mut images).unwrap();
    let (first, second) = images.split_at(21);
    assert_eq!(first, [0.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0].repeat(3));
    assert_eq!(second, [-1.0; 21]);
}

#[test]
fn wide_padding_meets_strips_anywhere() {
    for (width, padding) in (1..4).flat_map(|width| (2..7).map(move |padding| (width, padding))) {
        for stride in 1..3 {
            let conv = Conv { stride: [1, stride], padding: [0, padding], dilation: [1, 1], groups: 1 };
            let (size, filter) = ([400, width], [1, 2]);
            let case = Case { images: 1, channels: 1, filters: 1, size, filter, conv };
            case.check(DType::Float32, false);
        }
    }
}
