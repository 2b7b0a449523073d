//! Rules that a lesson keeps beyond its syntax, as far as they show without running it.

use std::collections::BTreeSet;

use rhai::{Engine, Token};

use crate::base::text::anchor;
use crate::base::{Kind, near};
use crate::lesson::errors::Errors;
use crate::script::examine::is_of_language;
use crate::script::lexer::{bound, names, tokens};
use crate::script::modules::{checks, run_events};
use crate::script::parse::Parser;

use super::error::LessonError;
use super::format::{Code, Element, Exercise, Front, Lesson, Link, Predict, Quiz, Step};
use super::markdown::Block;
use super::quantity::Unit;
use super::{markdown, places, strays, text};

/// Checks a lesson that parses: prerequisites and devices have the right form, every exercise has hints,
/// wrong answers for reasons of their own, and a check that can fail, every quiz has a choice to get
/// wrong, checks and answers use only what `events` has, links lead where a pack may lead.
///
/// Gives all faults in the order of the file. That targets exist is for whoever has the pack's folder.
pub fn lint(lesson: &Lesson) -> Vec<LessonError> {
    let mut errors = Errors::new(&lesson.source);
    front(&lesson.front, &mut errors);
    let lexer = Engine::new_raw();
    let given = strays::given(lesson);
    for step in &lesson.steps {
        places::lint(&lesson.front, step, &mut errors);
        match &step.element {
            Some(Element::Exercise(exercise)) => {
                self::exercise(step, exercise, &lexer, &mut errors);
                for check in &exercise.checks {
                    strange(&check.code, &given, &mut errors);
                    expectations(&check.code, &given, &lexer, &mut errors);
                }
            }
            Some(Element::Quiz(quiz)) => self::quiz(step, quiz, &mut errors),
            Some(Element::Predict(predict)) => self::predict(predict, &lexer, &mut errors),
            Some(Element::Run(_)) => {}
            None => loose_setup(step, &mut errors),
        }
    }
    let anchors = anchors(lesson);
    lesson.links.iter().for_each(|link| self::link(link, &anchors, &mut errors));
    for &line in &lesson.html_lines {
        let hint = "write it in Markdown; comments are fine";
        errors.at(line, 1, "HTML is not drawn in a terminal", hint);
    }
    errors.into_sorted()
}

fn front(front: &Front, errors: &mut Errors<'_>) {
    let mut seen = BTreeSet::new();
    let (line, column) = front.place("prerequisites");
    for name in &front.prerequisites {
        let fault = match name.split('/').collect::<Vec<_>>().as_slice() {
            [id] if *id == front.id => Some("a lesson can't come before itself"),
            [id] if text::is_id(id) => None,
            [pack, id] if text::is_id(pack) && text::is_id(id) => None,
            _ => Some("a prerequisite is a lesson's id, or pack/id"),
        };
        if let Some(why) = fault {
            let message = format!("`{name}` can't be a prerequisite");
            errors.at(line, column, message, why);
        }
        if !seen.insert(name) {
            let message = format!("the prerequisite `{name}` is named twice");
            errors.at(line, column, message, "keep one of them");
        }
    }
    let (line, column) = front.place("devices");
    if front.devices.is_empty() {
        let hint = "name at least one, such as \"sim:t4x2\": the lesson is checked on each";
        errors.at(line, column, "the lesson names no devices", hint);
    }
    for (place, set) in front.devices.iter().enumerate() {
        if let Some((message, hint)) = places::fault(set) {
            errors.at(line, column, message, hint);
        }
        if front.devices.iter().take(place).any(|other| other == set) {
            errors.at(line, column, format!("the devices `{set}` are named twice"), "keep one of them");
        }
    }
    places::lint_needs(front, errors);
    if front.concepts.is_empty() {
        let (line, column) = front.place("concepts");
        let hint = "name what is to be learned";
        errors.at(line, column, "the lesson names no concept", hint);
    }
}

fn exercise(step: &Step, exercise: &Exercise, lexer: &Engine, errors: &mut Errors<'_>) {
    let id = &step.id;
    if exercise.hints.is_empty() {
        let message = format!("the exercise `{id}` has no hint");
        errors.at(step.line, 1, message, "add a ```hint block, the gentlest first");
    }
    if exercise.wrong.is_empty() {
        let message = format!("the exercise `{id}` has no wrong answer");
        let hint = "add a ```rhai wrong because=\"…\" block: it shows that the check can fail";
        errors.at(step.line, 1, message, hint);
    }
    let solution = bare(&exercise.solution);
    if bare(&exercise.starter) == solution {
        let message = format!("the starter of `{id}` is its solution");
        let hint = "leave something to do";
        errors.at(exercise.solution.line, 1, message, hint);
    }
    let mut told = BTreeSet::from([solution.clone()]);
    for other in &exercise.others {
        if !told.insert(bare(other)) {
            let message = format!("a solution of `{id}` stands there twice");
            errors.at(other.line, 1, message, "write another way to do it, or remove it");
        }
    }
    for placed in &exercise.checks {
        check(id, &placed.code, &exercise.solution, lexer, errors);
    }
    let mut reasons = BTreeSet::new();
    for wrong in &exercise.wrong {
        if bare(&wrong.code) == solution {
            let hint = "change it, or remove it";
            errors.at(wrong.code.line, 1, "this wrong answer is the solution", hint);
        }
        if !reasons.insert(wrong.because.trim().to_lowercase()) {
            let message = format!("another wrong answer fails because of `{}` too", wrong.because);
            let hint = "every wrong answer fails for a reason of its own";
            errors.at(wrong.code.line, 1, message, hint);
        }
    }
}

fn check(id: &str, check: &Code, solution: &Code, lexer: &Engine, errors: &mut Errors<'_>) {
    let asked = names(&check.text);
    for name in bound(&solution.text).iter().filter(|name| asked.contains(*name)) {
        if is_of_language(name) {
            let message =
                format!("the check of `{id}` asks for `{name}`, which is a constant of the language");
            let hint = "give it another name: a check sees the language's value, never the learner's";
            errors.at(check.line, 1, message, hint);
        }
    }
    let parses = parses(check, 0, errors);
    if parses && !expects_something(check, lexer) {
        let message = format!("the check of `{id}` can't fail");
        let hint = format!("use one of {}", checks::expectations().collect::<Vec<_>>().join(", "));
        errors.at(check.line, 1, message, hint);
    }
    events(check, 0, lexer, errors);
}

/// Reports expectations that there are not, and kinds of errors that there are not: the check would be at fault for
/// every answer, or fail with every one.
fn expectations(check: &Code, given: &BTreeSet<String>, lexer: &Engine, errors: &mut Errors<'_>) {
    let known: Vec<&str> = checks::expectations().collect();
    let own = bound(&check.text);
    let all = tokens(lexer, &check.text);
    for (at, (token, position)) in all.iter().enumerate() {
        let Token::Identifier(name) = token else { continue };
        let name = name.as_str();
        let mut after = all.iter().skip(at + 1);
        let is_call = after.next().is_some_and(|(token, _)| *token == Token::LeftParen);
        let place = |(line, column): (Option<usize>, Option<usize>)| {
            (check.file_line(line.unwrap_or(1)), column.unwrap_or(1))
        };
        let is_theirs = given.contains(name) || own.iter().any(|own| own == name);
        if is_call && name.starts_with("expect_") && !known.contains(&name) && !is_theirs {
            let (line, column) = place((position.line(), position.position()));
            let hint = near::suggestion(name, &known, "a check has");
            errors.at(line, column, format!("there is no expectation `{name}`"), hint);
        }
        if let Some((Token::StringConstant(kind), position)) = after.next()
            && is_call
            && name == "expect_error"
            && Kind::named(kind).is_none()
        {
            let (line, column) = place((position.line(), position.position()));
            let kinds = Kind::names();
            let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
            let hint = near::suggestion(kind, &kinds, "the kinds are");
            errors.at(line, column, format!("there is no kind of error `{kind}`"), hint);
        }
    }
}

/// Reports names of a check that nothing gives it.
fn strange(check: &Code, given: &BTreeSet<String>, errors: &mut Errors<'_>) {
    for stray in strays::of_check(check, given) {
        let message = format!("nothing in the lesson defines `{}`, which the check reads", stray.name);
        let hint = near::did_you_mean(&stray.name, given.iter().map(String::as_str));
        let hint = hint.unwrap_or_else(|| "a solution, a starter or the code before it has to".into());
        errors.at(stray.line, stray.column, message, hint);
    }
}

fn quiz(step: &Step, quiz: &Quiz, errors: &mut Errors<'_>) {
    if quiz.choices.iter().all(|choice| choice.correct) {
        let message = format!("no choice of the quiz `{}` is wrong", step.id);
        let hint = "add a choice that is a mistake people make, and explain it";
        errors.at(step.line, 1, message, hint);
    }
    let mut seen = BTreeSet::new();
    for choice in &quiz.choices {
        if !seen.insert(markdown::plain(&choice.text)) {
            errors.at(choice.line, 1, "this choice is there twice", "change it, or remove it");
        }
    }
}

fn predict(predict: &Predict, lexer: &Engine, errors: &mut Errors<'_>) {
    let source = errors.source.line(predict.answer.line);
    let text = predict.answer.text.lines().next().unwrap_or_default();
    let before = source.find(text).and_then(|at| source.get(..at));
    let shift = before.map_or(0, |before| before.chars().count());
    parses(&predict.answer, shift, errors);
    unit(predict, shift, lexer, errors);
    events(&predict.answer, shift, lexer, errors);
}

/// Reports an answer that counts bytes where the question asks for MiB and the like: nothing converts it.
fn unit(predict: &Predict, shift: usize, lexer: &Engine, errors: &mut Errors<'_>) {
    let per = predict.unit.convert(1.0, Unit::Bytes).unwrap_or(1.0);
    if per == 1.0 {
        return;
    }
    let all = tokens(lexer, &predict.answer.text);
    // What is computed or handed on may be converted there.
    let computes = |token: &Token| {
        let ends = matches!(
            token,
            Token::Identifier(_) | Token::Period | Token::Plus | Token::Minus | Token::DoubleColon
        );
        !ends
            && !matches!(
                token,
                Token::IntegerConstant(_)
                    | Token::StringConstant(_)
                    | Token::LeftBracket
                    | Token::RightBracket
                    | Token::Unit
            )
    };
    let mut after_point = false;
    for (token, position) in all.iter().take_while(|_| !all.iter().any(|(token, _)| computes(token))) {
        if let Token::Identifier(name) = token
            && (COUNTS_BYTES.contains(&name.as_str()) || after_point && name.as_str() == "bytes")
        {
            let line = position.line().unwrap_or(1);
            let column = position.position().unwrap_or(1) + if line == 1 { shift } else { 0 };
            let (name, unit) = (name.as_str(), predict.unit);
            let message = format!("`{name}` counts bytes, and the question asks for {unit}");
            let hint = format!("divide the answer by {per:.1}, or write unit = \"bytes\"");
            errors.at(predict.answer.file_line(line), column, message, hint);
            return;
        }
        after_point = *token == Token::Period;
    }
}

/// What gives a number of bytes, beside the field of that name.
const COUNTS_BYTES: [&str; 9] = [
    "peak_bytes",
    "reserved_bytes",
    "leaked_bytes",
    "memory_allocated",
    "max_memory_allocated",
    "memory_reserved",
    "max_memory_reserved",
    "memory_used",
    "nbytes",
];

/// Reports code of the lesson's own that is no code; whether it is. `shift` characters stand before its first line in the
/// file.
fn parses(code: &Code, shift: usize, errors: &mut Errors<'_>) -> bool {
    let Err(error) = Parser::of_checks().tree(&code.text) else { return true };
    // What is missing at the end is missing in the last line.
    let end = code.text.trim_end().lines().enumerate().last();
    let end = end.map_or((1, 1), |(i, last)| (i + 1, last.chars().count() + 1));
    let place = error.position().line().map(|line| (line, error.position().position().unwrap_or(1)));
    let (line, column) = place.map_or(end, |place| place.min(end));
    let before = if line == 1 { shift } else { 0 };
    let message = format!("this does not parse: {}", error.err_type());
    errors.at(
        code.file_line(line),
        column + before,
        message,
        "mend it: learners would meet a check at fault",
    );
    false
}

fn loose_setup(step: &Step, errors: &mut Errors<'_>) {
    if let Some(code) = step.setup.first() {
        let hint = "a hidden block prepares the cell or exercise that follows it";
        errors.at(code.line, 1, "nothing follows this hidden block", hint);
    }
}

/// What links may name behind `#`: the lesson's headings.
pub(crate) fn anchors(lesson: &Lesson) -> BTreeSet<String> {
    let blocks = lesson.steps.iter().flat_map(|step| &step.text);
    let headings = blocks.filter_map(|block| match block {
        Block::Heading { text, .. } => Some(anchor(&markdown::words(text))),
        _ => None,
    });
    headings.collect()
}

fn link(link: &Link, anchors: &BTreeSet<String>, errors: &mut Errors<'_>) {
    let target = link.target.as_str();
    let has_scheme = target
        .split_once(':')
        .is_some_and(|(scheme, _)| scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+'));
    let path = target.split('#').next().unwrap_or_default();
    let inside = !path.starts_with('/')
        && !path.contains(['\\', '%', '?'])
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    let hint = if target.is_empty() {
        "write where it leads"
    } else if has_scheme {
        if target.starts_with("https://") && !link.is_image {
            return;
        }
        match link.is_image {
            true => "an image is a file of the pack, such as assets/bus.png",
            false => "links lead to https addresses, or to files of the pack",
        }
    } else if let Some(place) = target.strip_prefix('#').filter(|_| !link.is_image) {
        if anchors.contains(place) {
            return;
        }
        let known: Vec<&str> = anchors.iter().map(String::as_str).collect();
        let hint = near::suggestion(place, &known, "the headings are");
        errors.at(link.line, link.column, format!("the lesson has no heading `#{place}`"), hint);
        return;
    } else if !inside {
        "name a file of the pack, without leading slash and .."
    } else if path.starts_with("assets/") || (path.ends_with(".md") && !path.contains('/')) {
        return;
    } else {
        "name a file under assets/, or another lesson of the pack (name.md)"
    };
    let message = format!("the target `{target}` leads nowhere in a pack");
    errors.at(link.line, link.column, message, hint);
}

/// Code without what does not change it: blank lines and white space at the ends of lines.
fn bare(code: &Code) -> Vec<&str> {
    let lines = code.text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).collect()
}

/// Whether the code calls an expectation.
fn expects_something(check: &Code, lexer: &Engine) -> bool {
    let mut name_before = false;
    for (token, _) in tokens(lexer, &check.text) {
        if name_before && token == Token::LeftParen {
            return true;
        }
        name_before = matches!(&token, Token::Identifier(name) if checks::expectations().any(|known| known == name.as_str()));
    }
    false
}

/// Reports what is asked of `events` that it does not have. `shift` characters stand before the code's
/// first line in the file.
fn events(code: &Code, shift: usize, lexer: &Engine, errors: &mut Errors<'_>) {
    // What may follow the point that comes next, if that is known.
    let all: Vec<&str> = run_events::fields().collect();
    let mut fields: Option<&[&str]> = None;
    let mut after_point = false;
    for (token, position) in tokens(lexer, &code.text) {
        match token {
            Token::Period if fields.is_some() => {
                after_point = true;
                continue;
            }
            Token::Identifier(name) if after_point => {
                let known = fields.take().unwrap_or_default();
                if !known.contains(&name.as_str()) {
                    let line = position.line().unwrap_or(1);
                    let column = position.position().unwrap_or(1);
                    let before = if line == 1 { shift } else { 0 };
                    errors.at(
                        code.file_line(line),
                        column + before,
                        format!("`events` has no `{name}` here"),
                        near::suggestion(&name, known, "it has"),
                    );
                }
                let is_copies = matches!(name.as_str(), "h2d" | "d2h" | "d2d");
                fields = (is_copies && known == all).then_some(&COPIES);
            }
            Token::Identifier(name) if name.as_str() == "events" => fields = Some(&all),
            _ => fields = None,
        }
        after_point = false;
    }
}
/// The fields of `events.h2d`, `events.d2h` and `events.d2d`.
const COPIES: [&str; 4] = ["count", "bytes", "pinned", "blocking"];
