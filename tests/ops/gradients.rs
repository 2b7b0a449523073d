//! Every gradient rule against finite differences in float64, over inputs that lie in memory in several ways.

use tensorlab::base::{Result, Scalar};
use tensorlab::op::core::convert;
use tensorlab::op::def::{Domain, Forward, Operand};
use tensorlab::op::elementwise::arithmetic;
use tensorlab::op::elementwise::choose;
use tensorlab::op::elementwise::clamp;
use tensorlab::op::elementwise::fused;
use tensorlab::op::gather::{along_dim, interleave, select};
use tensorlab::op::index::brackets;
use tensorlab::op::index::indices::Index;
use tensorlab::op::index::masks;
use tensorlab::op::linalg::added;
use tensorlab::op::linalg::einsum;
use tensorlab::op::linalg::linear;
use tensorlab::op::linalg::matmul;
use tensorlab::op::reduce::norms;
use tensorlab::op::reduce::products;
use tensorlab::op::reduce::scan;
use tensorlab::op::reduce::softmax;
use tensorlab::op::reduce::spread;
use tensorlab::op::reduce::sums;
use tensorlab::op::shape::join;
use tensorlab::op::shape::part;
use tensorlab::op::shape::permute;
use tensorlab::op::shape::repeat;
use tensorlab::op::shape::split;
use tensorlab::op::shape::triangle;
use tensorlab::op::shape::view;
use tensorlab::op::sorting::extremum;
use tensorlab::op::sorting::sort;
use tensorlab::op::{Gradient, table};
use tensorlab::tensor::Tensor;
use tensorlab::tensor::backward::Pass;

use super::{LIES, Lie, Numbers, f64s, i64s, leaf, mask, numbers};

/// One call: its name, the shapes and domains of its inputs, and whether second derivatives are checked too.
pub struct Case {
    pub name: String,
    pub inputs: Vec<(Vec<usize>, Domain)>,
    pub run: Box<dyn Fn(&[Tensor]) -> Result<Tensor>>,
    pub smooth: bool,
}

fn case(
    name: &str,
    inputs: &[(&[usize], Domain)],
    smooth: bool,
    run: impl Fn(&[Tensor]) -> Result<Tensor> + 'static,
) -> Case {
    let inputs = inputs.iter().map(|(shape, domain)| (shape.to_vec(), *domain)).collect();
    Case { name: name.into(), inputs, run: Box::new(run), smooth }
}

use Domain::{Any, Distinct, Inside, Positive};

/// Values of a domain, away from kinks.
pub fn draw(n: usize, domain: Domain, seed: u64) -> Vec<f64> {
    let mut numbers = Numbers(seed);
    let one = |v: f64| match domain {
        Any => {
            let v = 2.0 * v;
            // Away from whole numbers and from 0.5 and 0.7, where clamps in these tests bend.
            let near = (v * 2.0).round() / 2.0;
            if (v - near).abs() < 0.06 { near + 0.13 } else { v }
        }
        Positive => 1.6 + 1.4 * v,
        Inside => 0.9 * v,
        Domain::Above => 2.6 + 1.4 * v,
        _ => v,
    };
    let drawn: Vec<f64> = numbers.take(n).into_iter().map(one).collect();
    if domain != Distinct {
        return drawn;
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| drawn[a].total_cmp(&drawn[b]));
    let mut spread = vec![0.0; n];
    for (rank, place) in order.into_iter().enumerate() {
        spread[place] = 0.37 * rank as f64 - 0.2 * n as f64;
    }
    spread
}

/// The unary and binary rows of the table.
fn rows() -> Vec<Case> {
    let mut cases = Vec::new();
    for row in table() {
        let (Gradient::Vjp(_), [sample, ..]) = (row.gradient, row.samples) else { continue };
        let inputs: Vec<(&[usize], Domain)> = sample.inputs.iter().map(|d| (d.shape, d.domain)).collect();
        let flat = ["sign", "floor", "ceil", "round", "trunc"].contains(&row.name);
        match row.forward {
            Forward::Unary(spec) => {
                cases.push(case(row.name, &inputs, !flat, move |x| spec.apply(&x[0], [0.0; 2])));
            }
            // PyTorch has a derivative in the second operand alone; the first is a number.
            Forward::Binary(spec, _) if inputs.len() == 1 => {
                cases.push(case(row.name, &inputs, true, move |x| {
                    let first =
                        Tensor::full(x[0].shape(), 1.5.into(), x[0].dtype(), &x[0].context(), "full")?;
                    spec.apply((&first).into(), (&x[0]).into(), spec.params)
                }));
            }
            Forward::Binary(spec, _) => {
                cases.push(case(row.name, &inputs, true, move |x| {
                    spec.apply((&x[0]).into(), (&x[1]).into(), spec.params)
                }));
            }
            Forward::Call(_) | Forward::Script => {}
        }
    }
    cases
}

fn reductions() -> Vec<Case> {
    let x: &[(&[usize], Domain)] = &[(&[3, 4, 2], Any)];
    let apart: &[(&[usize], Domain)] = &[(&[3, 4], Distinct)];
    let mut cases = vec![
        case("sum", x, true, |x| sums::sum(&x[0], None, false)),
        case("sum dims", x, true, |x| sums::sum(&x[0], Some(&[0, 2]), false)),
        case("sum keepdim", x, true, |x| sums::sum(&x[0], Some(&[-2]), true)),
        case("mean", x, true, |x| sums::mean(&x[0], None, false)),
        case("mean dims", x, true, |x| sums::mean(&x[0], Some(&[1]), true)),
        case("prod", &[(&[2, 3], Any)], true, |x| products::prod(&x[0], None, false, None)),
        case("prod dim", x, true, |x| products::prod(&x[0], Some(1), false, None)),
        case("amax", apart, false, |x| sums::amax(&x[0], Some(&[1]), false)),
        case("amin keepdim", apart, false, |x| sums::amin(&x[0], Some(&[0]), true)),
        case("max", apart, false, |x| sums::max_all(&x[0])),
        case("min", apart, false, |x| sums::min_all(&x[0])),
        case("max dim", apart, false, |x| Ok(extremum::max_dim(&x[0], 1, false)?.0)),
        case("min dim", apart, false, |x| Ok(extremum::min_dim(&x[0], 0, true)?.0)),
        case("var", x, true, |x| spread::var(&x[0], None, 1.0, false)),
        case("var dims", x, true, |x| spread::var(&x[0], Some(&[0, 1]), 0.0, true)),
        case("std", x, true, |x| spread::std(&x[0], Some(&[1]), 1.0, false)),
        case("logsumexp", x, true, |x| sums::logsumexp(&x[0], &[0, 1], false)),
        case("cumsum", x, true, |x| scan::cumsum(&x[0], 1, None)),
        case("cumprod", &[(&[2, 4], Any)], true, |x| products::cumprod(&x[0], 1, None)),
        case("softmax", x, true, |x| softmax::softmax(&x[0], -1, None)),
        case("softmax 0", x, true, |x| softmax::softmax(&x[0], 0, None)),
        case("log_softmax", x, true, |x| softmax::log_softmax(&x[0], 1, None)),
        case("sort", apart, false, |x| Ok(sort::sort(&x[0], 0, true)?.0)),
        case("topk", apart, false, |x| Ok(sort::topk(&x[0], 2, -1, true)?.0)),
    ];
    for (name, p) in [("norm 2", 2.0), ("norm 1", 1.0), ("norm 3", 3.0), ("norm inf", f64::INFINITY)] {
        let domain = if p.is_infinite() { Distinct } else { Any };
        cases.push(case(name, &[(&[3, 4], domain)], p == 2.0 || p == 3.0, move |x| {
            norms::norm(&x[0], p, Some(&[1]), false)
        }));
    }
    cases
}

fn products() -> Vec<Case> {
    let of = |a: &'static [usize], b: &'static [usize]| [(a, Any), (b, Any)];
    let mut cases = vec![
        case("mm", &of(&[3, 4], &[4, 2]), true, |x| matmul::mm(&x[0], &x[1])),
        case("mm t", &of(&[3, 4], &[2, 4]), true, |x| matmul::mm(&x[0], &permute::t(&x[1])?)),
        case("bmm", &of(&[2, 3, 4], &[2, 4, 2]), true, |x| matmul::bmm(&x[0], &x[1])),
        case("mv", &of(&[3, 4], &[4]), true, |x| matmul::mv(&x[0], &x[1])),
        case("dot", &of(&[4], &[4]), true, |x| matmul::dot(&x[0], &x[1])),
        case("outer", &of(&[3], &[4]), true, |x| matmul::outer(&x[0], &x[1])),
        case("addmm", &[(&[2], Any), (&[3, 4], Any), (&[4, 2], Any)], true, |x| {
            added::addmm(&x[0], &x[1], &x[2], 0.5, 2.0)
        }),
        case("linear", &[(&[2, 3, 4], Any), (&[5, 4], Any), (&[5], Any)], true, |x| {
            linear::linear(&x[0], &x[1], Some(&x[2]))
        }),
        case("linear matrix", &of(&[3, 4], &[5, 4]), true, |x| linear::linear(&x[0], &x[1], None)),
        case("linear vector", &of(&[4], &[5, 4]), true, |x| linear::linear(&x[0], &x[1], None)),
    ];
    let shapes: [(&[usize], &[usize]); 7] = [
        (&[3, 4], &[4, 2]),
        (&[4], &[4, 3]),
        (&[2, 3, 4], &[4]),
        (&[2, 3, 4], &[4, 5]),
        (&[3, 4], &[2, 4, 5]),
        (&[5, 1, 3, 4], &[2, 4, 2]),
        (&[4], &[2, 4, 3]),
    ];
    for (a, b) in shapes {
        cases.push(case(&format!("matmul {a:?} {b:?}"), &[(a, Any), (b, Any)], true, |x| {
            matmul::matmul(&x[0], &x[1])
        }));
    }
    let equations: [(&'static str, &[&[usize]]); 7] = [
        ("bij,bjk->bik", &[&[2, 3, 4], &[2, 4, 2]]),
        ("ij,kj->ik", &[&[3, 4], &[2, 4]]),
        ("ii->i", &[&[3, 3]]),
        ("ij->", &[&[3, 4]]),
        ("i,j,k->kji", &[&[2], &[3], &[2]]),
        ("...ij,jk->...ik", &[&[2, 3, 4], &[4, 2]]),
        ("bi,bj", &[&[2, 3], &[2, 2]]),
    ];
    for (equation, shapes) in equations {
        let inputs: Vec<(&[usize], Domain)> = shapes.iter().map(|s| (*s, Any)).collect();
        cases.push(case(equation, &inputs, true, move |x| {
            einsum::einsum(equation, &x.iter().collect::<Vec<_>>())
        }));
    }
    cases
}

fn movements() -> Vec<Case> {
    let x: &[(&[usize], Domain)] = &[(&[2, 3, 4], Any)];
    let two: &[(&[usize], Domain)] = &[(&[2, 3], Any), (&[2, 3], Any)];
    vec![
        case("reshape", x, true, |x| view::reshape(&x[0], &[4, -1])),
        case("transpose", x, true, |x| permute::transpose(&x[0], 0, 2)),
        case("permute", x, true, |x| permute::permute(&x[0], &[2, 0, 1])),
        case("movedim", x, true, |x| permute::movedim(&x[0], &[0, 1], &[2, 0])),
        case("flatten", x, true, |x| view::flatten(&x[0], 1, -1)),
        case("unsqueeze", x, true, |x| view::unsqueeze(&x[0], 1)),
        case("squeeze", &[(&[2, 1, 3], Any)], true, |x| view::squeeze(&x[0], Some(&[1]))),
        case("expand", &[(&[3, 1], Any)], true, |x| view::expand_to(&x[0], &[2, 3, 4])),
        case("narrow", x, true, |x| part::narrow(&x[0], 2, 1, 2)),
        case("select", x, true, |x| part::select(&x[0], 1, -1)),
        case("diagonal", x, true, |x| part::diagonal(&x[0], 1, 0, 2)),
        case("contiguous", x, true, |x| view::contiguous(&permute::transpose(&x[0], 0, 1)?)),
        case("clone", x, true, |x| convert::cloned(&x[0])),
        case("repeat", &[(&[2, 3], Any)], true, |x| repeat::repeat(&x[0], &[2, 1, 3])),
        case("repeat_interleave", &[(&[2, 3], Any)], true, |x| {
            interleave::repeat_interleave(&x[0], 2, Some(1))
        }),
        case("flip", x, true, |x| repeat::flip(&x[0], &[0, 2])),
        case("roll", x, true, |x| repeat::roll(&x[0], &[1, -2], &[0, 2])),
        case("roll flat", x, true, |x| repeat::roll(&x[0], &[5], &[])),
        case("tril", x, true, |x| triangle::tril(&x[0], 0)),
        case("triu", x, true, |x| triangle::triu(&x[0], 1)),
        case("split", x, true, |x| Ok(split::split(&x[0], 2, 1)?.remove(1))),
        case("unbind", x, true, |x| Ok(split::unbind(&x[0], 1)?.remove(2))),
        case("cat", two, true, |x| join::cat(&[&x[0], &x[1]], 1)),
        case("stack", two, true, |x| join::stack(&[&x[0], &x[1]], 1)),
    ]
}

fn choices() -> Vec<Case> {
    let x: &[(&[usize], Domain)] = &[(&[5, 3], Any)];
    let with_rows: &[(&[usize], Domain)] = &[(&[5, 3], Any), (&[4, 3], Any)];
    let three: &[(&[usize], Domain)] = &[(&[3, 4], Any), (&[4], Positive), (&[3, 1], Positive)];
    let m = || mask(&[1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0], &[3, 4]);
    let at = || i64s(&[4, 0, 0, 2], &[4]);
    let places = || i64s(&[1, 0, 2, 2, 1, 1, 0, 4, 4, 3, 0, 1], &[4, 3]);
    vec![
        case("where", &[(&[3, 4], Any), (&[4], Any)], true, move |x| {
            choose::where_(&m(), (&x[0]).into(), (&x[1]).into())
        }),
        case("masked_fill", &[(&[3, 4], Any)], true, move |x| {
            choose::masked_fill(&x[0], &m(), Scalar::Float(2.5))
        }),
        case("masked_select", &[(&[3, 4], Any)], true, move |x| masks::masked_select(&x[0], &m())),
        case("clamp", &[(&[3, 4], Any)], false, |x| {
            clamp::clamp(&x[0], Some((-0.5).into()), Some(0.7.into()))
        }),
        case("lerp", &[(&[3, 4], Any), (&[4], Any)], true, |x| {
            fused::lerp(&x[0], &x[1], Operand::Scalar(0.3.into()))
        }),
        case("lerp tensor", three, true, |x| fused::lerp(&x[0], &x[1], (&x[2]).into())),
        case("addcmul", three, true, |x| fused::addcmul(&x[0], &x[1], &x[2], 0.5)),
        case("addcdiv", three, true, |x| fused::addcdiv(&x[0], &x[1], &x[2], 0.5)),
        case("index_select", x, true, move |x| select::index_select(&x[0], 0, &at())),
        case("index_add", with_rows, true, move |x| select::index_add(&x[0], 0, &at(), &x[1], 0.5)),
        case("gather", x, true, move |x| along_dim::gather(&x[0], 0, &places())),
        case("scatter", &[(&[5, 3], Any), (&[2, 3], Any)], true, |x| {
            along_dim::scatter(&x[0], 0, &i64s(&[4, 1, 0, 2, 3, 3], &[2, 3]), (&x[1]).into())
        }),
        case("scatter larger source", &[(&[5, 3], Any), (&[4, 3], Any)], true, |x| {
            along_dim::scatter(&x[0], 0, &i64s(&[4, 1, 0, 2, 3, 3], &[2, 3]), (&x[1]).into())
        }),
        case("scatter number", x, true, move |x| {
            along_dim::scatter(&x[0], 0, &places(), Operand::Scalar(1.5.into()))
        }),
        case("scatter_add", with_rows, true, move |x| along_dim::scatter_add(&x[0], 0, &places(), &x[1])),
        case("take_along_dim", x, true, |x| {
            along_dim::take_along_dim(&x[0], &i64s(&[2, 0], &[1, 2]), Some(1))
        }),
        case("x[i]", x, true, move |x| brackets::index(&x[0], &[Index::Tensor(at())])),
        case("x[i, j]", x, true, move |x| {
            let j = i64s(&[-1, 0, 2, 0], &[4]);
            brackets::index(&x[0], &[Index::Tensor(at()), Index::Tensor(j)])
        }),
        case("x[1..4, i]", x, true, |x| {
            let i = i64s(&[2, -3, 1, 1], &[2, 2]);
            brackets::index(&x[0], &[Index::Range(Some(1), Some(4)), Index::Tensor(i)])
        }),
        case("x[i, :, j]", &[(&[3, 2, 4], Any)], true, |x| {
            let (i, j) = (i64s(&[2, 0], &[2]), i64s(&[3, 3], &[2]));
            let at = [Index::Tensor(i), Index::All, Index::Tensor(j)];
            brackets::index(&x[0], &at)
        }),
        case("x[mask]", &[(&[3, 4, 2], Any)], true, move |x| brackets::index(&x[0], &[Index::Tensor(m())])),
        case("index_put_", &[(&[5, 3], Any), (&[2, 3], Any)], true, |x| {
            let target = convert::cloned(&x[0])?;
            let at = [Index::Tensor(i64s(&[4, -4], &[2]))];
            brackets::index_put_(&target, &at, (&x[1]).into(), false)
        }),
        case("index_put_ accumulate", &[(&[5, 3], Any), (&[3], Any)], true, move |x| {
            let target = convert::cloned(&x[0])?;
            brackets::index_put_(&target, &[Index::Tensor(at())], (&x[1]).into(), true)
        }),
        case("to", x, true, |x| {
            let x = arithmetic::mul(&x[0], &x[0])?;
            convert::to(&x, convert::Target::dtype(x.dtype()), false, true)
        }),
    ]
}

pub fn all() -> Vec<Case> {
    let mut all = rows();
    all.extend(reductions());
    all.extend(products());
    all.extend(movements());
    all.extend(choices());
    all
}

/// The leaves of a case and the views the op sees.
pub struct Setup<'a> {
    case: &'a Case,
    lie: Lie,
    pub leaves: Vec<Tensor>,
}

impl<'a> Setup<'a> {
    /// None where a way of lying makes no sense for the case.
    pub fn of(case: &'a Case, lie: Lie) -> Option<Setup<'a>> {
        // A stretched leaf repeats elements, and what is distinct would be so no more.
        let unfit = lie == Lie::Stretched && case.inputs.iter().any(|(s, d)| s.is_empty() || *d == Distinct);
        if unfit {
            return None;
        }
        let leaves = case
            .inputs
            .iter()
            .enumerate()
            .map(|(i, (shape, domain))| {
                let shape = lie.leaf_shape(shape);
                leaf(f64s(&draw(shape.iter().product(), *domain, 7 + i as u64), &shape))
            })
            .collect();
        Some(Setup { case, lie, leaves })
    }

    pub fn run(&self, leaves: &[Tensor]) -> Result<Tensor> {
        let views = leaves
            .iter()
            .zip(&self.case.inputs)
            .map(|(leaf, (shape, _))| self.lie.view(leaf, shape))
            .collect::<Result<Vec<_>>>()?;
        (self.case.run)(&views)
    }
}

/// Weights that make one number of a result.
pub fn weights(y: &Tensor, seed: u64) -> Tensor {
    f64s(&Numbers(seed).take(y.numel()), y.shape())
}

pub fn weighted(y: &Tensor, w: &Tensor) -> f64 {
    numbers(y).iter().zip(numbers(w)).map(|(a, b)| a * b).sum()
}

/// The derivative of `f` by each element of leaf `at`, by central differences.
pub fn differences(leaves: &[Tensor], at: usize, f: impl Fn(&[Tensor]) -> f64) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let values = numbers(&leaves[at]);
    (0..values.len())
        .map(|i| {
            let moved = |by: f64| {
                let mut values = values.clone();
                values[i] += by;
                let mut all: Vec<Tensor> = leaves.to_vec();
                all[at] = leaf(f64s(&values, leaves[at].shape()));
                f(&all)
            };
            (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
        })
        .collect()
}

pub fn assert_near(name: &str, got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{name}");
    for (i, (a, b)) in got.iter().zip(want).enumerate() {
        assert!(
            (a - b).abs() <= tolerance * (1.0 + b.abs()),
            "{name}: element {i} is {a}, differences say {b}"
        );
    }
}

#[test]
fn gradients_are_what_finite_differences_say() {
    check_all();
}

/// Holds every case in every layout against differences, on the thread's machine.
pub fn check_all() {
    for case in all() {
        for lie in LIES {
            let Some(setup) = Setup::of(&case, lie) else { continue };
            let name = format!("{} {lie:?}", case.name);
            let y = setup.run(&setup.leaves).unwrap_or_else(|e| panic!("{name}: {e}"));
            let w = weights(&y, 99);
            let leaves: Vec<&Tensor> = setup.leaves.iter().collect();
            let grads = Tensor::grads_of(&[&y], &leaves, &[Some(&w)], Pass::default())
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            for (i, grad) in grads.iter().enumerate() {
                let want = differences(&setup.leaves, i, |x| weighted(&setup.run(x).unwrap(), &w));
                let got = grad.as_ref().unwrap_or_else(|| panic!("{name}: input {i} has no gradient"));
                assert_eq!(got.shape(), setup.leaves[i].shape(), "{name}: input {i}");
                assert_near(&format!("{name} input {i}"), &numbers(got), &want, 2e-6);
            }
        }
    }
}

#[test]
fn products_and_running_products_have_gradients_where_elements_are_zero() {
    for (values, dim) in
        [([0.0, 2.0, 3.0, 4.0], None), ([0.0, 2.0, 0.0, 4.0], Some(0)), ([1.0, 0.0, 3.0, 0.0], None)]
    {
        let x = leaf(f64s(&values, &[4]));
        let run = |x: &Tensor| products::prod(x, dim, false, None).unwrap();
        run(&x).backward(None, Pass::default()).unwrap();
        let want = differences(std::slice::from_ref(&x), 0, |x| numbers(&run(&x[0]))[0]);
        assert_near("prod", &numbers(&x.grad().unwrap()), &want, 1e-6);

        let x = leaf(f64s(&values, &[4]));
        let w = f64s(&[0.3, -1.0, 2.0, 0.7], &[4]);
        let run = |x: &Tensor| products::cumprod(x, 0, None).unwrap();
        run(&x).backward(Some(&w), Pass::default()).unwrap();
        let want = differences(std::slice::from_ref(&x), 0, |x| weighted(&run(&x[0]), &w));
        assert_near("cumprod", &numbers(&x.grad().unwrap()), &want, 1e-6);
    }
}
