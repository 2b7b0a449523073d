//! Errors as a taxonomy with fields. The script layer renders them once, with position, caret and hint.

use std::fmt;

use crate::base::error::kind::{Kind, Variables};

use super::Device;
use super::dtype::DType;
use super::near::did_you_mean;
use super::text::capitalised;

mod device;
mod grad;
pub(crate) mod kind;
mod shape;

pub use device::{DeviceCause, is_of_device};
pub use grad::GradCause;
pub use shape::ShapeCause;

/// What may fail with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What one operand of a failed op was.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Operand {
    /// The variable's or parameter's name, where known.
    pub name: Option<String>,
    pub shape: Vec<usize>,
    pub dtype: DType,
    pub device: Device,
}

/// An error with its cause and what was added on the way up: the op, its operands, the source line.
#[derive(Clone, Debug)]
pub struct Error(Box<ErrorParts>);

#[derive(Clone, Debug)]
struct ErrorParts {
    cause: Cause,
    op: Option<&'static str>,
    /// The op wrote to its first operand.
    in_place: bool,
    /// The part of a module that it happened in: `1.0 (Linear)`.
    layer: Option<String>,
    operands: Vec<Operand>,
    /// What to do about it, beside what the cause says of itself.
    hint: Option<String>,
    /// What else is worth knowing, said after the hint.
    note: Option<String>,
    /// Where it happened, where that is in a function that ran beside the script.
    place: Option<FunctionPlace>,
}

/// A place in the code that a script's function comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FunctionPlace {
    pub function: String,
    /// From 1, as the column.
    pub line: u16,
    pub column: u16,
}

/// Why something failed. Texts follow PyTorch 2.15, see `tests/golden/semantics.json`.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    Device(DeviceCause),
    Shape(ShapeCause),
    Grad(GradCause),
    DtypeMismatch {
        left: DType,
        right: DType,
    },
    ResultCast {
        from: DType,
        to: DType,
    },
    Interrupted,
    Timeout {
        seconds: f64,
    },
    /// No failure: `exit` has ended a function that ran beside the script, or for it.
    Exit(Exit),
    /// Anything with a text and no fields worth keeping apart.
    Other {
        kind: Kind,
        message: String,
    },
}

/// What `exit` was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    Fine,
    Status(i64),
    Text(String),
}

impl Exit {
    /// Whether a process that ends so has not failed.
    pub(crate) fn is_fine(&self) -> bool {
        matches!(self, Exit::Fine | Exit::Status(0))
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Fine => f.write_str("exit()"),
            Exit::Status(status) => write!(f, "exit({status})"),
            Exit::Text(text) => write!(f, "exit({text:?})"),
        }
    }
}

/// How each of two operands comes to the device of the other. Which of the devices the sentence names first says nothing of
/// the sides, and the table above it calls both by letters where none has a name.
fn moved(left: &Operand, right: &Operand) -> String {
    let is_nameless = left.name.is_none() && right.name.is_none();
    let moved = |operand: &Operand, letter: &str, side: &str, to: &Operand| match &operand.name {
        Some(name) => format!("`{name}.to(\"{}\")`", to.device),
        None if is_nameless => format!("`{letter}.to(\"{}\")`", to.device),
        None => format!("`.to(\"{}\")` behind the {side} one", to.device),
    };
    device::moved(&[moved(right, "b", "right", left), moved(left, "a", "left", right)])
}

impl Error {
    /// An error with a text of its own.
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Cause::Other { kind, message: message.into() }.into()
    }

    pub(crate) fn runtime(message: impl Into<String>) -> Error {
        Error::new(Kind::RuntimeError, message)
    }

    /// An error of kind ValueError.
    pub fn value(message: impl Into<String>) -> Error {
        Error::new(Kind::ValueError, message)
    }

    pub(crate) fn type_error(message: impl Into<String>) -> Error {
        Error::new(Kind::TypeError, message)
    }

    /// Adds a hint, said behind the cause's own; the first one given stays.
    pub(crate) fn with_hint(mut self, text: impl Into<String>) -> Error {
        self.0.hint.get_or_insert_with(|| text.into());
        self
    }

    /// Asks whether the nearest of `names` was meant, where one is near.
    pub(crate) fn with_near<'n>(self, wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Error {
        match did_you_mean(wrong, names) {
            Some(hint) => self.with_hint(hint),
            None => self,
        }
    }

    /// Names the op that failed and its operands; the innermost op keeps its say.
    pub(crate) fn in_op(mut self, op: &'static str, operands: impl FnOnce() -> Vec<Operand>) -> Error {
        if self.0.op.is_none() {
            self.0.op = Some(op);
            self.0.operands = operands();
        }
        self
    }

    /// The same of an op that writes to its first operand: `add_` for `add`.
    pub(crate) fn in_op_in_place(
        mut self,
        op: &'static str,
        operands: impl FnOnce() -> Vec<Operand>,
    ) -> Error {
        self.0.in_place |= self.0.op.is_none_or(|inner| inner == op) && !op.ends_with('_');
        self.in_op(op, operands)
    }

    /// Says which child of a module it happened in, from the inside out.
    pub(crate) fn in_layer(mut self, name: &str, of: &str) -> Error {
        self.0.layer = Some(match self.0.layer.take() {
            Some(inner) => format!("{name}.{inner}"),
            None => format!("{name} ({of})"),
        });
        self
    }

    /// ` of layer 1.0 (Linear)`, where it happened in a child of a module.
    pub(crate) fn of_layer(&self) -> String {
        self.0.layer.as_ref().map_or_else(String::new, |layer| format!(" of layer {layer}"))
    }

    /// The name of the failed op as it was called.
    pub(crate) fn called(&self) -> Option<String> {
        self.op().map(|op| format!("{op}{}", if self.0.in_place { "_" } else { "" }))
    }

    /// Says where it happened; the innermost place stays.
    pub(crate) fn in_function(mut self, place: FunctionPlace) -> Error {
        self.0.place.get_or_insert(place);
        self
    }

    /// The function of a script that it happened in, where that ran beside the script.
    pub(crate) fn place(&self) -> Option<&FunctionPlace> {
        self.0.place.as_ref()
    }

    /// The same in other words: what led to it is in them.
    pub(crate) fn reworded(&self, text: impl Into<String>) -> Error {
        // An end has no words.
        if self.exit().is_some() {
            return self.clone();
        }
        let mut error = Error::new(self.kind(), text);
        (error.0.hint, error.0.place) = (self.hint(), self.0.place.clone());
        error
    }

    /// Why it failed, as values where there are any.
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// The operation that failed, where it was one.
    pub fn op(&self) -> Option<&'static str> {
        self.0.op
    }

    /// Shapes, dtypes and devices of what the operation was given.
    pub fn operands(&self) -> &[Operand] {
        &self.0.operands
    }

    /// Tells the remedy of an out-of-memory error with the variables of one more scope, from the inside out.
    pub fn retell(&mut self, variables: &dyn Variables) {
        if let Cause::Device(DeviceCause::OutOfMemory { hint, teller, .. }) = &mut self.0.cause {
            *hint = teller.state().hint(variables);
        }
    }

    /// A number of the state behind an out-of-memory error, which its copies share: [`retell`](Error::retell) tells more.
    pub(crate) fn teller(&self) -> Option<u64> {
        match &self.0.cause {
            Cause::Device(DeviceCause::OutOfMemory { teller, .. }) => Some(teller.number()),
            _ => None,
        }
    }

    /// Notes memory, by addresses, that the work held which failed for memory.
    pub(crate) fn while_holding(self, addresses: impl FnOnce() -> Vec<u64>) -> Error {
        if let Cause::Device(DeviceCause::OutOfMemory { teller, .. }) = &self.0.cause {
            teller.state().note_held(&addresses());
        }
        self
    }

    pub(crate) fn operands_mut(&mut self) -> &mut [Operand] {
        &mut self.0.operands
    }

    /// The kind that a script catches it by, such as `ValueError`.
    pub fn kind(&self) -> Kind {
        self.0.cause.kind()
    }

    /// PyTorch's text for this error.
    pub fn message(&self) -> String {
        self.0.cause.message()
    }

    /// What to do about it, where that can be said.
    pub fn hint(&self) -> Option<String> {
        let said = self.0.cause.hint().into_iter().chain(self.0.hint.clone());
        let said = said.map(|hint| self.named(hint)).chain(self.0.note.clone());
        said.reduce(|all, next| match all.contains('\n') {
            // A table of sentences gets one more.
            true => format!("{all}\n{}.", capitalised(&next)),
            false => format!("{all}; {next}"),
        })
    }

    /// A hint with the names that operands have in the source, where it calls them `a` and `b`, or as the reference's
    /// kernel does.
    fn named(&self, hint: String) -> String {
        if let Cause::Device(DeviceCause::ArgumentDevice { argument, is_on, .. }) = &self.0.cause {
            let mut there = self.0.operands.iter().filter(|operand| operand.device == *is_on);
            return match (there.next(), there.next()) {
                (Some(Operand { name: Some(name), .. }), None) => {
                    hint.replace(&format!("`{argument}`"), &format!("`{name}`"))
                }
                _ => hint,
            };
        }
        let is_of_devices = matches!(self.0.cause, Cause::Device(DeviceCause::TwoDevices { .. }));
        let [left, right] = self.0.operands.as_slice() else {
            return self.odd_one().filter(|_| is_of_devices).unwrap_or(hint);
        };
        if is_of_devices && left.device != right.device {
            return moved(left, right);
        }
        [(left, "`a.to("), (right, "`b.to(")]
            .into_iter()
            .fold(hint, |hint, (operand, call)| match &operand.name {
                // Marked, as a name may itself be the other letter.
                Some(name) => hint.replace(call, &format!("`\u{1}{name}.to(")),
                None => hint,
            })
            .replace('\u{1}', "")
    }

    /// Which of several operands is to be moved, where one alone is on another device.
    fn odd_one(&self) -> Option<String> {
        let all = self.0.operands.as_slice();
        let is_odd = |at: usize, device: Device| {
            let mut others = all.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, other)| other.device);
            let there = others.next()?;
            (there != device && others.all(|other| other == there)).then_some(there)
        };
        let found = all.iter().zip('a'..='z').enumerate();
        let (operand, letter, to) = found
            .filter_map(|(at, (operand, letter))| Some((operand, letter, is_odd(at, operand.device)?)))
            .next()?;
        let name = operand.name.clone().unwrap_or_else(|| letter.to_string());
        Some(format!(
            "move `{name}` first, `{name}.to(\"{to}\")`: a copy between devices is never made silently"
        ))
    }

    /// Adds to the hint, whatever the cause is; the first note stays.
    pub(crate) fn with_note(mut self, text: impl FnOnce() -> String) -> Error {
        self.note(text);
        self
    }

    /// Begins the note.
    pub(crate) fn with_note_first(mut self, text: String) -> Error {
        self.0.note = Some(match self.0.note.take() {
            Some(rest) => format!("{text}; {rest}"),
            None => text,
        });
        self
    }

    /// As [`Error::with_note`], of an error that is on its way.
    pub(crate) fn note(&mut self, text: impl FnOnce() -> String) {
        self.0.note.get_or_insert_with(text);
    }

    /// What `exit` was given, where that is why.
    pub(crate) fn exit(&self) -> Option<&Exit> {
        match self.cause() {
            Cause::Exit(exit) => Some(exit),
            _ => None,
        }
    }

    pub(crate) fn is_interrupt(&self) -> bool {
        matches!(self.kind(), Kind::Interrupted | Kind::Timeout)
    }
}

impl From<Cause> for Error {
    fn from(cause: Cause) -> Error {
        Error(Box::new(ErrorParts {
            cause,
            op: None,
            in_place: false,
            layer: None,
            operands: Vec::new(),
            hint: None,
            note: None,
            place: None,
        }))
    }
}

impl From<DeviceCause> for Error {
    fn from(cause: DeviceCause) -> Error {
        Cause::Device(cause).into()
    }
}

impl From<ShapeCause> for Error {
    fn from(cause: ShapeCause) -> Error {
        Cause::Shape(cause).into()
    }
}

impl From<GradCause> for Error {
    fn from(cause: GradCause) -> Error {
        Cause::Grad(cause).into()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind(), self.message())
    }
}

impl std::error::Error for Error {}

impl Cause {
    fn kind(&self) -> Kind {
        match self {
            Cause::Device(cause) => cause.kind(),
            Cause::Shape(cause) => cause.kind(),
            Cause::Grad(_) | Cause::DtypeMismatch { .. } | Cause::ResultCast { .. } | Cause::Exit(_) => {
                Kind::RuntimeError
            }
            Cause::Interrupted => Kind::Interrupted,
            Cause::Timeout { .. } => Kind::Timeout,
            Cause::Other { kind, .. } => *kind,
        }
    }

    fn message(&self) -> String {
        match self {
            Cause::Device(cause) => cause.message(),
            Cause::Shape(cause) => cause.message(),
            Cause::Grad(cause) => cause.message(),
            Cause::DtypeMismatch { left, right } => format!(
                "expected m1 and m2 to have the same dtype, but got: {} != {}",
                left.c_name(),
                right.c_name()
            ),
            Cause::ResultCast { from, to } => format!(
                "result type {} can't be cast to the desired output type {}",
                from.type_name(),
                to.type_name()
            ),
            Cause::Exit(exit) => format!("ended by {exit}"),
            Cause::Interrupted => "interrupted".into(),
            Cause::Timeout { seconds } => format!("timed out after {seconds} s"),
            Cause::Other { message, .. } => message.clone(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Cause::Device(cause) => cause.hint(),
            Cause::Shape(cause) => cause.hint(),
            Cause::Grad(cause) => cause.hint(),
            Cause::ResultCast { from, .. } => Some(format!(
                "written in place, a tensor keeps its dtype: `x = x * y` instead of `x *= y` makes a new one, and \
                 `x = x{}` converts it",
                converting(*from)
            )),
            Cause::DtypeMismatch { .. }
            | Cause::Exit(_)
            | Cause::Interrupted
            | Cause::Timeout { .. }
            | Cause::Other { .. } => None,
        }
    }
}

/// `.float()`, `.to(float16)`
fn converting(to: DType) -> String {
    if to == DType::Float32 { ".float()".into() } else { format!(".to({to})") }
}

/// Which of two operands of different dtypes is converted: what holds less.
pub(crate) fn conversion(a: DType, b: DType) -> String {
    let (name, to) = if a.category() >= b.category() { ("b", a) } else { ("a", b) };
    format!("convert one of them, for example `{name}.to({to})`")
}

/// The same where operands have no letters.
pub(crate) fn conversion_of_several(a: DType, b: DType) -> String {
    let to = if a.category() >= b.category() { a } else { b };
    format!("convert one of them, for example with `{}`", converting(to))
}

/// The same for a bias whose input and weight are alike.
pub(crate) fn conversion_of_bias(to: DType) -> String {
    format!("convert the bias: `bias{}`", converting(to))
}

/// The same for what is given to a layer, or to its function with weights.
pub(crate) fn conversion_of_input(x: DType, weight: DType) -> String {
    match (x.is_float(), weight.is_float()) {
        (true, false) => format!("convert the weight: `weight{}`", converting(x)),
        (true, true) => format!(
            "`x{}` converts the input; `net{}` would convert a network instead",
            converting(weight),
            converting(x)
        ),
        (false, _) => format!("convert the input: `x{}`", converting(weight)),
    }
}
