//! Second derivatives: a recorded backward pass against differences of first derivatives.

use tensorlab::op::elementwise::arithmetic::{add, mul};
use tensorlab::op::reduce::sums::sum;
use tensorlab::tensor::Tensor;
use tensorlab::tensor::backward::Pass;

use super::gradients::{Setup, all, assert_near, differences, weights};
use super::{Lie, numbers};

/// The gradients of a case's inputs times fixed weights, added up: one number, recorded.
fn of_gradients(setup: &Setup, leaves: &[Tensor]) -> Tensor {
    let y = setup.run(leaves).unwrap();
    let inputs: Vec<&Tensor> = leaves.iter().collect();
    let pass = Pass { create_graph: true, ..Pass::default() };
    let grads = Tensor::grads_of(&[&y], &inputs, &[Some(&weights(&y, 5))], pass).unwrap();
    let mut total: Option<Tensor> = None;
    for (i, grad) in grads.iter().flatten().enumerate() {
        let part = sum(&mul(grad, &weights(grad, 31 + i as u64)).unwrap(), None, false).unwrap();
        total = Some(match total {
            Some(before) => add(&before, &part).unwrap(),
            None => part,
        });
    }
    total.unwrap()
}

#[test]
fn second_derivatives_are_what_differences_of_first_ones_say() {
    for case in all().iter().filter(|c| c.smooth) {
        for lie in [Lie::Packed, Lie::Transposed] {
            let Some(setup) = Setup::of(case, lie) else { continue };
            let name = format!("{} {lie:?}", case.name);
            let total = of_gradients(&setup, &setup.leaves);
            let inputs: Vec<&Tensor> = setup.leaves.iter().collect();
            let wanted: Vec<Option<Tensor>> = match total.requires_grad() {
                true => Tensor::grads_of(&[&total], &inputs, &[], Pass::default())
                    .unwrap_or_else(|e| panic!("{name}: {e}")),
                false => vec![None; inputs.len()],
            };
            for (i, grad) in wanted.iter().enumerate() {
                let want = differences(&setup.leaves, i, |x| numbers(&of_gradients(&setup, x))[0]);
                let got = grad.as_ref().map_or_else(|| vec![0.0; want.len()], numbers);
                assert_near(&format!("{name} input {i}"), &got, &want, 2e-5);
            }
        }
    }
}
