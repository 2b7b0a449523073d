//! Reading a profile's text strictly: every figure is `{ value = …, unit = "…", source = "…" }`,
//! and what is unknown, missing, or not a sensible number is an error with its line.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ProfileError, ProfileFault, acts, quoted, shown_path};
use crate::base::near::nearest;

/// The longest profile that is read, in bytes.
pub const LONGEST_FILE: u64 = 64 * 1024;

/// One figure of a profile as its author wrote it.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// `device.memory_bandwidth`
    pub key: String,
    /// `320 GB/s`
    pub value: String,
    /// Where it comes from, or `assumed`, or `assumed: why`.
    pub source: String,
}

impl Figure {
    /// True where nobody vouches for the figure.
    pub fn is_assumed(&self) -> bool {
        self.source == "assumed" || self.source.starts_with("assumed:")
    }
}

/// A kind of figure: the units it may be written in, each with its size in the base unit, and its bounds
/// there.
pub(super) struct Quantity {
    pub units: &'static [(&'static str, f64)],
    pub low: f64,
    pub high: f64,
    pub whole: bool,
    /// Completes "must be …".
    pub rule: &'static str,
    /// A figure written well.
    pub example: &'static str,
}

pub(super) const MEMORY: Quantity = Quantity {
    units: &[
        ("bytes", 1.0),
        ("KiB", 1024.0),
        ("MiB", 1048576.0),
        ("GiB", 1073741824.0),
        ("MB", 1e6),
        ("GB", 1e9),
    ],
    low: 2097152.0,
    high: 1125899906842624.0,
    whole: true,
    rule: "from 2 MiB (the allocator's smallest segment) to 1 PiB",
    example: r#"{ value = 16, unit = "GiB", source = "assumed: why" }"#,
};
pub(super) const CACHE: Quantity = Quantity {
    low: 1.0,
    rule: "from 1 byte to 1 PiB",
    example: r#"{ value = 4, unit = "MiB", source = "assumed: why" }"#,
    ..MEMORY
};
pub(super) const BANDWIDTH: Quantity = Quantity {
    units: &[("MB/s", 1e6), ("GB/s", 1e9), ("TB/s", 1e12)],
    low: 1e6,
    high: 1e18,
    whole: false,
    rule: "from 1 MB/s to 1,000,000 TB/s",
    example: r#"{ value = 320, unit = "GB/s", source = "assumed: why" }"#,
};
pub(super) const FLOPS: Quantity = Quantity {
    units: &[("GFLOP/s", 1e9), ("TFLOP/s", 1e12), ("PFLOP/s", 1e15)],
    high: 1e21,
    rule: "from 0.001 GFLOP/s to 1,000,000 PFLOP/s",
    example: r#"{ value = 8.1, unit = "TFLOP/s", source = "assumed: why" }"#,
    ..BANDWIDTH
};
pub(super) const INTEGER_OPS: Quantity = Quantity {
    units: &[("GOP/s", 1e9), ("TOP/s", 1e12), ("POP/s", 1e15)],
    high: 1e21,
    rule: "from 0.001 GOP/s to 1,000,000 POP/s",
    example: r#"{ value = 4.1, unit = "TOP/s", source = "assumed: why" }"#,
    ..BANDWIDTH
};
pub(super) const TIME: Quantity = Quantity {
    units: &[("ns", 1.0), ("us", 1e3), ("ms", 1e6)],
    low: f64::MIN_POSITIVE,
    high: 1e9,
    whole: false,
    rule: "above zero and at most a second",
    example: r#"{ value = 4.5, unit = "us", source = "assumed: why" }"#,
};
pub(super) const FRACTION: Quantity = Quantity {
    units: &[],
    low: 1e-6,
    high: 1.0,
    whole: false,
    rule: "from 0.000001 to 1",
    example: r#"{ value = 0.8, source = "assumed: why" }"#,
};

/// A whole number without a unit, up to `high`; `rule` says so.
pub(super) const fn count(high: u32, rule: &'static str) -> Quantity {
    Quantity {
        units: &[],
        low: 1.0,
        high: high as f64,
        whole: true,
        rule,
        example: r#"{ value = 40, source = "assumed: why" }"#,
    }
}

/// The text of a regular file of at most [`LONGEST_FILE`] bytes, and its path for messages.
pub(super) fn read_file(path: &Path) -> Result<(String, String), ProfileError> {
    let origin = shown_path(path);
    match read_text(path) {
        Ok(text) => Ok((text, origin)),
        Err(fault) => Err(ProfileError { origin, line: None, fault }),
    }
}

fn read_text(path: &Path) -> Result<String, ProfileFault> {
    let unreadable = |error: std::io::Error| ProfileFault::Unreadable { reason: error.to_string() };
    // Asked before opening: opening a pipe would wait for its writer.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(ProfileFault::Unreadable { reason: "it is not a regular file".to_owned() });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(LONGEST_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST_FILE {
        return Err(ProfileFault::TooLarge { limit: LONGEST_FILE });
    }
    String::from_utf8(bytes)
        .map_err(|_| ProfileFault::Unreadable { reason: "it is not UTF-8 text".to_owned() })
}

/// Ids are typed on command lines.
pub(super) fn check_id(root: &Section<'_, '_>, id: &str) -> Result<(), ProfileError> {
    if id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        return Ok(());
    }
    Err(root.bad_text("id", "lower-case letters, digits and hyphens"))
}

/// A parsed TOML text, and the figures that have been read from it.
pub(super) struct Document<'t> {
    origin: &'t str,
    text: &'t str,
    root: Spanned<DeTable<'t>>,
    figures: RefCell<Vec<Figure>>,
}

impl<'t> Document<'t> {
    pub(super) fn parse(text: &'t str, origin: &'t str) -> Result<Self, ProfileError> {
        if text.len() as u64 > LONGEST_FILE {
            let fault = ProfileFault::TooLarge { limit: LONGEST_FILE };
            return Err(ProfileError { origin: origin.to_owned(), line: None, fault });
        }
        match DeTable::parse(text) {
            Ok(root) => Ok(Document { origin, text, root, figures: RefCell::default() }),
            Err(error) => Err(ProfileError {
                origin: origin.to_owned(),
                line: error.span().map(|span| line_of(text, span.start)),
                fault: ProfileFault::Syntax { message: quoted(error.message()) },
            }),
        }
    }

    /// The top level; its keys must be among `allowed`.
    pub(super) fn root(&self, allowed: &[&'static str]) -> Result<Section<'_, 't>, ProfileError> {
        let path = String::new();
        self.open(path, self.root.get_ref(), self.root.span(), allowed)
    }

    /// The top level, whatever stands in it.
    pub(super) fn unchecked(&self) -> Section<'_, 't> {
        Section { document: self, path: String::new(), table: self.root.get_ref(), span: self.root.span() }
    }

    /// The figures read so far, in the order of reading.
    pub(crate) fn into_figures(self) -> Vec<Figure> {
        self.figures.into_inner()
    }

    fn open<'d>(
        &'d self,
        path: String,
        table: &'d DeTable<'t>,
        span: Range<usize>,
        allowed: &[&'static str],
    ) -> Result<Section<'d, 't>, ProfileError> {
        let section = Section { document: self, path, table, span };
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !allowed.contains(&name) {
                let fault = ProfileFault::UnknownKey {
                    key: section.path_of(&quoted(name)),
                    nearest: nearest(name, allowed.iter().copied()).map(str::to_owned),
                    allowed: allowed.to_vec(),
                };
                return Err(self.error(key.span(), fault));
            }
        }
        Ok(section)
    }

    fn error(&self, span: Range<usize>, fault: ProfileFault) -> ProfileError {
        let line = Some(line_of(self.text, span.start));
        ProfileError { origin: self.origin.to_owned(), line, fault }
    }
}

/// A table whose keys are known to be allowed ones.
pub(super) struct Section<'d, 't> {
    document: &'d Document<'t>,
    path: String,
    table: &'d DeTable<'t>,
    span: Range<usize>,
}

impl<'d, 't> Section<'d, 't> {
    /// The table at `key`, whose keys must be among `allowed`.
    pub(super) fn section(
        &self,
        key: &'static str,
        allowed: &[&'static str],
    ) -> Result<Section<'d, 't>, ProfileError> {
        match self.optional_section(key, allowed)? {
            Some(section) => Ok(section),
            None => Err(self.missing(key, "the section, with all its figures")),
        }
    }

    pub(crate) fn optional_section(
        &self,
        key: &'static str,
        allowed: &[&'static str],
    ) -> Result<Option<Section<'d, 't>>, ProfileError> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        let DeValue::Table(table) = value.get_ref() else {
            return Err(self.wrong_type(key, value, "a section, as in the built-in profiles"));
        };
        self.document.open(self.path_of(key), table, value.span(), allowed).map(Some)
    }

    /// The table at `key`, whatever stands in it; none where there is no table.
    pub(super) fn unchecked(&self, key: &'static str) -> Option<Section<'d, 't>> {
        let value = self.table.get(key)?;
        let DeValue::Table(table) = value.get_ref() else { return None };
        Some(Section { document: self.document, path: self.path_of(key), table, span: value.span() })
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// A line of text of at most `longest` characters.
    pub(super) fn text(
        &self,
        key: &'static str,
        longest: usize,
        example: &'static str,
    ) -> Result<&'d str, ProfileError> {
        let value = self.require(key, example)?;
        let DeValue::String(text) = value.get_ref() else {
            return Err(self.wrong_type(key, value, example));
        };
        let rule = match () {
            _ if text.trim().is_empty() => "a text with something in it",
            _ if text.chars().count() > longest => "shorter",
            _ if text.contains(acts) => "one line without control characters",
            _ => return Ok(text),
        };
        let fault = ProfileFault::BadText { key: self.path_of(key), rule };
        Err(self.document.error(value.span(), fault))
    }

    /// A figure in the base unit of its quantity.
    pub(super) fn number(&self, key: &'static str, quantity: &Quantity) -> Result<f64, ProfileError> {
        let units: Vec<&'static str> = quantity.units.iter().map(|(name, _)| *name).collect();
        let figure = self.figure(key, !units.is_empty(), quantity.example)?;
        let (written, value, span) = figure.literal("value", quantity.example)?;
        let scale = match units.as_slice() {
            [] => 1.0,
            _ => figure.unit(quantity, &units)?,
        };
        let value = value * scale;
        let value = if quantity.whole && scale != 1.0 { value.round() } else { value };
        // Written so that NaN fails.
        let sensible = value >= quantity.low && value <= quantity.high;
        if !sensible || (quantity.whole && value.fract() != 0.0) {
            let fault =
                ProfileFault::OutOfRange { key: self.path_of(key), found: written, rule: quantity.rule };
            return Err(self.document.error(span, fault));
        }
        let unit = if units.is_empty() { "" } else { figure.text("unit", 20, quantity.example)? };
        figure.note(format!("{written} {unit}").trim().to_owned())?;
        Ok(value)
    }

    /// A figure that a profile may leave out.
    pub(super) fn optional(
        &self,
        key: &'static str,
        quantity: &Quantity,
    ) -> Result<Option<f64>, ProfileError> {
        self.has(key).then(|| self.number(key, quantity)).transpose()
    }

    /// A time in whole nanoseconds, rounded up.
    pub(super) fn nanos(&self, key: &'static str) -> Result<u64, ProfileError> {
        Ok(self.number(key, &TIME)?.ceil() as u64)
    }

    /// A figure that says yes or no.
    pub(super) fn flag(&self, key: &'static str) -> Result<bool, ProfileError> {
        let example = r#"{ value = true, source = "assumed: why" }"#;
        let figure = self.figure(key, false, example)?;
        let value = figure.require("value", example)?;
        let DeValue::Boolean(flag) = value.get_ref() else {
            return Err(figure.wrong_type("value", value, example));
        };
        figure.note(if *flag { "yes" } else { "no" }.to_owned())?;
        Ok(*flag)
    }

    /// A figure of the form `major.minor`.
    pub(super) fn version(&self, key: &'static str) -> Result<(u32, u32), ProfileError> {
        let example = r#"{ value = "7.5", source = "assumed: why" }"#;
        let figure = self.figure(key, false, example)?;
        let text = figure.text("value", 8, example)?;
        let digits =
            |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok()).flatten();
        let Some(version) = text.split_once('.').and_then(|(a, b)| Some((digits(a)?, digits(b)?))) else {
            let rule = "two numbers with a point between them";
            let fault = ProfileFault::OutOfRange { key: self.path_of(key), found: quoted(text), rule };
            return Err(self.document.error(figure.require("value", example)?.span(), fault));
        };
        figure.note(text.to_owned())?;
        Ok(version)
    }

    /// A bare number (not a figure), if it is there, that `sensible` accepts.
    pub(super) fn bare(
        &self,
        key: &'static str,
        rule: &'static str,
        sensible: impl Fn(f64) -> bool,
    ) -> Result<Option<f64>, ProfileError> {
        if !self.has(key) {
            return Ok(None);
        }
        let (found, value, span) = self.literal(key, "a number")?;
        if !sensible(value) {
            let fault = ProfileFault::OutOfRange { key: self.path_of(key), found, rule };
            return Err(self.document.error(span, fault));
        }
        Ok(Some(value))
    }

    /// The error that what stands at `key` belongs into a host's profile; none where nothing does.
    pub(super) fn belongs_to_host(&self, key: &'static str) -> Option<ProfileError> {
        let value = self.table.get(key)?;
        Some(self.document.error(value.span(), ProfileFault::OfTheHost { key: self.path_of(key) }))
    }

    /// The error that a text at `key` is not what `rule` says.
    pub(crate) fn bad_text(&self, key: &'static str, rule: &'static str) -> ProfileError {
        let span = self.table.get(key).map_or_else(|| self.span.clone(), Spanned::span);
        self.document.error(span, ProfileFault::BadText { key: self.path_of(key), rule })
    }

    fn figure(
        &self,
        key: &'static str,
        has_unit: bool,
        example: &'static str,
    ) -> Result<Section<'d, 't>, ProfileError> {
        let value = self.require(key, example)?;
        let DeValue::Table(table) = value.get_ref() else {
            return Err(self.wrong_type(key, value, example));
        };
        let allowed: &[&str] = if has_unit { &["value", "unit", "source"] } else { &["value", "source"] };
        self.document.open(self.path_of(key), table, value.span(), allowed)
    }

    /// The size of the figure's unit in the base unit.
    fn unit(&self, quantity: &Quantity, allowed: &[&'static str]) -> Result<f64, ProfileError> {
        let unit = self.text("unit", 20, quantity.example)?;
        let known = quantity.units.iter().find(|(name, _)| *name == unit);
        known.map(|(_, scale)| *scale).ok_or_else(|| {
            let span = self.table.get("unit").map_or_else(|| self.span.clone(), Spanned::span);
            let fault = ProfileFault::WrongUnit {
                key: self.path.clone(),
                found: quoted(unit),
                allowed: allowed.to_vec(),
            };
            self.document.error(span, fault)
        })
    }

    /// A number as written and as read.
    fn literal(
        &self,
        key: &'static str,
        example: &'static str,
    ) -> Result<(String, f64, Range<usize>), ProfileError> {
        let value = self.require(key, example)?;
        let (text, radix) = match value.get_ref() {
            DeValue::Integer(integer) => (integer.as_str(), integer.radix()),
            DeValue::Float(float) => (float.as_str(), 10),
            _ => return Err(self.wrong_type(key, value, example)),
        };
        let number = match radix {
            10 => text.parse().ok(),
            _ => u64::from_str_radix(text, radix).ok().map(|n| n as f64),
        };
        Ok((quoted(text), number.unwrap_or(f64::NAN), value.span()))
    }

    /// Remembers a figure that has been read; this section is the figure's own table.
    fn note(&self, value: String) -> Result<(), ProfileError> {
        let source = self.text("source", 200, r#"where the figure comes from, or "assumed""#)?;
        let figure = Figure { key: self.path.clone(), value, source: source.to_owned() };
        self.document.figures.borrow_mut().push(figure);
        Ok(())
    }

    fn require(
        &self,
        key: &'static str,
        example: &'static str,
    ) -> Result<&'d Spanned<DeValue<'t>>, ProfileError> {
        self.table.get(key).ok_or_else(|| self.missing(key, example))
    }

    fn missing(&self, key: &'static str, example: &'static str) -> ProfileError {
        let fault = ProfileFault::MissingKey { key: self.path_of(key), example };
        self.document.error(self.span.clone(), fault)
    }

    fn wrong_type(&self, key: &str, value: &Spanned<DeValue<'_>>, example: &'static str) -> ProfileError {
        let found = value.get_ref().type_str();
        let fault = ProfileFault::WrongType { key: self.path_of(key), found, example };
        self.document.error(value.span(), fault)
    }

    fn path_of(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}
