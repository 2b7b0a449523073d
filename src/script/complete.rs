//! Names that could stand at a place in some code, and the call that the place is in. Nothing is evaluated: the table
//! of all that a script can call and the names that the caller knows of are all that is asked.

use std::ops::Range;

use crate::base::sorted;
use crate::op::args::signature;
use crate::op::{Family, Form, OpDef, ParamKind, Receiver};

use super::common;
use super::help::rows;
use super::lexer::{self, Call};
use super::spaces::ROWS as SPACES;

/// How well a name fits that has the letters in their order, with others between them.
const APART: u32 = 3;

/// At most this many are given.
const MOST: usize = 200;

/// A variable that is there, or by its path a part of one, such as `net.weight`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Known {
    pub name: String,
    /// As `type_of` has it; empty where it is not known.
    pub type_name: String,
    /// A line about its value.
    pub summary: String,
}

/// A name that fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    pub text: String,
    /// How it is called, or what it holds.
    pub signature: String,
    pub summary: String,
    /// What the help has a page on; empty where there is none.
    pub help: String,
}

/// How a call is written, with the parameter that is due.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    pub text: String,
    /// Bytes of `text`.
    pub due: Option<Range<usize>>,
}

/// What comes first of what fits equally well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ranking {
    /// Variables, and then functions.
    VariablesFirst,
    /// What tensors have: of whatever stands before the point nothing is known.
    TensorsFirst,
    /// What is written most.
    Common,
}

/// What may stand at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CompletionPlace<'c> {
    /// After a point; the name before it, or the way to a part of it, such as `net.fc`.
    Member(Option<&'c str>),
    /// After `::`.
    Inside(&'c str),
    Anything,
}

/// Names for what is typed before byte `cursor`, the best first, and the byte where the typed part begins.
pub fn complete(known: &[Known], code: &str, cursor: usize) -> (usize, Vec<Candidate>) {
    let before = code.get(..cursor).unwrap_or(code);
    let typed: usize = before.chars().rev().take_while(|c| is_name(*c)).map(char::len_utf8).sum();
    let start = before.len() - typed;
    let prefix = before.get(start..).unwrap_or_default();
    let head = before.get(..start).unwrap_or_default();
    let end = lexer::open(before);
    if end.comment
        || end.string && !end.code
        || end.line_comment
        || prefix.starts_with(|c: char| c.is_ascii_digit())
    {
        return (start, Vec::new());
    }
    let mut all = Vec::new();
    let here = place(head);
    let mut order = Ranking::Common;
    // So many of the first are parts of the value's own.
    let mut own = 0;
    match here {
        CompletionPlace::Member(receiver) => {
            let made = |name| type_of(known, name).or_else(|| common::bound_type(head, name));
            let made = receiver.and_then(made);
            all.extend(receiver.into_iter().flat_map(|name| parts(known, name)));
            own = all.len();
            if made.is_none() {
                order = Ranking::TensorsFirst;
            }
            members(&mut all, made)
        }
        CompletionPlace::Inside(space) => inside(&mut all, space),
        CompletionPlace::Anything => {
            let call = lexer::call_at(before, before.len()).filter(|call| call.options);
            match call.filter(|_| at_option(head)) {
                Some(call) => options(&mut all, &call, before),
                None => anything(&mut all, known, code),
            }
        }
    }
    if here == CompletionPlace::Anything {
        order = Ranking::VariablesFirst;
    }
    let fitting = ranked(all, prefix, (order, own));
    // Letters that stand apart are a weaker sign than the beginning of a name in some module.
    if here == CompletionPlace::Anything
        && !prefix.is_empty()
        && fitting.iter().all(|found| fit(&found.text, prefix) == Some(APART))
    {
        let found = elsewhere(prefix);
        return (start, if found.is_empty() { fitting } else { found });
    }
    (start, fitting)
}

/// The call that a byte of the code is in, as it is written.
pub fn hint(code: &str, at: usize) -> Option<Hint> {
    let call = lexer::call_at(code, at)?;
    let owner = owner(code, &call);
    let def = row_of(&call, owner)?;
    let text = signature(def);
    let due = if call.options { option(def, code, at) } else { due(def, &call) };
    let due = due.and_then(|due| {
        let open = text.find('(')?;
        let at = text.get(open..)?.match_indices(due).map(|(i, _)| i + open).find(|i| {
            let after = text.get(i + due.len()..).and_then(|rest| rest.chars().next());
            let before = text.get(..*i).and_then(|rest| rest.chars().next_back());
            matches!(before, Some('(' | ' ')) && matches!(after, Some(',' | ')' | ' ' | '…'))
        })?;
        Some(at..at + due.len())
    });
    Some(Hint { text, due })
}

/// How well a name fits what was typed: 0 best; `None` where it does not.
pub fn fit(name: &str, typed: &str) -> Option<u32> {
    let (low, wanted) = (name.to_lowercase(), typed.to_lowercase());
    if name.starts_with(typed) {
        Some(0)
    } else if low.starts_with(&wanted) {
        Some(1)
    } else if low.contains(&wanted) {
        Some(2)
    } else {
        let mut rest = low.chars();
        wanted.chars().all(|c| rest.any(|other| other == c)).then_some(APART)
    }
}

/// The name, or the way to a part of a value, whose members are asked for at the end of some code.
pub(crate) fn path_at(code: &str) -> Option<&str> {
    match place(code.trim_end_matches(is_name)) {
        CompletionPlace::Member(path) => path,
        _ => None,
    }
}

/// What a value has under names, as far as that is known.
fn parts<'k>(known: &'k [Known], path: &str) -> impl Iterator<Item = Candidate> + 'k {
    let start = format!("{path}.");
    known.iter().filter_map(move |part| {
        let name = part.name.strip_prefix(&start)?;
        Some(bare(name, &part.type_name, &part.summary))
    })
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The parameter whose name has been written at a place within `#{…}`.
fn option(def: &'static OpDef, code: &str, at: usize) -> Option<&'static str> {
    let written = code.get(..at)?.rsplit([',', '{']).next()?;
    let (name, _) = written.split_once(':')?;
    def.params.iter().map(|param| param.name).find(|param| *param == name.trim())
}

/// The parameter that the next argument is for.
fn due(def: &'static OpDef, call: &Call) -> Option<&'static str> {
    let at = match (call.method, def.receiver) {
        (true, Receiver::None) if is_method(def) => call.argument + 1,
        (true, _) | (false, Receiver::None) => call.argument,
        // A method that is called as a function: what it is called on comes first.
        (false, _) => call.argument.checked_sub(1)?,
    };
    def.params.get(at).or_else(|| def.params.last().filter(|p| p.kind == ParamKind::Rest)).map(|p| p.name)
}

fn place(head: &str) -> CompletionPlace<'_> {
    if let Some(before) = head.strip_suffix("::") {
        let space: usize =
            before.chars().rev().take_while(|c| is_name(*c) || *c == ':').map(char::len_utf8).sum();
        return CompletionPlace::Inside(before.get(before.len() - space..).unwrap_or_default());
    }
    let before = head.trim_end();
    match before.strip_suffix('.').filter(|rest| !rest.ends_with('.')) {
        Some(rest) => {
            let is_way = |c: &char| is_name(*c) || matches!(c, '.' | '[' | ']');
            let length: usize = rest.chars().rev().take_while(is_way).map(char::len_utf8).sum();
            let path = rest.get(rest.len() - length..).unwrap_or_default();
            // A bracket that is still open, and the beginning of a range, are not the value's.
            let mut closed = 0usize;
            let open = path.bytes().enumerate().rev().find(|(_, byte)| match byte {
                b']' => {
                    closed += 1;
                    false
                }
                b'[' if closed == 0 => true,
                b'[' => {
                    closed -= 1;
                    false
                }
                _ => false,
            });
            let open = open.map(|(at, _)| at);
            let path = path.get(open.map_or(0, |at| at + 1)..).unwrap_or_default();
            let path = path.rsplit("..").next().unwrap_or_default();
            CompletionPlace::Member(Some(path).filter(|path| path.starts_with(|c: char| is_name(c))))
        }
        None => CompletionPlace::Anything,
    }
}

/// An option's name, not its value, is due.
fn at_option(head: &str) -> bool {
    head.trim_end().ends_with(['{', ','])
}

fn type_of<'k>(known: &'k [Known], name: &str) -> Option<&'k str> {
    known.iter().find(|k| k.name == name).map(|k| k.type_name.as_str()).filter(|t| !t.is_empty())
}

fn of_row(def: &'static OpDef) -> Candidate {
    let space = def.forms.iter().find_map(|form| match form {
        Form::Of(space) | Form::ValueOf(space) | Form::Space(space) if !space.is_empty() => {
            Some(format!("{space}::"))
        }
        Form::Method | Form::Property if !matches!(def.receiver, Receiver::None | Receiver::Tensor) => {
            Some(format!("{}.", def.receiver.variable()))
        }
        _ => None,
    });
    Candidate {
        text: def.name.into(),
        signature: signature(def),
        summary: def.summary.into(),
        help: format!("{}{}", space.unwrap_or_default(), def.name),
    }
}

fn bare(text: &str, signature: &str, summary: &str) -> Candidate {
    Candidate { text: text.into(), signature: signature.into(), summary: summary.into(), help: String::new() }
}

fn is_method(def: &OpDef) -> bool {
    def.forms.iter().any(|form| matches!(form, Form::Method | Form::Property))
}

/// What methods values of a type have, by the name that `type_of` gives; none where that is not known.
fn receiver_of(type_name: &str) -> Option<Receiver> {
    let plain = match type_name {
        "int" | "i64" | "float" | "f64" => Some(Receiver::Number),
        "Fn" => Some(Receiver::Closure),
        other if other.starts_with("range") => Some(Receiver::Span),
        _ => None,
    };
    let own = || Receiver::ALL.iter().copied().find(|r| r.type_name() == type_name);
    // A layer, an optimiser or a schedule says which one it is.
    let class = || {
        rows().filter(|def| def.name == type_name).flat_map(|def| def.forms).find_map(|form| match form {
            Form::Of("optim") => Some(Receiver::Optimizer),
            Form::Of("optim::lr_scheduler") => Some(Receiver::Scheduler),
            Form::Of("nn") => Some(Receiver::Module),
            _ => None,
        })
    };
    plain.or_else(own).or_else(class)
}

fn members(all: &mut Vec<Candidate>, type_name: Option<&str>) {
    let receiver = type_name.map(receiver_of);
    let is_of = |def: &&'static OpDef| match (receiver, def.receiver) {
        (None, _) | (Some(Some(Receiver::Tensor)), Receiver::None) => true,
        (Some(Some(wanted)), own) => own == wanted,
        // A module of one's own has a name of its own.
        (Some(None), own) => own == Receiver::Module,
    };
    all.extend(rows().filter(|def| is_method(def)).filter(is_of).map(of_row));
}

fn inside(all: &mut Vec<Candidate>, space: &str) {
    let here = |form: &Form| match form {
        Form::Of(s) | Form::ValueOf(s) | Form::Space(s) => *s == space,
        Form::Functional => space == "F",
        _ => false,
    };
    all.extend(rows().filter(|def| def.forms.iter().any(here)).map(of_row));
}

/// Names of modules that begin so, for who left the module out: `F::leaky_relu` for `leaky`.
fn elsewhere(typed: &str) -> Vec<Candidate> {
    let mut all = Vec::new();
    for space in spaces() {
        let mut found = Vec::new();
        inside(&mut found, &space);
        found.retain(|candidate| candidate.text.starts_with(typed));
        all.extend(found.into_iter().map(|c| Candidate { text: format!("{space}::{}", c.text), ..c }));
    }
    let mut seen = std::collections::HashSet::new();
    all.retain(|candidate| seen.insert(candidate.text.clone()));
    all.truncate(MOST);
    all
}

/// Every module, such as `nn` and `nn::init`.
fn spaces() -> impl Iterator<Item = String> {
    SPACES.iter().flat_map(|def| def.forms.iter().map(|form| (form, def.name))).filter_map(|(form, name)| {
        match form {
            Form::Space("") => Some(name.to_owned()),
            Form::Space(around) => Some(format!("{around}::{name}")),
            _ => None,
        }
    })
}

fn options(all: &mut Vec<Candidate>, call: &Call, code: &str) {
    let Some(def) = row_of(call, owner(code, call)) else { return };
    let own = usize::from(is_method(def) && def.receiver == Receiver::None);
    for param in def.params.iter().skip(own).filter(|param| param.default.is_some()) {
        let what = match param.what {
            "" => format!("{:?}", param.kind).to_lowercase(),
            what => what.to_string(),
        };
        all.push(bare(param.name, &signature(def), &what));
    }
}

/// The name that a method is called on, or nothing.
fn owner<'c>(code: &'c str, call: &Call) -> &'c str {
    let before =
        code.get(..call.start).and_then(|head| head.trim_end().strip_suffix('.')).filter(|_| call.method);
    let before = before.unwrap_or_default();
    before.rsplit(|c| !is_name(c)).next().unwrap_or_default()
}

/// The row that a call is of: the module's where it names one, and of several methods the one of values that
/// documentation calls as `owner` is called.
fn row_of(call: &Call, owner: &str) -> Option<&'static OpDef> {
    let (space, name) = call.name.rsplit_once("::").unwrap_or(("", &call.name));
    let fits = |form: &Form| match form {
        Form::Of(s) => *s == space,
        Form::Functional => space == "F",
        Form::Method | Form::Property => call.method,
        Form::Function => !call.method && space.is_empty(),
        Form::Operator(_)
        | Form::With(_)
        | Form::Constant
        | Form::ValueOf(_)
        | Form::Word
        | Form::Space(_) => false,
    };
    let fitting = || rows().filter(|def| def.name == name && def.forms.iter().any(fits));
    fitting().find(|def| call.method && def.receiver.variable() == owner).or_else(|| fitting().next())
}

fn anything(all: &mut Vec<Candidate>, known: &[Known], code: &str) {
    for Known { name, type_name, summary } in known.iter().filter(|known| !known.name.contains('.')) {
        all.push(bare(name, type_name, summary));
    }
    let more = lexer::bound(code).into_iter().filter(|name| !known.iter().any(|k| k.name == *name));
    all.extend(more.map(|name| bare(&name, "", "bound in this cell")));
    all.extend(rows().filter(|def| def.forms.contains(&Form::Function)).map(of_row));
    all.extend(rows().filter(|def| def.forms.contains(&Form::Space(""))).map(of_row));
    all.extend(rows().filter(|def| matches!(def.forms, [Form::Constant | Form::Word])).map(of_row));
}

/// What fits what was typed, the best first; of a name only the first. `own` of them are a value's own parts.
fn ranked(all: Vec<Candidate>, typed: &str, (order, own): (Ranking, usize)) -> Vec<Candidate> {
    let mut fitting: Vec<(u32, usize, Candidate)> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for (i, candidate) in all.into_iter().enumerate() {
        if let Some(rank) = fit(&candidate.text, typed).filter(|_| seen.insert(candidate.text.clone())) {
            fitting.push((rank, i, candidate));
        }
    }
    // What neither tensors have nor stands alone comes behind what does.
    let plain = |def: &&'static OpDef| {
        let here = order == Ranking::VariablesFirst || is_method(def);
        here && matches!(def.receiver, Receiver::None | Receiver::Tensor) && def.family != Family::Language
    };
    let early: std::collections::HashSet<&str> = rows().filter(plain).map(|def| def.name).collect();
    // What is written most comes before the rest of the alphabet.
    let place = |c: &Candidate, i: usize| {
        let (common, late) = (common::place(&c.text), usize::from(!early.contains(c.text.as_str())));
        match (c.help.is_empty(), order) {
            _ if i < own => (0, i, 0),
            (true, Ranking::VariablesFirst) => (0, i, 0),
            (true, _) => (2, 0, 0),
            (false, Ranking::TensorsFirst) => (1, late, common),
            (false, Ranking::VariablesFirst) => (1, common, late),
            (false, Ranking::Common) => (1, common, 0),
        }
    };
    // Letters that stand apart count only where nothing fits better.
    if fitting.iter().any(|(rank, ..)| *rank < APART) {
        fitting.retain(|(rank, ..)| *rank < APART);
    }
    // Each place is looked up once: the editor waits half a second at most.
    let placed = fitting.into_iter().map(|(rank, i, candidate)| ((rank, place(&candidate, i)), candidate));
    let mut placed: Vec<_> = placed.collect();
    sorted::sort_by(&mut placed, |a, b| a.0.cmp(&b.0).then_with(|| a.1.text.cmp(&b.1.text)));
    placed.into_iter().take(MOST).map(|(.., candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(known: &[Known], code: &str) -> Vec<String> {
        complete(known, code, code.len()).1.into_iter().map(|c| c.text).collect()
    }

    fn known(name: &str, type_name: &str) -> Known {
        Known { name: name.into(), type_name: type_name.into(), summary: "s".into() }
    }

    #[test]
    fn names_are_offered_in_code_within_a_text_and_not_in_the_text() {
        let first = |code: &str| texts(&[], code).into_iter().next();
        assert_eq!(first("`v ${cuda::get_device_na").as_deref(), Some("get_device_name"));
        assert_eq!(first("print(`${1} ${zer").as_deref(), Some("zeros"));
        for code in ["`v ${1} zer", "`v zer", "\"zer", "`v ${\"zer"] {
            assert_eq!(first(code), None, "{code}");
        }
    }

    #[test]
    fn variables_come_before_functions_and_prefixes_before_the_rest() {
        let found = texts(&[known("rate", "float")], "let x = ra");
        assert_eq!(found.first().map(String::as_str), Some("rate"));
        let at =
            |name: &str| found.iter().position(|f| f == name).unwrap_or_else(|| panic!("{name}: {found:?}"));
        assert!(at("rand") < at("arange"), "{found:?}");
        assert!(texts(&[], "let counter = 1; coun").contains(&"counter".into()));
    }

    #[test]
    fn members_depend_on_what_is_known_of_the_value() {
        let scope = [known("t", "Tensor"), known("a", "array")];
        assert!(texts(&scope, "t.su").contains(&"sum".into()));
        assert!(!texts(&scope, "a.su").contains(&"sum".into()));
        assert!(texts(&scope, "a.pu").contains(&"push".into()));
        assert!(texts(&scope, "f(1).su").contains(&"sum".into()));
        assert!(texts(&scope, "1..").len() > 50, "a range's end is no member");
    }

    #[test]
    fn parts_of_a_value_come_first() {
        let scope = [
            known("m", "Module"),
            known("m.weight", "Tensor"),
            known("m.fc", "Module"),
            known("d", "map"),
            known("d.keyed", "int"),
        ];
        assert_eq!(texts(&scope, "m.we"), ["weight"]);
        assert_eq!(texts(&scope, "m.").get(..2).unwrap_or_default(), ["weight", "fc"]);
        assert_eq!(texts(&scope, "f(d.ke").first().map(String::as_str), Some("keyed"));
        assert!(texts(&scope, "let y = m.weight.gr").contains(&"grad".into()));
        assert!(!texts(&scope, "m.fc.").contains(&"matmul".into()));
        assert!(!texts(&scope, "m").contains(&"m.weight".into()));
        for (code, way) in [
            ("a + m.w", "m"),
            ("f(xs[0].fc.", "xs[0].fc"),
            ("xs[m.w", "m"),
            ("xs[ys[0].", "ys[0]"),
            ("0..n.", "n"),
        ] {
            assert_eq!(path_at(code), Some(way), "{code}");
        }
        assert_eq!((path_at("f(1).w"), path_at("m")), (None, None));
    }

    #[test]
    fn what_is_written_most_comes_first() {
        let found = texts(&[], "let x = ra");
        assert_eq!(found.get(..3).unwrap_or_default(), ["rand", "randn", "range"], "{found:?}");
        assert!(found.iter().any(|name| name == "rad2deg"));
        let tensor = texts(&[known("x", "Tensor")], "x.");
        assert_eq!(tensor.get(..3).unwrap_or_default(), ["shape", "device", "dtype"], "{tensor:?}");
        assert!(!tensor.iter().any(|name| name == "add_module"), "{tensor:?}");
        let unknown = texts(&[], "f(x).");
        assert_eq!(unknown.first().map(String::as_str), Some("shape"), "{unknown:?}");
    }

    #[test]
    fn members_are_those_of_what_the_cell_binds() {
        let net = texts(&[], "let net = nn::Linear(3, 2);\nnet.");
        assert!(net.iter().any(|name| name == "add_module"), "{net:?}");
        assert!(!net.iter().any(|name| name == "matmul"), "{net:?}");
        assert_eq!(net.get(..2).map(|names| names.contains(&"forward".to_owned())), Some(true), "{net:?}");
        let x = texts(&[], "let x = rand(3).cuda();\nx.");
        assert!(x.iter().any(|name| name == "matmul") && !x.iter().any(|name| name == "add_module"), "{x:?}");
        let sgd = texts(&[], "let opt = optim::SGD(p, #{lr: 0.1});\nopt.");
        assert_eq!(sgd.first().map(String::as_str), Some("step"), "{sgd:?}");
    }

    #[test]
    fn modules_and_options_have_their_own() {
        let inside = texts(&[], "nn::Lin");
        assert_eq!(inside.first().map(String::as_str), Some("Linear"));
        assert!(
            texts(&[], "F::re").contains(&"relu".into()) && !texts(&[], "F::re").contains(&"reshape".into())
        );
        assert!(texts(&[], "optim::lr_scheduler::St").contains(&"StepLR".into()));
        assert!(texts(&[], "cuda::syn").contains(&"synchronize".into()));
        let options = texts(&[], "optim::SGD(p, #{mo");
        assert_eq!(options.first().map(String::as_str), Some("momentum"));
        assert!(!texts(&[], "optim::SGD(p, #{lr: le").contains(&"lr".into()), "a value is no option");
        assert_eq!(texts(&[], "leaky_relu"), ["F::leaky_relu"]);
        assert_eq!(texts(&[], "StepL"), ["optim::lr_scheduler::StepLR"]);
        assert!(texts(&[], "\"su").is_empty() && texts(&[], "// su").is_empty());
    }

    #[test]
    fn a_call_shows_the_parameter_that_is_due() {
        let due = |code: &str| {
            let hint = hint(code, code.len()).unwrap();
            hint.due.map(|range| hint.text[range].to_owned()).unwrap_or_default()
        };
        assert_eq!(due("nn::Linear(3, "), "out_features");
        assert_eq!(due("x.sum("), "dim");
        assert_eq!(hint("let x = 1", 9), None);
        assert!(hint("opt.step(", 9).unwrap().text.contains("opt.step"));
    }

    #[test]
    fn names_fit_by_their_letters_in_order() {
        assert_eq!(fit("matmul", "mat"), Some(0));
        assert_eq!(fit("Linear", "li"), Some(1));
        assert_eq!(fit("arange", "ran"), Some(2));
        assert_eq!(fit("matmul", "mml"), Some(3));
        assert_eq!(fit("matmul", "lm"), None);
    }
}
