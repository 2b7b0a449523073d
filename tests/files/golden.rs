//! The files that `scripts/record_files.py` recorded.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::Value as Json;
use tensorlab::base::{DType, Device};
use tensorlab::data::files::{Format, LoadTarget, Saving, load, read, save, write};
use tensorlab::op::Value;
use tensorlab::tensor::Tensor;

use super::{Folder, recorded, tensors};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/files")
}

fn record() -> Json {
    serde_json::from_str(&std::fs::read_to_string(folder().join("expected.json")).unwrap()).unwrap()
}

fn loaded(name: &str) -> Value {
    load(&folder().join(name), LoadTarget::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn each_file_holds_what_numpy_and_pytorch_say() {
    let record = record();
    let expected = record["expected"].as_object().unwrap();
    assert!(expected.len() > 35);
    for (name, arrays) in expected {
        let found = tensors(&loaded(name));
        let arrays = arrays.as_object().unwrap();
        assert_eq!(found.len(), arrays.len(), "{name}");
        for (key, t) in found {
            assert_eq!(recorded(&t), arrays[&key], "{name}: {key}");
        }
    }
}

#[test]
fn what_tensors_do_not_have_is_refused_by_name() {
    let record = record();
    let refused = record["refused"].as_object().unwrap();
    assert!(refused.len() > 12);
    for (name, words) in refused {
        let path = folder().join(name);
        let error = load(&path, LoadTarget::default()).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("ValueError: ") && text.contains(words.as_str().unwrap()), "{name}: {text}");
        assert!(text.contains(path.to_str().unwrap()), "{text}");
    }
}

#[test]
fn npy_files_are_written_to_numpy_s_bytes() {
    let record = record();
    let same = record["same"].as_array().unwrap();
    assert!(same.len() > 15);
    for name in same.iter().map(|n| n.as_str().unwrap()) {
        let mut out = Cursor::new(Vec::new());
        write(Format::Npy, &loaded(name), &Saving::default(), &mut out, name).unwrap();
        assert_eq!(out.into_inner(), std::fs::read(folder().join(name)).unwrap(), "{name}");
    }
}

#[test]
fn every_file_survives_being_written_and_read() {
    let here = Folder::new("round");
    let record = record();
    for name in record["expected"].as_object().unwrap().keys() {
        for (target, compress) in
            [("a.npz", false), ("a.npz", true), ("a.safetensors", false), ("a.npy", false)]
        {
            let value = loaded(name);
            let bfloat16 = tensors(&value).iter().any(|(_, t)| t.dtype() == DType::BFloat16);
            let alone = matches!(value, Value::Tensor(_));
            if (bfloat16 && !target.ends_with("safetensors")) || (!alone && target.ends_with("npy")) {
                continue;
            }
            let path = here.path(target);
            let how = Saving { compress, ..Saving::default() };
            save(&value, &path, &how).unwrap_or_else(|e| panic!("{name} as {target}: {e}"));
            let mut again = tensors(&load(&path, LoadTarget::default()).unwrap());
            if alone && target == "a.npz" {
                assert_eq!(again[0].0, "arr_0");
                again[0].0.clear();
            }
            let mut was = tensors(&value);
            was.sort_by(|a, b| a.0.cmp(&b.0));
            again.sort_by(|a, b| a.0.cmp(&b.0));
            let show = |all: &[(String, _)]| -> Vec<(String, Json)> {
                all.iter().map(|(n, t)| (n.clone(), recorded(t))).collect()
            };
            assert_eq!(show(&again), show(&was), "{name} as {target}");
        }
    }
    assert_eq!(here.names(), ["a.npy", "a.npz", "a.safetensors"]);
}

#[test]
fn fortran_order_is_kept_as_strides() {
    let Value::Tensor(t) = loaded("float32_fortran.npy") else { panic!() };
    assert_eq!((t.shape(), t.layout().strides()), (&[2, 3][..], &[1isize, 2][..]));
    assert!(!t.is_contiguous());
}

#[test]
fn deflating_makes_files_smaller_and_nothing_else_different() {
    let zeros = Tensor::from_f32(&vec![0.0; 100_000], &[100, 1000]).unwrap();
    let value = tensorlab::op::map_value(vec![("zeros".into(), Value::Tensor(zeros))]);
    let size = |compress| {
        let mut out = Cursor::new(Vec::new());
        write(Format::Npz, &value, &Saving { compress, ..Saving::default() }, &mut out, "z").unwrap();
        let bytes = out.into_inner();
        let length = bytes.len() as u64;
        let back = tensors(&read(Format::Npz, Cursor::new(bytes), length, "z").unwrap());
        assert!(back[0].1.to_f64s("test").unwrap().iter().all(|&v| v == 0.0));
        length
    };
    assert!(size(true) * 100 < size(false));
}

#[test]
fn a_dtype_converts_floats_alone() {
    let target = LoadTarget { device: Some(Device::Cpu), dtype: Some(DType::Float64) };
    let all = tensors(&load(&folder().join("all.safetensors"), target).unwrap());
    for (name, t) in all {
        let float = matches!(name.as_str(), "f64" | "f32" | "f16" | "bf16" | "scalar" | "empty");
        assert_eq!(t.dtype() == DType::Float64, float, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_tensor_survives_every_format(
        shape in proptest::collection::vec(0usize..4, 0..5),
        dtype in proptest::sample::select(DType::ALL.to_vec()),
        turned in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let count: usize = shape.iter().product();
        let mut bits = seed | 1;
        let bytes: Vec<u8> = (0..count * dtype.size())
            .map(|_| {
                bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let byte = (bits >> 40) as u8;
                if dtype == DType::Bool { byte & 1 } else { byte }
            })
            .collect();
        let mut t = Tensor::from_bytes(&bytes, &shape, dtype).unwrap();
        if turned && shape.len() > 1 {
            t = t.with_layout(t.layout().transpose(0, shape.len() - 1).unwrap());
        }
        let want = (t.shape().to_vec(), t.host_bytes("test").unwrap());
        for (format, compress) in [(Format::Npy, false), (Format::Npz, false), (Format::Npz, true), (Format::Safetensors, false)] {
            if dtype == DType::BFloat16 && format != Format::Safetensors {
                continue;
            }
            let mut out = Cursor::new(Vec::new());
            let how = Saving { compress, ..Saving::default() };
            write(format, &Value::Tensor(t.clone()), &how, &mut out, "x").unwrap();
            let length = out.get_ref().len() as u64;
            let back = read(format, Cursor::new(out.into_inner()), length, "x").unwrap();
            let (_, back) = tensors(&back).remove(0);
            prop_assert_eq!(back.dtype(), dtype);
            prop_assert_eq!(&(back.shape().to_vec(), back.host_bytes("test").unwrap()), &want);
        }
    }
}
