//! Steps of LSTMs, beside the CPU's.

use crate::base::DType;
use crate::device::cpu::testing::Sample;
use crate::device::kernel::*;

use super::host::agree;
use super::values::{sample, tolerance};

#[test]
#[ignore = "needs a C++ compiler"]
fn lstm_cells_and_their_gradients() {
    for dtype in [DType::Float32, DType::Float64, DType::BFloat16] {
        let (n, h) = (7, 45);
        let (state, gates) = ([n, h], [n, 4 * h]);
        let of = |shape: &[usize], seed| sample(dtype, shape, seed);
        let zeros = |shape: &[usize]| Sample::zeros(dtype, shape);
        let (x, from, c, bias) = (of(&gates, 1), of(&gates, 2), of(&state, 3), of(&[4 * h], 4));
        let out = || vec![zeros(&state), zeros(&state), zeros(&gates)];
        let (rtol, atol) = (tolerance(dtype) * 4.0, tolerance(dtype));
        agree(&Kernel::LstmCell, &[x.arg(), from.arg(), c.arg()], out, rtol, atol);
        agree(&Kernel::LstmCell, &[x.arg(), from.arg(), c.arg(), bias.arg()], out, rtol, atol);
        let inputs: Vec<Sample> = [&state, &state, &state, &gates, &state, &state]
            .iter()
            .zip(5..)
            .map(|(s, seed)| of(&s[..], seed))
            .collect();
        let args: Vec<Arg> = inputs.iter().map(Sample::arg).collect();
        agree(&Kernel::LstmCellGrad, &args, || vec![zeros(&gates), zeros(&state)], rtol, atol * 40.0);
    }
}
