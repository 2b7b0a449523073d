use serde_json::Value;

use crate::base::{DType, Layout};
use crate::device::cpu::testing::{Sample, launch};
use crate::device::kernel::{Distribution, Kernel, Random, RandomSource};
use crate::device::random::Shared;

fn fill(out: &Sample, distribution: Distribution, source: RandomSource) {
    launch(&Kernel::Random(Random { distribution, source }), &[], &[out.view()]).unwrap();
}

fn distribution(kind: &str, arguments: &Value) -> Distribution {
    let float = |i: usize| arguments[i].as_f64().unwrap();
    let whole = |i: usize| arguments[i].as_i64().unwrap();
    match kind {
        "uniform" => Distribution::Uniform { low: float(0), high: float(1) },
        "normal" => Distribution::Normal { mean: float(0), std: float(1) },
        "integers" => Distribution::Integers { low: whole(0), high: whole(1) },
        "bernoulli" => Distribution::Bernoulli { p: float(0) },
        "permutation" => Distribution::Permutation,
        other => panic!("{other}"),
    }
}

/// The sum of (i + 1) times the bits of element i.
fn digest(out: &Sample) -> u64 {
    let mut bytes = vec![0; out.layout.numel() * out.dtype.size()];
    assert!(out.buffer.host.as_ref().unwrap().read(0, &mut bytes));
    let bits = bytes.chunks(out.dtype.size()).map(|b| {
        let mut word = [0; 8];
        word[..b.len()].copy_from_slice(b);
        u64::from_le_bytes(word)
    });
    bits.zip(1u64..).fold(0, |sum, (b, i)| sum.wrapping_add(b.wrapping_mul(i)))
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|v| v.as_str().unwrap().parse().unwrap()).collect()
}

/// `scripts/record_random.py` records these.
#[test]
fn the_host_draws_what_pytorch_draws() {
    let golden: Value = serde_json::from_str(include_str!("../../../../tests/golden/random.json")).unwrap();
    for case in golden["cases"].as_array().unwrap() {
        let generator = Shared::new(case["seed"].as_u64().unwrap());
        for draw in case["draws"].as_array().unwrap() {
            let n = draw["n"].as_u64().unwrap() as usize;
            let out = Sample::zeros(DType::parse(draw["dtype"].as_str().unwrap()).unwrap(), &[n]);
            let kind = draw["kind"].as_str().unwrap();
            let what = distribution(kind, &draw["arguments"]);
            fill(&out, what, RandomSource::Host(generator.clone()));
            let values = out.values();
            let (first, last) = (numbers(&draw["first"]), numbers(&draw["last"]));
            if kind == "normal" {
                let tolerance = match out.dtype {
                    DType::Float16 => 1e-3,
                    DType::BFloat16 => 8e-3,
                    _ => 1e-6,
                };
                let close = |got: &[f64], want: &[f64]| {
                    got.iter().zip(want).all(|(g, w)| (g - w).abs() <= tolerance * w.abs().max(1.0))
                };
                assert!(close(&values, &first), "{draw}: {values:?}");
                assert!(close(&values[n - last.len()..], &last), "{draw}: {values:?}");
            } else {
                assert_eq!(values[..first.len()], first, "{draw}");
                assert_eq!(values[n - last.len()..], last, "{draw}");
                assert_eq!(digest(&out), draw["digest"].as_str().unwrap().parse::<u64>().unwrap(), "{draw}");
            }
        }
    }
}

fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n)
}

#[test]
fn philox_draws_have_their_distributions_and_repeat() {
    let n = 50_000;
    let source = |offset| RandomSource::Philox { seed: 9, offset, most: u64::MAX };
    for dtype in [DType::Float32, DType::Float64, DType::Int64] {
        let kinds = [
            (Distribution::Uniform { low: -1.0, high: 3.0 }, 1.0, 4.0 / 3.0),
            (Distribution::Normal { mean: 2.0, std: 3.0 }, 2.0, 9.0),
            (Distribution::Integers { low: -10, high: 11 }, 0.0, 440.0 / 12.0),
            (Distribution::Bernoulli { p: 0.25 }, 0.25, 0.1875),
        ];
        for (kind, mean, variance) in kinds.into_iter().skip(if dtype == DType::Int64 { 2 } else { 0 }) {
            let (a, b, c) =
                (Sample::zeros(dtype, &[n]), Sample::zeros(dtype, &[n]), Sample::zeros(dtype, &[n]));
            fill(&a, kind, source(0));
            fill(&b, kind, source(0));
            fill(&c, kind, source(4));
            assert_eq!(a.values(), b.values());
            assert_ne!(a.values(), c.values());
            let (m, v) = moments(&a.values());
            assert!((m - mean).abs() < 0.1 && (v / variance - 1.0).abs() < 0.05, "{kind:?} {dtype}: {m} {v}");
        }
    }
}

#[test]
fn permutations_hold_every_place_once() {
    for source in
        [RandomSource::Host(Shared::new(3)), RandomSource::Philox { seed: 3, offset: 0, most: u64::MAX }]
    {
        let out = Sample::zeros(DType::Int64, &[1000]);
        fill(&out, Distribution::Permutation, source);
        let mut values = out.values();
        assert_ne!(values[..5], [0.0, 1.0, 2.0, 3.0, 4.0]);
        values.sort_by(f64::total_cmp);
        assert!(values.iter().enumerate().all(|(i, &v)| v == i as f64));
    }
}

#[test]
fn draws_go_along_the_indices_of_any_layout() {
    let rows = Sample::zeros(DType::Float32, &[40, 50]);
    let turned = Layout::contiguous(&[50, 40]).unwrap().transpose(0, 1).unwrap();
    let turned = Sample::laid_out(DType::Float32, turned, std::iter::repeat(0.0));
    let kind = Distribution::Uniform { low: 0.0, high: 1.0 };
    fill(&rows, kind, RandomSource::Host(Shared::new(1)));
    fill(&turned, kind, RandomSource::Host(Shared::new(1)));
    assert_eq!(rows.values(), turned.values());
}

#[test]
fn an_empty_span_is_an_error() {
    let out = Sample::zeros(DType::Int64, &[1]);
    let random = Random {
        distribution: Distribution::Integers { low: 3, high: 3 },
        source: RandomSource::Host(Shared::new(0)),
    };
    let error = launch(&Kernel::Random(random), &[], &[out.view()]).unwrap_err();
    assert!(error.message().contains("from=3 >= to=3"), "{error}");
}
