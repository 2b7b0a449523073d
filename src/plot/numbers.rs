//! Lists of floats in JSON, which has no NaN and no infinities.
//!
//! In a readable format these three are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`; a binary format stores floats as
//! they are. Reading also takes `null` as NaN, which is what other writers make of it.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeSeq, Serializer};

/// `f32` or `f64`.
pub(super) trait Float: Copy + Serialize {
    fn widen(self) -> f64;
    fn narrow(value: f64) -> Self;
}

impl Float for f64 {
    fn widen(self) -> f64 {
        self
    }

    fn narrow(value: f64) -> Self {
        value
    }
}

impl Float for f32 {
    fn widen(self) -> f64 {
        f64::from(self)
    }

    fn narrow(value: f64) -> Self {
        value as f32
    }
}

pub(super) fn serialize<S, F>(values: &[F], serializer: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    F: Float,
{
    let readable = serializer.is_human_readable();
    let mut seq = serializer.serialize_seq(Some(values.len()))?;
    for value in values {
        match value.widen() {
            wide if wide.is_finite() || !readable => seq.serialize_element(value)?,
            wide if wide.is_nan() => seq.serialize_element("NaN")?,
            wide if wide > 0.0 => seq.serialize_element("Infinity")?,
            _ => seq.serialize_element("-Infinity")?,
        }
    }
    seq.end()
}

pub(super) fn deserialize<'de, D, F>(deserializer: D) -> Result<Vec<F>, D::Error>
where
    D: Deserializer<'de>,
    F: Float + Deserialize<'de>,
{
    if deserializer.is_human_readable() {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    } else {
        Vec::deserialize(deserializer)
    }
}

struct ListVisitor<F>(PhantomData<F>);

impl<'de, F: Float> Visitor<'de> for ListVisitor<F> {
    type Value = Vec<F>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Number(value)) = seq.next_element()? {
            values.push(F::narrow(value));
        }
        Ok(values)
    }
}

struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, \"NaN\", \"Infinity\" or \"-Infinity\"")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
        Ok(Number(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
        Ok(Number(value as f64))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
        Ok(Number(value as f64))
    }

    fn visit_unit<E: Error>(self) -> Result<Number, E> {
        Ok(Number(f64::NAN))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Number, E> {
        match value {
            "NaN" => Ok(Number(f64::NAN)),
            "Infinity" => Ok(Number(f64::INFINITY)),
            "-Infinity" => Ok(Number(f64::NEG_INFINITY)),
            other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
        }
    }
}
