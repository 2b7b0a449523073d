//! `format`: a value as text, as Python's formats have it.

use rhai::Dynamic;

use crate::base::Error;
use crate::base::format_spec::{self, Formatted};
use crate::op::def::FUNCTION;
use crate::op::params::kind::Str;
use crate::op::params::params;
use crate::op::{Family, OpDef};
use crate::script::call::kind::Given;
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::carry;
use crate::script::printing::spoken;
use crate::script::value::type_name;
use crate::tensor::Tensor;

params! {
    FormatParams {
        value: Given, "a number, a text, or a tensor of one number without dimensions";
        spec: Str = "", "what stands behind the colon of Python's `{x:.4f}`: `[[fill]align][sign][#][0][width][,][.precision][type]`";
    }
}

pub(super) static ROWS: &[ScriptRow] = &[ScriptRow::of(
    OpDef::script(
        "format",
        Family::Language,
        "A value as text, as Python's format says.",
        FormatParams::LIST,
    )
    .forms(FUNCTION)
    .torch("format")
    .errors(&[
        "ValueError: there is no such format for the value, or it asks for more than 65536 columns or digits",
        "TypeError: the value is another one and the format is not empty",
    ])
    .details(
        "`.4f` keeps four decimals, `.2%` is a percentage, `,` parts thousands, `03d` fills with zeros, `>10` `<10` `^10` \
         make ten columns, `.2e` has a power of ten, `x` and `b` are digits of 16 and 2. Without a format, a tensor without \
         dimensions is its number, and any other value what `print` shows.",
    )
    .example("format(0.12345, \".2f\") + format(255, \">6x\")", "\"0.12    ff\""),
    run,
)];

fn run(call: &mut Call) -> Outcome {
    let given = FormatParams::of(&call.args)?;
    let (value, spec) = (number_of(call, given.value)?, given.spec);
    let formatted = match () {
        () if spec.is_empty() && !value.is_float() => {
            return Ok(spoken(call.context, &call.here.machine.shared, &value)?.into());
        }
        () if value.is_string() || value.is_char() => Formatted::Text(value.to_string()),
        () => match (value.as_int(), value.as_bool(), value.as_float()) {
            (Ok(number), ..) => Formatted::Int(number),
            (_, Ok(holds), _) => Formatted::Int(holds.into()),
            (.., Ok(number)) => Formatted::Float(number),
            _ => {
                let text = format!("unsupported format string passed to {}.__format__", type_name(&value));
                let error = Error::type_error(text);
                return Err(error.with_hint("a format is for one number or a text").into());
            }
        },
    };
    Ok(format!("{}{}", format_spec::format(&formatted, spec)?, carry::note(&value)).into())
}

/// The number of a tensor without dimensions, and any other value itself.
fn number_of(call: &Call, mut value: Dynamic) -> Outcome {
    let is_number = value.read_lock::<Tensor>().is_some_and(|x| x.rank() == 0);
    match is_number {
        true => Ok(call.context.call_native_fn_raw("item", true, &mut [&mut value])?),
        false => Ok(value),
    }
}
