//! Borders as modules.

use crate::base::{Error, Result, Scalar};
use crate::op::pad::pad;
use crate::op::{Args, OpDef, Param, ParamKind, Value};

use super::activation::Simple;
use super::linear::constructor;
use super::module::Call;

/// A border over the last `dims` dimensions; one size stands for all sides. An input has the dimensions of one sample,
/// or one more, where PyTorch looks.
struct Border {
    name: &'static str,
    dims: usize,
    mode: &'static str,
}

impl Border {
    fn sizes(&self, a: &Args) -> Result<Vec<i64>> {
        let sizes = match a.get(0) {
            Value::Scalar(_) => vec![a.ints(0)?.first().copied().unwrap_or(0); 2 * self.dims],
            _ => a.ints(0)?,
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

    fn module(self, a: &Args, value: Option<&Value>) -> Result<Value> {
        let sizes = self.sizes(a)?;
        let shown = Value::List(sizes.iter().map(|s| Value::Scalar((*s).into())).collect());
        let fill = match value {
            Some(Value::Scalar(s)) => *s,
            _ => Scalar::Float(0.0),
        };
        let name = self.name;
        let run = move |c: &Call| {
            self.check(c)?;
            pad(c.only()?, &sizes, self.mode, fill)
        };
        match value {
            Some(value) => Simple::new(name, run).option("padding", &shown).option("value", value).module(),
            None => Simple::new(name, run).bare("padding", &shown).module(),
        }
    }
}

const PADDING: Param = Param::required("padding", ParamKind::Ints);
const VALUE: Param = Param::required("value", ParamKind::Scalar);

macro_rules! borders {
    ($($name:ident $dims:literal $mode:tt $summary:literal $code:literal => $shown:literal;)*) => {
        /// The rows of this file.
        pub static ROWS: &[OpDef] = &[$(
            constructor(stringify!($name), $summary, borders!(@params $mode), |a| {
                let border = Border { name: stringify!($name), dims: $dims, mode: borders!(@mode $mode) };
                border.module(a, borders!(@value $mode a))
            })
            .details(
                "`padding` is a number for every side, or the sizes before and after, the last dimension first: \
                 `[left, right, top, bottom]`.",
            )
            .example($code, $shown),
        )*];
    };
    (@params "value") => { &[PADDING, VALUE] };
    (@params $mode:literal) => { &[PADDING] };
    (@mode "value") => { "constant" };
    (@mode $mode:literal) => { $mode };
    (@value "value" $a:ident) => { Some($a.get(1)) };
    (@value $mode:literal $a:ident) => { None };
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
