//! Accuracy against f64, over the whole range of f32.

use super::super::isa::{Avx2, Baseline, Careful, Isa};
use super::*;

/// Units in the last place of f32 between a result and the true value; infinite where they differ in kind.
fn error(got: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if want.is_nan() || got.is_nan() {
        return if want.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == rounded {
        let signs = got != 0.0 || want != 0.0 || got.is_sign_negative() == want.is_sign_negative();
        return if signs { 0.0 } else { f64::INFINITY };
    }
    // Next to overflow a result may round either way.
    let limit = |v: f64| if v.is_infinite() { 2f64.powi(128).copysign(v) } else { v };
    let exponent = want.abs().log2().floor().clamp(-126.0, 127.0) as i32;
    (limit(f64::from(got)) - limit(want)).abs() / 2f64.powi(exponent - 23)
}

/// Values of every sign, exponent and many mantissas, and the special ones.
fn values() -> impl Iterator<Item = f32> {
    let specials = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN];
    let even = (0..=u32::MAX).step_by(30_011).map(f32::from_bits);
    let near = (-40_000..40_000).map(|i| i as f32 * 0.001_234_5);
    specials.into_iter().chain(even).chain(near)
}

#[track_caller]
fn check(name: &str, most: f64, got: impl Fn(f32) -> f32, want: impl Fn(f64) -> f64) {
    let (mut worst, mut at) = (0.0, 0.0);
    for x in values() {
        let e = error(got(x), want(f64::from(x)));
        if e > worst {
            (worst, at) = (e, x);
        }
    }
    let (g, w) = (got(at), want(f64::from(at)));
    println!("{name:8} {worst:.3} ulp at {at:e}");
    assert!(worst <= most, "{name}({at:e}): {worst} ulp, got {g:e}, want {w:e}");
}

fn check_all<I: Isa>() {
    let lane = |f: fn(Lane<f32, I>) -> Lane<f32, I>| move |x| f(Lane::new(x)).0;
    check("exp", 1.0, lane(Real::exp), f64::exp);
    check("expm1", 2.0, lane(Real::expm1), f64::exp_m1);
    check("ln", 1.0, lane(Real::ln), f64::ln);
    check("ln_1p", 1.5, lane(Real::ln_1p), f64::ln_1p);
    check("log2", 1.5, lane(Real::log2), f64::log2);
    check("log10", 1.5, lane(Real::log10), f64::log10);
    check("sinh", 2.0, lane(Real::sinh), f64::sinh);
    check("cosh", 2.0, lane(Real::cosh), f64::cosh);
    check("tanh", 1.5, lane(Real::tanh), f64::tanh);
    check("asin", 2.1, lane(Real::asin), f64::asin);
    check("acos", 2.0, lane(Real::acos), f64::acos);
    check("atan", 2.0, lane(Real::atan), f64::atan);
    check("erf", 2.0, lane(Real::erf), double::erf);
    // Through f64: no more than its last bit is lost.
    check("erfc", 0.75, lane(Real::erfc), special::erfc);
    check("erfinv", 0.75, lane(Real::erfinv), special::erfinv);
    check("sigmoid", 2.25, lane(Real::sigmoid), |x| {
        if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
    });
    let angle = |f: fn(Lane<f32, I>) -> Lane<f32, I>, slow: fn(Lane<f32, Careful>) -> Lane<f32, Careful>| {
        move |x: f32| {
            let near = x.abs() <= trigonometric::LARGEST_ANGLE;
            if near { f(Lane::new(x)).0 } else { slow(Lane::new(x)).0 }
        }
    };
    check("sin", 1.5, angle(Real::sin, Real::sin), f64::sin);
    check("cos", 1.5, angle(Real::cos, Real::cos), f64::cos);
    check("tan", 2.5, angle(Real::tan, Real::tan), f64::tan);
}

#[test]
fn f32_functions_are_close_without_a_fused_multiply_add() {
    check_all::<Baseline>();
}

#[test]
fn f32_functions_are_close_with_a_fused_multiply_add() {
    check_all::<Avx2>();
}

#[test]
fn the_inverse_of_erf_in_f32_holds_up_to_its_edges() {
    // From a computation with 60 digits.
    let last = 1.0 - f32::EPSILON / 2.0;
    for (x, want) in [
        (0.0, 0.0),
        (-0.0, -0.0),
        (1e-45, 1e-45),
        (0.5, 0.476_936_28),
        (-0.999, -2.326_756_3),
        (last, 3.832_507),
        (-last, -3.832_507),
        (1.0, f32::INFINITY),
        (-1.0, f32::NEG_INFINITY),
        (1.000_000_1, f32::NAN),
        (f32::NEG_INFINITY, f32::NAN),
        (f32::NAN, f32::NAN),
    ] {
        let got = [Lane::<f32, Baseline>::new(x).erfinv().0, Lane::<f32, Avx2>::new(x).erfinv().0];
        assert!(got.iter().all(|&g| error(g, f64::from(want)) <= 1.0), "{x:e}: {got:?}, not {want:e}");
    }
}

/// Pairs of edges and of ordinary numbers.
fn pairs() -> impl Iterator<Item = (f32, f32)> {
    let edges = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        -3.0,
        0.5,
        -0.5,
        1e-40,
        -1e-40,
        1e38,
        -1e38,
        16_777_217.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    let grid = edges.into_iter().flat_map(move |a| edges.into_iter().map(move |b| (a, b)));
    let spread = (0..200_000u32).map(|i| {
        let a = f32::from_bits(i.wrapping_mul(2_654_435_761) & 0x7fff_ffff);
        (a, (i % 977) as f32 * 0.13 - 60.0)
    });
    grid.chain(spread)
}

#[track_caller]
fn check_pairs(name: &str, most: f64, got: impl Fn(f32, f32) -> f32, want: impl Fn(f64, f64) -> f64) {
    for (a, b) in pairs() {
        let (g, w) = (got(a, b), want(f64::from(a), f64::from(b)));
        assert!(error(g, w) <= most, "{name}({a:e}, {b:e}): got {g:e}, want {w:e}");
    }
}

fn check_binary<I: Isa>() {
    check_pairs("pow", 1.0, |a, b| Lane::<f32, I>::new(a).pow(Lane::new(b)).0, f64::powf);
    check_pairs("atan2", 2.5, |a, b| Lane::<f32, I>::new(a).atan2(Lane::new(b)).0, f64::atan2);
    let fmod = |a: f32, b: f32| {
        let near = (a / b).abs() < trigonometric::LARGEST_QUOTIENT;
        if near { Lane::<f32, I>::new(a).fmod(Lane::new(b)).0 } else { a % b }
    };
    check_pairs("fmod", 0.0, fmod, |a, b| f64::from(a as f32 % b as f32));
}

#[test]
fn f32_functions_of_two_numbers_are_close() {
    check_binary::<Baseline>();
    check_binary::<Avx2>();
}

#[test]
fn erf_in_f64() {
    // From a computation with 40 digits.
    for (x, want) in [
        (0.0, 0.0),
        (1e-300, 1.1283791670955125e-300),
        (0.1, 0.1124629160182849),
        (0.99, 0.8385080695553698),
        (1.0, 0.8427007929497149),
        (1.5, 0.9661051464753108),
        (3.0, 0.9999779095030014),
        (5.9, 0.9999999999999999),
        (7.0, 1.0),
    ] {
        for sign in [1.0, -1.0] {
            let got = double::erf(sign * x);
            assert!((got - sign * want).abs() <= 4e-16 * want, "erf({x}): {got}");
        }
    }
    assert!(double::erf(f64::NAN).is_nan());
}

#[test]
fn python_division_rounds_down() {
    let lane = Lane::<f32, Baseline>::new;
    for (a, b, quotient, rest) in
        [(7.0, 2.0, 3.0, 1.0), (-7.0, 2.0, -4.0, 1.0), (7.0, -2.0, -4.0, -1.0), (-7.0, -2.0, 3.0, -1.0)]
    {
        assert_eq!(lane(a).floor_divide(lane(b)).0, quotient);
        assert_eq!(lane(a).remainder(lane(b)).0, rest);
    }
    assert_eq!(lane(1.0).floor_divide(lane(0.0)).0, f32::INFINITY);
}
