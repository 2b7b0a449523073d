//! Python's `int`, `float` and `bool` of numbers and texts. Those of tensors: see `script/numbers.rs`.

use rhai::{Engine, INT};

use crate::base::{Error, Result};
use crate::script::fault::raise;

/// Rhai's own `int` of a float gives a float.
pub(crate) fn register(engine: &mut Engine) {
    engine.register_fn("int", |value: INT| value);
    engine.register_fn("int", |value: bool| INT::from(value));
    engine.register_fn("int", |value: f64| whole(value).map_err(raise));
    engine.register_fn("int", |text: &str| parsed_int(text).map_err(raise));
    engine.register_fn("float", |value: INT| value as f64);
    engine.register_fn("float", |value: bool| f64::from(u8::from(value)));
    engine.register_fn("float", |value: f64| value);
    engine.register_fn("float", |text: &str| parsed_float(text).map_err(raise));
    engine.register_fn("to_int", |value: bool| INT::from(value));
    engine.register_fn("to_float", |value: bool| f64::from(u8::from(value)));
    engine.register_fn("bool", |value: INT| value != 0);
    engine.register_fn("bool", |value: bool| value);
    engine.register_fn("bool", |value: f64| value != 0.0);
    engine.register_fn("bool", |text: &str| !text.is_empty());
}

fn whole(value: f64) -> Result<INT> {
    if value.is_nan() {
        return Err(Error::value("cannot convert float NaN to integer"));
    }
    // 2⁶³ is the first float that is too large.
    const END: f64 = 9_223_372_036_854_775_808.0;
    if !(-END..END).contains(&value) {
        let what = if value.is_infinite() { "infinity" } else { "beyond 64 bits" };
        return Err(Error::value(format!("cannot convert float {what} to integer")));
    }
    Ok(value as INT)
}

fn parsed_int(text: &str) -> Result<INT> {
    let digits = text.trim().replace('_', "");
    digits.parse().map_err(|_| {
        let error = Error::value(format!("invalid literal for int() with base 10: '{text}'"));
        match digits.parse::<f64>() {
            Ok(_) => error.with_hint(format!("it is the text of a float: `int(float(\"{text}\"))`")),
            Err(_) => error,
        }
    })
}

fn parsed_float(text: &str) -> Result<f64> {
    // Rust reads "inf", "infinity" and "nan" as Python does.
    let digits = text.trim().replace('_', "");
    digits.parse().map_err(|_| Error::value(format!("could not convert string to float: '{text}'")))
}
