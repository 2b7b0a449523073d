//! Borders as modules.

use crate::base::{Error, Result, Scalar};
use crate::op::arrange::pad::pad;
use crate::op::params::{Written, by_name, kind, params};
use crate::op::{OpDef, Value};

use super::activation::Simple;
use super::module::Call;
use crate::nn::made::constructor;

/// A border over the last `dims` dimensions; one size stands for all sides. An input has the dimensions of one sample,
/// or one more, where PyTorch looks.
struct Border {
    name: &'static str,
    dims: usize,
    mode: &'static str,
}

impl Border {
    fn sizes(&self, (sizes, written): (Vec<i64>, &Value)) -> Result<Vec<i64>> {
        let sizes = match (written, sizes.as_slice()) {
            (Value::Scalar(_), [all]) => vec![*all; 2 * self.dims],
            _ => sizes,
        };
        if sizes.len() > 2 * self.dims {
            let text = format!("{} takes up to {} sizes, and got {}", self.name, 2 * self.dims, sizes.len());
            return Err(Error::value(text).with_hint("a number, or `[left, right, top, bottom, …]`"));
        }
        Ok(sizes)
    }

    fn check(&self, c: &Call) -> Result<()> {
        let (rank, sample) = (c.only()?.rank(), self.dims + 1);
        if self.mode == "circular" && rank != sample && rank != sample + 1 {
            return Err(Error::value(format!(
                "expected {sample}D or {}D input (got {rank}D input)",
                sample + 1
            )));
        }
        Ok(())
    }

    fn module(self, padding: (Vec<i64>, &Value), value: Option<Scalar>) -> Result<Value> {
        let sizes = self.sizes(padding)?;
        let shown = Value::List(sizes.iter().map(|s| Value::Scalar((*s).into())).collect());
        let fill = value.unwrap_or(Scalar::Float(0.0));
        let name = self.name;
        let run = move |c: &Call| {
            self.check(c)?;
            pad(c.only()?, &sizes, self.mode, fill)
        };
        match value {
            Some(value) => Simple::new(name, run)
                .option("padding", &shown)
                .option("value", &Value::Scalar(value))
                .module(),
            None => Simple::new(name, run).bare("padding", &shown).module(),
        }
    }
}

params! {
    BorderParams {
        padding: Written<kind::Ints>, "how wide each side of the border is, or one width for all";
    }
}

params! {
    ConstantBorderParams {
        padding: Written<kind::Ints>, "how wide each side of the border is, or one width for all";
        value: kind::Scalar, "what every element of the border is";
    }
}

macro_rules! borders {
    ($($name:ident $dims:tt $mode:tt $summary:literal $code:literal => $shown:literal;)*) => {
        /// The rows of this file.
        pub static ROWS: &[OpDef] = &[$(
            borders!(@row $name $dims $mode $summary)
            .details(
                "`padding` is a number for every side, or the sizes before and after, the last dimension first: \
                 `[left, right, top, bottom]`.",
            )
            .shapes(borders!(@shapes $dims))
            .errors(borders!(@errors $mode))
            .example($code, $shown),
        )*];
    };
    (@shapes 1) => { "(…, L) -> (…, left + L + right)" };
    (@shapes 2) => { "(…, H, W) -> (…, top + H + bottom, left + W + right)" };
    (@shapes 3) => { "(…, D, H, W) -> (…, front + D + back, top + H + bottom, left + W + right)" };
    (@errors "reflect") => {
        &[
            "RuntimeError: a side of the border is as wide as the dimension, or wider",
            "NotImplementedError: the input has other dimensions than a sample's, or a batch's",
        ]
    };
    (@errors "replicate") => {
        &[
            "RuntimeError: the input has fewer dimensions than the border",
            "NotImplementedError: the input has other dimensions than a sample's, or a batch's",
        ]
    };
    (@errors "circular") => {
        &[
            "RuntimeError: a side of the border is wider than the dimension",
            "ValueError: the input has other dimensions than a sample's, or a batch's",
        ]
    };
    (@errors $mode:tt) => { &["RuntimeError: the input has fewer dimensions than the border"] };
    (@row $name:ident $dims:tt "value" $summary:literal) => {
        constructor(
            stringify!($name),
            $summary,
            ConstantBorderParams::LIST,
            by_name!(ConstantBorderParams, |a| {
                let border = Border { name: stringify!($name), dims: $dims, mode: "constant" };
                border.module(a.padding, Some(a.value))
            }),
        )
    };
    (@row $name:ident $dims:tt $mode:literal $summary:literal) => {
        constructor(
            stringify!($name),
            $summary,
            BorderParams::LIST,
            by_name!(BorderParams, |a| {
                let border = Border { name: stringify!($name), dims: $dims, mode: $mode };
                border.module(a.padding, None)
            }),
        )
    };
}

borders! {
    ZeroPad1d 1 "constant" "A border of zeros around the last dimension."
        "nn::ZeroPad1d([1, 2]).forward(tensor([[5.0]]))" => "tensor([[0., 5., 0., 0.]])";
    ZeroPad2d 2 "constant" "A border of zeros around the last two dimensions."
        "nn::ZeroPad2d(2)" => "ZeroPad2d((2, 2, 2, 2))";
    ZeroPad3d 3 "constant" "A border of zeros around the last three dimensions."
        "nn::ZeroPad3d(1)" => "ZeroPad3d((1, 1, 1, 1, 1, 1))";
    ConstantPad1d 1 "value" "A border of one value around the last dimension."
        "nn::ConstantPad1d(1, 3.5)" => "ConstantPad1d(padding=(1, 1), value=3.5)";
    ConstantPad2d 2 "value" "A border of one value around the last two dimensions."
        "nn::ConstantPad2d([1, 0], 7).forward(tensor([[5, 6]]))" => "tensor([[7, 5, 6]])";
    ConstantPad3d 3 "value" "A border of one value around the last three dimensions."
        "nn::ConstantPad3d(1, 0)" => "ConstantPad3d(padding=(1, 1, 1, 1, 1, 1), value=0)";
    ReflectionPad1d 1 "reflect" "A border of the last dimension's mirror image."
        "nn::ReflectionPad1d(2).forward(tensor([[1.0, 2.0, 3.0]]))" => "tensor([[3., 2., 1., 2., 3., 2., 1.]])";
    ReflectionPad2d 2 "reflect" "A border of the last two dimensions' mirror image."
        "nn::ReflectionPad2d(1)" => "ReflectionPad2d((1, 1, 1, 1))";
    ReflectionPad3d 3 "reflect" "A border of the last three dimensions' mirror image."
        "nn::ReflectionPad3d(1)" => "ReflectionPad3d((1, 1, 1, 1, 1, 1))";
    ReplicationPad1d 1 "replicate" "A border of the outermost elements of the last dimension."
        "nn::ReplicationPad1d(2).forward(tensor([[1.0, 2.0]]))" => "tensor([[1., 1., 1., 2., 2., 2.]])";
    ReplicationPad2d 2 "replicate" "A border of the outermost elements of the last two dimensions."
        "nn::ReplicationPad2d([1, 2, 3, 4])" => "ReplicationPad2d((1, 2, 3, 4))";
    ReplicationPad3d 3 "replicate" "A border of the outermost elements of the last three dimensions."
        "nn::ReplicationPad3d(1)" => "ReplicationPad3d((1, 1, 1, 1, 1, 1))";
    CircularPad1d 1 "circular" "A border that goes on at the other end of the last dimension."
        "nn::CircularPad1d(1).forward(tensor([[1.0, 2.0, 3.0]]))" => "tensor([[3., 1., 2., 3., 1.]])";
    CircularPad2d 2 "circular" "A border that goes on at the other end of the last two dimensions."
        "nn::CircularPad2d(1)" => "CircularPad2d((1, 1, 1, 1))";
    CircularPad3d 3 "circular" "A border that goes on at the other end of the last three dimensions."
        "nn::CircularPad3d(1)" => "CircularPad3d((1, 1, 1, 1, 1, 1))";
}
