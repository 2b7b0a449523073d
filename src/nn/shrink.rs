//! Activations that cut a band or a side away, as layers.

use crate::base::Error;
use crate::nn::made::constructor;
use crate::op::activation::dropout::check_probability;
use crate::op::activation::shrink::{alpha_dropout, hardshrink, softshrink, threshold};
use crate::op::core::fill::replaced_if;
use crate::op::def::DefaultValue;
use crate::op::elementwise::arithmetic::sub;
use crate::op::elementwise::unary::tanh;
use crate::op::params::{Written, by_name, kind, params};
use crate::op::reduce::softmax::softmax;
use crate::op::{OpDef, shapes};

use super::activation::Simple;
use super::module::Call;

params! {
    ThresholdParams {
        threshold: Written<kind::Scalar>, "what elements must be above to stay";
        value: Written<kind::Scalar>, "what the others become";
        inplace: Written<kind::Bool> => DefaultValue::Bool(false), "whether it writes to its input, which saves memory";
    }
}

params! {
    ShrinkParams {
        lambd: Written<kind::Float> => DefaultValue::Float(0.5), "how far from 0 elements become 0";
    }
}

params! {
    AlphaDropoutParams {
        p: kind::Float = 0.5, "how likely an element is dropped while training";
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "Threshold",
        "Elements above a threshold as they are, a value in place of the others.",
        ThresholdParams::LIST,
        by_name!(ThresholdParams, |a| {
            let ((from, from_written), (value, value_written)) = (a.threshold, a.value);
            let inplace = a.inplace.0;
            Simple::new("Threshold", move |c| replaced_if(inplace, c.only()?, |x| threshold(x, from, value)))
                .option("threshold", from_written)
                .option("value", value_written)
                .hidden("inplace", a.inplace.1)
                .module()
        }),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::BOOLS])
    .example("nn::Threshold(0.5, 2.0).forward(tensor([0.1, 1.0]))", "tensor([2., 1.])"),
    constructor(
        "Softshrink",
        "Elements moved towards 0 by `lambd`, and 0 where that would pass it.",
        ShrinkParams::LIST,
        by_name!(ShrinkParams, |a| {
            let (lambd, written) = a.lambd;
            Simple::new("Softshrink", move |c| softshrink(c.only()?, lambd)).bare("lambd", written).module()
        }),
    )
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `lambd` is negative", shapes::NO_FLOAT])
    .example("nn::Softshrink().forward(tensor([-2.0, 0.2]))", "tensor([-1.5000,  0.0000])"),
    constructor(
        "Hardshrink",
        "Elements as they are, and 0 where they are no farther from 0 than `lambd`.",
        ShrinkParams::LIST,
        by_name!(ShrinkParams, |a| {
            let (lambd, written) = a.lambd;
            Simple::new("Hardshrink", move |c| hardshrink(c.only()?, lambd)).bare("lambd", written).module()
        }),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::Hardshrink().forward(tensor([-2.0, 0.2]))", "tensor([-2.,  0.])"),
    constructor("Tanhshrink", "`x - tanh(x)`.", &[], |_| {
        Simple::new("Tanhshrink", |c| sub(c.only()?, &tanh(c.only()?)?)).module()
    })
    .shapes(shapes::SAME)
    .errors(&[shapes::BOOLS])
    .example("nn::Tanhshrink()", "Tanhshrink()"),
    constructor("Softmax2d", "Softmax over the channels of `[n, c, h, w]` or `[c, h, w]`.", &[], |_| {
        let run = |c: &Call| {
            let x = c.only()?;
            if !matches!(x.rank(), 3 | 4) {
                let text = format!("Softmax2d: expected input to be 3D or 4D, got {}D instead", x.rank());
                return Err(Error::value(text));
            }
            softmax(x, -3, None)
        };
        Simple::new("Softmax2d", run).module()
    })
    .shapes("(N, C, H, W) or (C, H, W) -> the same")
    .errors(&["ValueError: the input has neither three nor four dimensions", shapes::NO_FLOAT])
    .example("nn::Softmax2d().forward(zeros([2, 1, 1]))", "tensor([[[0.5000]],\n\n        [[0.5000]]])"),
    constructor(
        "AlphaDropout",
        "While training, dropout that keeps the mean and the variance of what `SELU` gives.",
        AlphaDropoutParams::LIST,
        by_name!(AlphaDropoutParams, |a, args| {
            check_probability(a.p)?;
            let run = move |c: &Call| {
                let training = c.module.training();
                replaced_if(a.inplace && training, c.only()?, |x| alpha_dropout(x, a.p, training))
            };
            Simple::new("AlphaDropout", run).options_of(args).module()
        }),
    )
    .shapes(shapes::SAME)
    .errors(&[
        "ValueError: `p` is not in 0 to 1",
        "RuntimeError: while training, the input holds integers or bools",
    ])
    .example("nn::AlphaDropout(0.2)", "AlphaDropout(p=0.2, inplace=False)"),
];
