//! Operations through the Rust API: gradients, error texts, printed forms, writing in place.

use std::cell::Cell;

use tensorlab::base::{DType, Layout, Result, Scalar};
use tensorlab::device::Machine;
use tensorlab::tensor::Tensor;

mod combined;
mod copies;
mod corners;
pub mod device_draws;
mod distinct;
mod draws;
pub mod gradients;
mod graph;
mod in_place;
mod indexing;
mod limits;
mod making;
mod memory_order;
mod named;
mod options;
mod overlap;
mod peers;
mod ported;
mod porting;
mod printing;
mod refused;
mod second;
mod semantics;
mod values;
mod ways;

thread_local! {
    /// Inputs are made on the machine's first accelerator.
    pub static ON_GPU: Cell<bool> = const { Cell::new(false) };
}

fn placed(t: Tensor) -> Tensor {
    if !ON_GPU.get() {
        return t;
    }
    let machine = Machine::current();
    t.moved(&machine.gpus()[0], false, "test").unwrap()
}

/// A float64 tensor.
fn f64s(values: &[f64], shape: &[usize]) -> Tensor {
    let numbers: Vec<Scalar> = values.iter().map(|&v| Scalar::Float(v)).collect();
    placed(Tensor::from_numbers(&numbers, shape, DType::Float64).unwrap())
}

/// A float32 tensor.
fn f32s(values: &[f64], shape: &[usize]) -> Tensor {
    let numbers: Vec<Scalar> = values.iter().map(|&v| Scalar::Float(v)).collect();
    Tensor::from_numbers(&numbers, shape, DType::Float32).unwrap()
}

fn i64s(values: &[i64], shape: &[usize]) -> Tensor {
    placed(Tensor::from_i64(values, shape).unwrap())
}

fn mask(values: &[i64], shape: &[usize]) -> Tensor {
    let numbers: Vec<Scalar> = values.iter().map(|&v| Scalar::Bool(v != 0)).collect();
    placed(Tensor::from_numbers(&numbers, shape, DType::Bool).unwrap())
}

/// A leaf that asks for a gradient.
fn leaf(t: Tensor) -> Tensor {
    t.set_requires_grad(true).unwrap();
    t
}

fn numbers(t: &Tensor) -> Vec<f64> {
    t.to_f64s("test").unwrap()
}

fn shown(t: &Tensor) -> String {
    tensorlab::tensor::display::display(t).unwrap()
}

/// `Kind: message` of what must fail.
fn failure<T>(result: Result<T>) -> String {
    match result {
        Ok(_) => panic!("nothing failed"),
        Err(error) => error.to_string(),
    }
}

/// Numbers that look random, the same in every run, between -1 and 1.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn take(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.next()).collect()
    }
}

/// How the input of an op lies in memory. Each makes a view with the wanted elements of a leaf.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Lie {
    Packed,
    Transposed,
    Sliced,
    Stretched,
}

const LIES: [Lie; 4] = [Lie::Packed, Lie::Transposed, Lie::Sliced, Lie::Stretched];

impl Lie {
    /// The shape of the leaf under a view of `shape`.
    fn leaf_shape(self, shape: &[usize]) -> Vec<usize> {
        match self {
            Lie::Packed => shape.to_vec(),
            Lie::Transposed => shape.iter().rev().copied().collect(),
            Lie::Sliced => shape.iter().map(|d| d + 2).collect(),
            Lie::Stretched => shape.iter().enumerate().map(|(i, &d)| if i == 0 { 1 } else { d }).collect(),
        }
    }

    /// The view of a leaf, recorded in the graph.
    fn view(self, leaf: &Tensor, shape: &[usize]) -> Result<Tensor> {
        use tensorlab::op::shape::part::slice;
        use tensorlab::op::shape::permute::reversed;
        use tensorlab::op::shape::view::expand_to;
        match self {
            Lie::Packed => Ok(leaf.clone()),
            Lie::Transposed => reversed(leaf),
            Lie::Sliced => {
                shape.iter().enumerate().try_fold(leaf.clone(), |t, (dim, &size)| slice(&t, dim, 1, size, 1))
            }
            Lie::Stretched => {
                let sizes: Vec<i64> = shape.iter().map(|&d| d as i64).collect();
                expand_to(leaf, &sizes)
            }
        }
    }
}

/// A tensor without elements to read: the same storage, another layout.
fn laid(t: &Tensor, shape: &[usize], strides: &[isize], offset: usize) -> Tensor {
    t.with_layout(Layout::new(shape.into(), strides.into(), offset).unwrap())
}
