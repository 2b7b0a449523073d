//! Errors as a learner sees them: place, source line with a caret, operands, hint.

use rhai::{Array, Dynamic, EvalAltResult, LexError, Map, ParseError, ParseErrorType, Position};
use serde::{Deserialize, Serialize};

use crate::base::near::did_you_mean;
use crate::base::{Error, Kind};
use crate::tensor::Tensor;
use crate::tensor::display::display;

use super::absent::{absent, absent_space};
use super::arity::CLOSURE;
use super::misfit::{CALLED, is_in_place, is_option, of_arguments, of_first, of_part, part, truth};
use super::missing::{
    IN_USE, NOTHING, near_variable, of_array, of_gradient, of_index, of_layer, of_own_call, of_own_name,
    of_step,
};
use super::modules::exits;
pub use super::sources::Origin;
use super::sources::Sources;
use super::typos::{self, index_of_block};
pub(crate) use super::vocabulary::{KnownNames, Vocabulary};

/// A script error with its place, ready to be shown.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Fault {
    /// `RuntimeError`, `IndexError`, … or `SyntaxError`.
    pub kind: String,
    pub message: String,
    pub hint: Option<String>,
    /// Line and column from 1, in the file's own numbering; absent where unknown.
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub source_line: Option<String>,
    /// `x: float32 [2, 3] on cuda:0` for each operand.
    pub operands: Vec<String>,
    /// The line that called the function in which it happened, where that is another.
    #[serde(skip)]
    pub caller: Option<u32>,
    /// The variable that is not there, where that is why.
    #[serde(skip)]
    pub missing: Option<String>,
    /// Where it happened, where that is a function of other code: `line` is then where this code led there.
    #[serde(skip)]
    pub elsewhere: Option<Box<FaultPlace>>,
    /// The whole report as text, with caret, without colour.
    pub report: String,
}

/// A place in some code.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FaultPlace {
    /// The function in which it is, where that is other code.
    pub function: String,
    pub file: String,
    pub line: u32,
    column: Option<u32>,
    source_line: Option<String>,
}

/// What a function gives that Rhai calls.
pub(crate) type RhaiResult<T> = std::result::Result<T, Box<EvalAltResult>>;

/// An engine error inside Rhai's: what `catch (e)` binds. What `exit` has ended goes on ending.
pub fn raise(error: Error) -> Box<EvalAltResult> {
    if let Some(exit) = error.exit() {
        return exits::again(exit);
    }
    Box::new(EvalAltResult::ErrorRuntime(Dynamic::from(error), Position::NONE))
}

impl Fault {
    /// A fault from a failed evaluation.
    /// `explain` adds what the interpreter knows to an engine error, given the place in the code.
    pub(crate) fn from_eval(
        error: &EvalAltResult,
        origin: &Origin,
        sources: &Sources,
        known: &KnownNames,
        explain: impl FnOnce(&mut Error, Position),
    ) -> Fault {
        let Traced { inner, mut calls } = innermost(error);
        let thrown = thrown_in(inner);
        // A function that ran beside the script has its own place, below the call that waited for it.
        if let Some(place) =
            thrown.as_ref().and_then(Error::place).filter(|p| sources.of(&p.function).is_some())
        {
            let position = Position::new(place.line, place.column);
            calls.push(TracedCall { function: Some(&place.function), position });
        }
        let position = calls.last().map_or(Position::NONE, |call| call.position);
        // The functions of other code that it was in when it stopped.
        let other =
            |call: &TracedCall| call.function.and_then(|f| sources.of(f)).filter(|other| !other.is(origin));
        let elsewhere = calls.last().and_then(other);
        let own = calls.iter().rfind(|call| other(call).is_none()).map(|call| call.position);
        let mut fault = match inner {
            EvalAltResult::ErrorRuntime(value, _) | EvalAltResult::ErrorTerminated(value, _) => {
                from_thrown(value, |e| {
                    if elsewhere.is_none() {
                        explain(e, position)
                    }
                })
            }
            EvalAltResult::ErrorParsing(parse, _) => Fault::bare("SyntaxError", parse.to_string(), None),
            other => from_rhai(other, known),
        };
        let caller =
            calls.len().checked_sub(2).and_then(|at| calls.get(at)).and_then(|call| call.position.line());
        let caller = caller.filter(|_| elsewhere.is_none()).and_then(|line| u32::try_from(line).ok());
        fault.caller = caller.map(|line| line + origin.first_line - 1);
        let function = calls.last().and_then(|call| call.function).unwrap_or_default();
        let place = elsewhere.and_then(|other| FaultPlace::of(position, &other.origin()));
        let failed = place.clone().or_else(|| FaultPlace::of(position, origin));
        let told = failed.and_then(|at| {
            let (line, column) = (at.source_line.as_deref()?, at.column?);
            of_gradient(&fault.message, line, column)
                .or_else(|| of_own_call(&fault.message, (line, column), origin.code))
        });
        fault.hint = told.or_else(|| of_own_name(&fault.message, origin.code)).or(fault.hint);
        fault.elsewhere = place.map(|place| Box::new(FaultPlace { function: function.to_owned(), ..place }));
        fault.place(own.unwrap_or(position), origin);
        fault
    }

    /// A fault from code that does not parse.
    pub(crate) fn from_parse(error: &ParseError, origin: &Origin) -> Fault {
        let hint = match error.err_type() {
            ParseErrorType::Reserved(word) if word.chars().all(char::is_alphanumeric) => Some(format!(
                "`{word}` is a word that Rhai keeps for itself: another name will do, such as `{word}_`"
            )),
            ParseErrorType::BadInput(LexError::UnexpectedInput(word)) if word == "try" => Some(
                "`try { … } catch (e) { … }` is a statement and has no value: set a variable in both blocks"
                    .to_owned(),
            ),
            ParseErrorType::MissingToken(token, _) if token == "]" => {
                index_of_block(error.position(), origin)
            }
            _ => None,
        };
        let said = error.err_type().to_string();
        let slip = typos::found(&said, error.position(), origin);
        let hint = slip.as_ref().map(|slip| slip.hint.clone()).or(hint);
        let place = slip.as_ref().map_or(error.position(), |slip| slip.position);
        let mut fault = Fault::bare("SyntaxError", slip.and_then(|slip| slip.message).unwrap_or(said), hint);
        fault.place(place, origin);
        fault
    }

    /// A fault without a place.
    pub(crate) fn from_error(error: &Error) -> Fault {
        let mut fault = Fault::bare(&error.kind().to_string(), error.message(), error.hint());
        fault.operands = error
            .operands()
            .iter()
            .zip('a'..='z')
            .map(|(o, letter)| {
                let name = o.name.clone().unwrap_or_else(|| letter.to_string());
                format!("{name}: {} {} on {}", o.dtype, crate::base::dims::show(&o.shape), o.device)
            })
            .collect();
        if let (Some(op), false) = (error.called(), fault.operands.is_empty()) {
            fault.operands.insert(0, format!("in `{op}`{}", error.of_layer()));
        }
        fault.report = fault.render("");
        fault
    }

    /// The same as it looks from the code in which it happened, where that is other code.
    pub(super) fn as_seen_there(&self) -> Option<Fault> {
        let place = self.elsewhere.as_deref()?;
        let mut fault = Fault { elsewhere: None, caller: None, ..self.clone() };
        (fault.line, fault.column, fault.source_line) =
            (Some(place.line), place.column, place.source_line.clone());
        Some(fault)
    }

    /// With another hint.
    pub(crate) fn hinted(mut self, hint: String, origin: &Origin) -> Fault {
        self.hint = Some(hint);
        self.report = self.render(origin.name);
        self
    }

    fn bare(kind: &str, message: String, hint: Option<String>) -> Fault {
        let mut fault = Fault {
            kind: kind.into(),
            message: message.trim_end().into(),
            hint,
            line: None,
            column: None,
            source_line: None,
            operands: Vec::new(),
            caller: None,
            missing: None,
            elsewhere: None,
            report: String::new(),
        };
        fault.report = fault.render("");
        fault
    }

    fn place(&mut self, position: Position, origin: &Origin) {
        if let Some(place) = FaultPlace::of(position, origin) {
            (self.line, self.column, self.source_line) = (Some(place.line), place.column, place.source_line);
        }
        self.report = self.render(origin.name);
    }

    fn render(&self, file: &str) -> String {
        let mut out = format!("{}: {}\n", self.kind, self.message);
        let here = self.line.map(|line| FaultPlace {
            function: String::new(),
            file: file.to_owned(),
            line,
            column: self.column,
            source_line: self.source_line.clone(),
        });
        out += &self.elsewhere.as_deref().or(here.as_ref()).map(FaultPlace::render).unwrap_or_default();
        // A lesson's check that calls a function has no name, and its lines are nobody's to look at.
        if let (Some(_), Some(line)) = (&self.elsewhere, self.line) {
            // What calls code for `:timeit` stands in no line that anybody has written.
            if !file.is_empty() && line > 0 {
                out += &format!("  called from {file}:{line}\n");
            }
        } else if let Some(caller) = self.caller.filter(|caller| *caller > 0 && Some(*caller) != self.line) {
            out += &format!("  called from line {caller}\n");
        }
        for operand in &self.operands {
            out += &format!("  {operand}\n");
        }
        if let Some(hint) = &self.hint {
            out += &format!("hint: {hint}\n");
        }
        out
    }
}

impl FaultPlace {
    fn of(position: Position, origin: &Origin) -> Option<FaultPlace> {
        let line = position.line()?;
        let column = position.position().map(|column| column as u32);
        Some(FaultPlace {
            function: String::new(),
            file: origin.name.to_owned(),
            line: line as u32 + origin.first_line - 1,
            column,
            source_line: origin.code.lines().nth(line - 1).map(|l| shortened(l, column)),
        })
    }

    fn render(&self) -> String {
        let (file, line) = (&self.file, self.line);
        let number = line.to_string();
        let pad = " ".repeat(number.len());
        let column = self.column.map_or(String::new(), |c| format!(":{c}"));
        let mut out = format!("{pad}--> {file}:{line}{column}\n");
        let Some(source) = &self.source_line else { return out };
        out += &format!("{pad} |\n{number} | {source}\n");
        let column = self.column.filter(|&c| c > 0 && c as usize <= source.chars().count() + 1);
        if let Some(column) = column {
            out += &format!("{pad} | {}^\n", " ".repeat(column as usize - 1));
        }
        out
    }
}

/// An error without the function calls around it.
pub(super) struct Traced<'a> {
    pub inner: &'a EvalAltResult,
    /// Where it went, the outermost first, the innermost where it happened.
    pub calls: Vec<TracedCall<'a>>,
}

/// A place in a function, or in no function.
pub(super) struct TracedCall<'a> {
    pub function: Option<&'a str>,
    pub position: Position,
}

pub(super) fn innermost(error: &EvalAltResult) -> Traced<'_> {
    let mut calls = vec![TracedCall { function: None, position: error.position() }];
    let mut at = error;
    loop {
        let (function, inner) = match at {
            EvalAltResult::ErrorInFunctionCall(function, _, inner, _) => (Some(function.as_str()), inner),
            EvalAltResult::ErrorInModule(_, inner, _) => (None, inner),
            _ => return Traced { inner: at, calls },
        };
        at = inner;
        if !at.position().is_none() {
            calls.push(TracedCall { function, position: at.position() });
        }
    }
}

/// An error of ours that a script's error is about.
fn thrown_in(error: &EvalAltResult) -> Option<Error> {
    match error {
        EvalAltResult::ErrorRuntime(value, _) | EvalAltResult::ErrorTerminated(value, _) => {
            value.read_lock::<Error>().map(|error| error.clone())
        }
        _ => None,
    }
}

fn from_thrown(value: &Dynamic, explain: impl FnOnce(&mut Error)) -> Fault {
    if let Some(error) = value.read_lock::<Error>() {
        let mut error = error.clone();
        explain(&mut error);
        return Fault::from_error(&error);
    }
    Fault::bare("RuntimeError", shown(value), None)
}

pub(super) fn from_rhai(error: &EvalAltResult, known: &KnownNames) -> Fault {
    let instead = |name: &str| absent(name).or_else(|| near_variable(name, known.names));
    match error {
        EvalAltResult::ErrorVariableNotFound(name, _) => {
            let text = format!("name '{name}' is not defined");
            let hint = of_layer(name, known.names, known.written).or_else(|| instead(name));
            let fault = Fault::bare("NameError", text, hint);
            Fault { missing: Some(name.clone()), ..fault }
        }
        EvalAltResult::ErrorFunctionNotFound(signature, _) => unknown_function(signature, known),
        EvalAltResult::ErrorDotExpr(text, _) => unknown_property(text, known),
        EvalAltResult::ErrorModuleNotFound(name, _) => {
            let hint = absent_space(name).or_else(|| instead(name));
            Fault::bare("NameError", format!("there is no module '{name}'"), hint)
        }
        EvalAltResult::ErrorStackOverflow(_) => Fault::bare(
            "RecursionError",
            "the functions call each other too deeply".into(),
            Some("does the recursion have an end that is reached? Some ninety calls stand within each other; a loop with an array of what is left to do goes deeper".into()),
        ),
        EvalAltResult::ErrorDataTooLarge(what, _) => too_large(what),
        EvalAltResult::ErrorMismatchDataType(want, got, _) if got.contains("Tensor") && want != "Fn" => {
            Fault::bare(
                "TypeError",
                format!("a Tensor stands where {} is expected", words(want)),
                Some(
                    "`.item()` gives the number of a one-element tensor; `.any()` and `.all()` make one"
                        .into(),
                ),
            )
        }
        EvalAltResult::ErrorMismatchDataType(want, got, _) => {
            let (want, got) = (words(want), words(got));
            let hint = truth(&got).filter(|_| want == "bool").or_else(|| part(&want, &got));
            let hint = hint.or_else(|| (want == "Fn").then(|| CALLED.into()));
            Fault::bare("TypeError", format!("{want} is expected, not {got}"), hint)
        }
        EvalAltResult::ErrorDataRace(..) => Fault::bare(
            "RuntimeError",
            IN_USE.into(),
            Some(
                "a method holds its variable while it runs: `opt.step(|| …)` with the closure in place, or \
                 `step(opt, closure)`"
                    .into(),
            ),
        ),
        EvalAltResult::ErrorFor(_) => Fault::bare(
            "TypeError",
            "a `for` loop can't go through this".into(),
            Some("`for name in d.keys()` goes through a map".into()),
        ),
        EvalAltResult::ErrorPropertyNotFound(name, _) => {
            Fault::bare("KeyError", format!("{NO_FIELD}{name}'"), None)
        }
        EvalAltResult::ErrorIndexingType(what, _) => {
            Fault::bare("TypeError", format!("cannot index {what}"), of_index(what))
        }
        EvalAltResult::ErrorArrayBounds(size, index, _) => {
            Fault::bare("IndexError", format!("index {index} is out of bounds for an array of {size}"), None)
        }
        other => {
            let mut plain = other.clone_plain();
            plain.clear_position();
            let text = plain.to_string();
            // The place is shown below, with the line.
            let text = text.trim_start_matches("Runtime error: ");
            let text = text.rsplit_once(" (line ").map_or(text, |(before, _)| before);
            let hint = text.contains("raised to a negative power").then(|| "`2.0 ** -1` is 0.5".to_owned());
            // As Python's `int("abc")`.
            let kind = if text.starts_with("Error parsing") { "ValueError" } else { "RuntimeError" };
            Fault::bare(kind, text.into(), hint)
        }
    }
}

/// A value past one of the limits of a script.
fn too_large(what: &str) -> Fault {
    let (kind, text, hint) = if what == TOO_DEEP {
        (
            "RecursionError",
            format!("arrays, maps or closures lie more than {DEEPEST} deep in each other"),
            "does the loop that puts a value into another one have an end?",
        )
    } else if what == TOO_MANY {
        (
            "LimitError",
            format!("one value holds more than {MOST} arrays and maps"),
            "a tensor has no such limit: `tensor(…)`, `stack([…])`, `cat([…])`",
        )
    } else {
        (
            "LimitError",
            format!("{what} grew over the limit of this script"),
            "tensors have no such limit: `tensor(…)`, `cat([…])`",
        )
    };
    Fault::bare(kind, text, Some(hint.into()))
}

/// `f (Tensor, i64)` from Rhai, in a learner's words.
fn unknown_function(signature: &str, known: &KnownNames) -> Fault {
    let Some((name, arguments)) = signature.split_once(" (") else {
        // What Rhai's own functions say of values that they can't compare.
        return Fault::bare("TypeError", signature.into(), None);
    };
    let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
    let shown: Vec<String> = arguments.split(", ").filter(|a| !a.is_empty()).map(words).collect();
    let bare = name.rsplit("::").next().unwrap_or(name);
    let bare = bare.strip_prefix("get$").or_else(|| bare.strip_prefix("set$")).unwrap_or(bare);
    // A function of one's own is in no module, and no property.
    let takes = if bare == name { (known.takes)(bare) } else { None };
    if let Some((text, hint)) = takes.and_then(|takes| takes.of_call(bare, shown.len())) {
        return Fault::bare("TypeError", text, Some(hint));
    }
    // Rhai's own name of it says nothing.
    if bare.starts_with(CLOSURE) {
        // What it has captured counts among its arguments.
        let text = "the closure takes another number of arguments than it is given";
        return Fault::bare("TypeError", text.into(), None);
    }
    let ways = if name.contains("::") { (known.written)(bare) } else { Vec::new() };
    if let Some(hint) = absent(name).or_else(|| absent(bare).filter(|_| ways.is_empty())) {
        return Fault::bare("NameError", format!("there is no function '{name}'"), Some(hint));
    }
    if !ways.is_empty() && !ways.iter().any(|way| way == name) {
        let text = format!("there is no function '{name}'");
        let list = ways.iter().map(|way| format!("`{way}`")).collect::<Vec<_>>().join(" or ");
        return Fault::bare("NameError", text, Some(format!("here it is {list}")));
    }
    // A module may have the name.
    if (known.names.contains(&bare) || is_in_place(bare)) && !(name.contains("::") && ways.is_empty()) {
        let text = of_arguments(name, bare, &shown);
        let text = text.unwrap_or_else(|| format!("{bare}() does not take ({})", shown.join(", ")));
        let hint = of_first(bare, &shown, &(known.written)(bare))
            .unwrap_or_else(|| format!("`?{bare}` shows how it is called"));
        return Fault::bare("TypeError", text, Some(hint));
    }
    // A method is meant where no module is named.
    let of = shown.first().filter(|_| !name.contains("::"));
    let near = of.and_then(|of| suggestion(bare, &(known.members)(of)));
    if let ("!", [of]) = (bare, shown.as_slice())
        && let Some(hint) = truth(of)
    {
        return Fault::bare("TypeError", format!("`!` takes a bool, not {of}"), Some(hint));
    }
    let called = if name.contains("::") { name } else { bare };
    let text = format!("there is no function '{called}' for ({})", shown.join(", "));
    let part = || {
        of.filter(|of| matches!(of.as_str(), "Module" | "map") && shown.len() > 1)
            .and_then(|of| of_part(bare, of, shown.len()))
    };
    let nothing = || shown.iter().any(|of| of == "()").then(|| NOTHING.to_owned());
    let named = || match name.rsplit_once("::") {
        // In a module, what the module has.
        Some((space, _)) => {
            let within = |way: &String| way.rsplit_once("::").is_some_and(|(of, _)| of == space);
            let here = |known_as: &&str| (known.written)(known_as).iter().any(within);
            suggestion(bare, &known.names.iter().copied().filter(here).collect::<Vec<_>>())
        }
        None => suggestion(bare, known.names),
    };
    let array = || of_array(bare, &shown, &[]);
    let hint = of_step(bare, &shown).or(near).or_else(array).or_else(part).or_else(named).or_else(nothing);
    Fault::bare("NameError", text, hint)
}

/// Rhai names a property and a type, each in quotes: `Unknown property 'ad' - a getter is not registered for type
/// 'Tensor'`.
fn unknown_property(text: &str, known: &KnownNames) -> Fault {
    let mut quoted = text.split('\'').skip(1).step_by(2);
    let (Some(name), Some(of)) = (quoted.next(), quoted.next()) else {
        return Fault::bare("TypeError", text.into(), None);
    };
    let of = words(of);
    let members = (known.members)(&of);
    if members.contains(&name) && text.starts_with("No writable") {
        let given = quoted.next().map(|given| format!(" to {}", words(given))).unwrap_or_default();
        return Fault::bare("TypeError", format!("'{name}' of a '{of}' object can't be set{given}"), None);
    }
    let hint = match members.contains(&name) {
        true => Some(format!("it is a function: `.{name}(…)` calls it")),
        false if of == "Optimizer" && is_option(name) => Some(
            "options are those of groups: `opt.param_groups[0].lr`, and printing the optimiser tells all"
                .into(),
        ),
        false if of == "()" => Some(NOTHING.into()),
        false => suggestion(name, &members)
            .or_else(|| of_array(name, std::slice::from_ref(&of), &(known.members)("Tensor"))),
    };
    Fault::bare("TypeError", format!("'{of}' object has no attribute '{name}'"), hint)
}

fn suggestion(name: &str, names: &[&str]) -> Option<String> {
    did_you_mean(name, names.iter().copied())
}

/// A Rhai type name in a learner's words.
fn words(name: &str) -> String {
    let short = name.trim().rsplit("::").next().unwrap_or(name);
    match short {
        "Dynamic>>" => "a value that a closure holds".into(),
        // Rhai's word for all that a text can be.
        all if all.contains(" | ") && all.contains("String") => "string".into(),
        "i64" => "int".into(),
        "f64" => "float".into(),
        "ImmutableString" | "&str" | "String" => "string".into(),
        other => other.to_string(),
    }
}

/// A very long source line, cut to what a report can show around the column.
fn shortened(line: &str, column: Option<u32>) -> String {
    const WIDTH: usize = 160;
    let line = line.replace('\t', " ");
    if line.chars().count() <= WIDTH || column.is_some_and(|c| c as usize > WIDTH - 4) {
        return line.chars().take(4096).collect();
    }
    line.chars().take(WIDTH).chain(" …".chars()).collect()
}

/// A value that was thrown, as it is shown.
pub(super) fn shown(value: &Dynamic) -> String {
    let within = |value: &Dynamic| if value.is_string() { format!("{value:?}") } else { shown(value) };
    if let Some(tensor) = value.read_lock::<Tensor>() {
        return display(&tensor).unwrap_or_else(|error| error.to_string());
    }
    if let Some(items) = value.read_lock::<Array>() {
        return format!("[{}]", items.iter().map(within).collect::<Vec<_>>().join(", "));
    }
    if let Some(map) = value.read_lock::<Map>() {
        let fields: Vec<String> =
            map.iter().map(|(key, value)| format!("{key:?}: {}", within(value))).collect();
        return format!("#{{{}}}", fields.join(", "));
    }
    value.to_string()
}

/// A plain copy of an error, good enough to be printed.
trait ClonePlain {
    fn clone_plain(&self) -> EvalAltResult;
}

impl ClonePlain for EvalAltResult {
    fn clone_plain(&self) -> EvalAltResult {
        EvalAltResult::ErrorRuntime(self.to_string().into(), Position::NONE)
    }
}

/// The class of a caught value, as `e.kind`.
pub(crate) fn kind_of(error: &Error) -> String {
    match error.kind() {
        Kind::Interrupted => "KeyboardInterrupt".into(),
        kind => kind.to_string(),
    }
}

/// Levels of a value.
pub(crate) const DEEPEST: usize = 256;

/// Arrays and maps in one value. To copy so many takes a few hundredths of a second.
pub(crate) const MOST: usize = 1 << 18;

/// How an error begins that a map has no field, of which the name and a quote follow.
pub(crate) const NO_FIELD: &str = "the map has no field '";

/// What an error calls a value that is nested too deeply.
pub(crate) const TOO_DEEP: &str = "arrays, maps and closures in each other";

/// What an error calls a value that holds too many others.
pub(crate) const TOO_MANY: &str = "the number of arrays and maps in one value";
