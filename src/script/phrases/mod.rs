//! What Python's habits are here: a line that fails and that Python would take is answered with the line rewritten.
//!
//! Asked only where code has failed. The failed code is read as Python, with what of Rhai is mixed in (`lex`, `parse`),
//! and written as Rhai (`writer` and what stands beside it), statement by statement; what it has met of the phrase
//! book (`book`) says why. A rewritten statement is offered once Rhai's parser takes it.

mod ahead;
mod alone;
mod arguments;
mod around;
mod attempts;
mod blocks;
pub mod book;
mod bound_methods;
mod calls;
mod captured;
mod caught;
mod changes;
mod chosen_receivers;
mod classes;
mod collectives;
mod comparisons;
mod copied;
mod decorators;
mod division;
mod environ;
mod errors;
mod family;
mod file_names;
mod foresight;
mod formats;
mod forwarding;
mod free;
mod functions;
mod given;
mod hoist;
mod idiom;
mod instances;
mod items;
mod kept;
mod keys;
mod kin;
mod kinds;
mod leaving;
mod lex;
mod made;
mod marks;
mod methods;
mod names;
mod objects;
mod offer;
mod options;
mod order;
mod package_book;
mod packages;
pub(crate) mod page;
mod parse;
mod paths;
mod phrase;
mod places;
mod queues;
mod raising;
mod ranges;
mod reserved;
mod session_names;
mod sets;
mod several;
mod slips;
mod sorted_maps;
mod spread;
mod standing;
mod statement_book;
mod statements;
mod texts;
mod tree;
mod truth;
mod tuples;
mod unzip;
mod words;
mod writer;
mod yields;

use super::fault::{Fault, Origin};
use super::lexer;
use super::sources::Sources;
use super::whole::{self, Wholeness};

use book::{Idiom, note};
use foresight::{Foresight, READINGS};
use lex::{Tok, TokenKind, has_word};
use offer::Offer;
use parse::PythonReader;
use statements::Statements;
use words::words;
use writer::{FaultSays, Holds, Writer};

pub(crate) use session_names::SessionNames;

/// Bytes of code that is looked at as a whole.
const LONGEST: usize = 64 << 10;
/// Lines that are offered at once.
const MOST: usize = 200;
/// Notes that are told at once.
const NOTES: usize = 3;

/// Gives the fault of a line that Python would take a hint with what is written here.
pub(super) fn cure(fault: Fault, origin: &Origin, known: impl FnOnce() -> SessionNames) -> Fault {
    if !matches!(fault.kind.as_str(), "SyntaxError" | "NameError" | "TypeError") {
        return fault;
    }
    let outlived = around::outlived(&fault, origin, wrong(&fault));
    let early = outlived.or_else(|| slips::colon(&fault)).or_else(|| paths::elsewhere(&fault));
    let early = early.or_else(|| paths::of_other_case(&fault)).or_else(|| paths::stateless(&fault));
    if let Some(hint) = early.or_else(|| slips::written(&fault)).or_else(|| ranges::of_tensors(&fault)) {
        return fault.hinted(hint, origin);
    }
    let known = known();
    let found = hint(&fault, origin, &known)
        .or_else(|| around::unseen(&fault, origin, wrong(&fault), &known.variables));
    let found = found
        .or_else(|| slip(&fault, origin, &known))
        .or_else(|| uncalled(&fault))
        .or_else(|| slips::item(&fault))
        .or_else(|| slips::several(&fault))
        .or_else(|| slips::block(&fault))
        .or_else(|| ranges::through_map(&fault))
        .or_else(|| ranges::nameless(&fault));
    let Some(hint) = found else { return fault };
    // What is misspelt stays so in the line that is offered.
    let misspelt = fault.hint.as_deref().filter(|own| own.starts_with("did you mean"));
    match misspelt.filter(|_| stays(&hint, wrong(&fault))) {
        Some(own) => {
            let both = format!("{own} {hint}");
            fault.hinted(both, origin)
        }
        None => fault.hinted(hint, origin),
    }
}

/// The same for a fault in code that was evaluated before, which a call has led to.
pub(super) fn cure_there(
    fault: Fault,
    origin: &Origin,
    sources: &Sources,
    known: impl FnOnce() -> SessionNames,
) -> Fault {
    let there = fault.elsewhere.as_deref().and_then(|place| sources.of(&place.function));
    let (Some(there), Some(seen)) = (there, fault.as_seen_there()) else { return fault };
    match cure(seen, &there.origin(), known).hint {
        Some(hint) if fault.hint.as_ref() != Some(&hint) => fault.hinted(hint, origin),
        _ => fault,
    }
}

/// The name that a fault is about.
fn wrong(fault: &Fault) -> &str {
    fault.missing.as_deref().or_else(|| fault.message.split('\'').nth(1)).unwrap_or_default()
}

/// Whether code that is offered still calls or reads a name that nothing has.
fn stays(hint: &str, wrong: &str) -> bool {
    let code = hint.rsplit_once(": `").or_else(|| hint.split_once(":\n")).map_or("", |(_, code)| code);
    let found = [format!("let {wrong} = "), format!("{wrong}::"), format!("{wrong}."), format!("?{wrong}")];
    has_word(code, wrong) && !found.iter().any(|found| code.contains(found))
}

/// What is told of a line that is in neither language.
fn slip(fault: &Fault, origin: &Origin, known: &SessionNames) -> Option<String> {
    let row = fault.line?.checked_sub(origin.first_line)? as usize;
    let line = origin.code.lines().nth(row).filter(|_| fault.kind == "SyntaxError")?;
    of_line(&slips::as_python(line)?, known, &said(fault))
}

/// What is told of a module's function that stands without a call.
fn uncalled(fault: &Fault) -> Option<String> {
    let full = fault.missing.as_deref().filter(|full| names::is_in_module(full))?;
    let given =
        names::handed(full).map(|value| format!(", and `{value}` is one as a value")).unwrap_or_default();
    Some(format!("it is a function: `{full}()` calls it{given}"))
}

/// Whether lines may follow that belong to a block of Python's: as at Python's prompt, a blank line ends it.
pub(crate) fn is_open(code: &str) -> bool {
    const WORDS: [&str; 11] =
        ["if", "for", "while", "with", "def", "class", "try", "elif", "else", "except", "finally"];
    let starts = |line: &&str| !line.trim().is_empty() && !line.starts_with([' ', '\t']);
    let head = code.lines().rev().find(starts).unwrap_or_default();
    let head = head.split('#').next().unwrap_or_default().trim_end();
    let word: String = head.chars().take_while(|c| c.is_alphabetic()).collect();
    head.ends_with(':') && WORDS.contains(&word.as_str())
}

/// Whether a class of a module is still without what it computes: a blank line before that does not end it.
pub(crate) fn lacks_forward(code: &str) -> bool {
    code.rsplit_once("class ").is_some_and(|(_, class)| {
        class.contains("def __init__") && !class.contains("def forward") && class.contains("Module")
    })
}

fn hint(fault: &Fault, origin: &Origin, known: &SessionNames) -> Option<String> {
    let row = fault.line?.checked_sub(origin.first_line)? as usize;
    // A bracket that does not close is missed behind the last line.
    let last = origin.code.trim_end().lines().count().checked_sub(1)?;
    let (row, beyond) = (row.min(last), row > last);
    let said = said(fault);
    let line = origin.code.lines().nth(row)?;
    let whole = (origin.code.len() <= LONGEST).then(|| pieces(origin.code, known, &said)).flatten();
    let Some(all) = whole else { return of_line(line, known, &said) };
    let divides = |piece: &Offer| piece.used.contains(&Idiom::Floor);
    let mut at = match beyond {
        true => all.iter().rposition(divides)?,
        false => failed(&all, fault, origin.code, row)?,
    };
    let piece = all.get(at)?;
    // Within a block of Rhai's, the line alone.
    let inside = piece.lines.0 < row && row <= piece.lines.1 && piece.written.contains('{');
    if inside && !piece.used.contains(&Idiom::Braces) {
        let tokens = reserved::tokens(origin.code)?;
        let own: Vec<&str> = lex::functions(&tokens).collect();
        let bound = lexer::bound(origin.code).into_iter().filter(|name| !own.contains(&name.as_str()));
        let bound = bound.map(|name| (name, Holds::Other));
        let variables = known.variables.iter().cloned().chain(bound).collect();
        let mut functions = known.functions.clone();
        functions.extend(own.into_iter().map(|name| (name.to_owned(), Vec::new())));
        let known = SessionNames { variables, functions };
        if let Some(hint) = of_line(line, &known, &said) {
            return Some(hint);
        }
    }
    // What follows may be known where the line itself is not.
    let leads = piece.is_unknown() && all.get(at..)?.iter().any(Offer::is_changed);
    if !piece.is_changed()
        && !leads
        && let told = alone(piece, line)
        && (told.is_some() || !piece.is_unknown())
    {
        return told;
    }
    // A line is offered as a whole.
    while at
        .checked_sub(1)
        .and_then(|before| all.get(before))
        .is_some_and(|before| before.lines.1 == piece.lines.0)
    {
        at -= 1;
    }
    // A function that stands behind what it reads has left its place.
    if !all.is_sorted_by_key(|piece| piece.start) {
        at = 0;
    }
    // What follows fails next.
    let rest = all.get(at..)?;
    let changed = rest.iter().rposition(Offer::is_changed).unwrap_or(0);
    let last = changed.max(rest.iter().rposition(|other| other.lines.0 == piece.lines.1).unwrap_or(0));
    let lines = |pieces: &[Offer]| pieces.iter().map(|piece| piece.text().lines().count()).sum::<usize>();
    let several = if lines(rest) <= MOST { rest } else { rest.get(..=last)? };
    let readable = several.iter().all(|piece| piece.rewritten.is_some() || piece.python);
    // Of a program of Python's nothing has run yet that stands behind the line.
    if (last > 0 || piece.python && several.len() > 1)
        && lines(several) <= MOST
        && readable
        && let Some(hint) = offered(several)
    {
        return Some(hint);
    }
    offered(std::slice::from_ref(piece)).or_else(|| alone(piece, line))
}

/// The answer to a line that is read alone.
fn of_line(line: &str, known: &SessionNames, said: &FaultSays) -> Option<String> {
    // Without the brackets that close what began before it.
    let (mut depth, mut end) = (0usize, line.len());
    for token in reserved::tokens(line)? {
        match token.text {
            "(" | "[" | "{" | "#{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => {
                end = token.range.start;
                break;
            }
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
    }
    let line = line.get(..end).filter(|line| !line.trim().is_empty()).unwrap_or(line);
    let all = pieces(line.trim_end(), known, said)?;
    offered(&all)
}

/// The statement that failed: Rhai misses the end of one where the next begins.
fn failed(all: &[Offer], fault: &Fault, code: &str, row: usize) -> Option<usize> {
    // Functions may stand behind what they read.
    let before = |place: usize| {
        let there = all.iter().enumerate().filter(|(_, piece)| piece.start <= place);
        there.max_by_key(|(_, piece)| piece.start).map(|(at, _)| at)
    };
    let column = fault.column.unwrap_or(1) as usize;
    let start: usize = code.lines().take(row).map(|line| line.len() + 1).sum();
    let line = code.lines().nth(row)?;
    let place = start + line.char_indices().nth(column.saturating_sub(1)).map_or(line.len(), |(at, _)| at);
    let at = before(place).unwrap_or(0);
    let ended = fault.kind == "SyntaxError" && all.get(at).is_some_and(|piece| piece.start == place);
    let before = place.checked_sub(1).filter(|_| ended).and_then(before);
    Some(before.filter(|before| all.get(*before).is_some_and(Offer::is_changed)).unwrap_or(at))
}

/// The statements of some code, which is read again for as long as that tells more of its functions.
fn pieces<'c>(code: &'c str, known: &SessionNames, said: &FaultSays) -> Option<Vec<Offer<'c>>> {
    let mut ahead = Foresight::default();
    let (mut pieces, mut learnt) = read(code, known, said, &ahead)?;
    for _ in 1..READINGS {
        if learnt == ahead {
            break;
        }
        ahead = learnt;
        (pieces, learnt) = read(code, known, said, &ahead)?;
    }
    Some(pieces)
}

/// One reading of the statements, and what it has learnt.
fn read<'c>(
    code: &'c str,
    known: &SessionNames,
    said: &FaultSays,
    ahead: &Foresight,
) -> Option<(Vec<Offer<'c>>, Foresight)> {
    let mut tokens = reserved::tokens(code)?;
    let mut writer = Writer::new(&known.variables, said);
    writer.functions = known.functions.iter().cloned().collect();
    for name in lex::functions(&tokens) {
        writer.functions.or_insert(name, Vec::new());
    }
    writer.python = lex::is_python(&tokens);
    ahead.tell(&mut writer);
    if writer.python {
        tokens = order::ordered(tokens);
    }
    let reader = PythonReader::new(&tokens, code);
    let mut all = statements(reader, writer);
    let mut pieces = Vec::new();
    loop {
        all.skip_lines();
        let from = all.reader.at;
        let Some(first) = tokens.get(from) else {
            let learnt = Foresight::learnt(&all.writer, &tokens);
            return Some((pieces, learnt));
        };
        let before = all.clone();
        all.writer.used.clear();
        all.writer.pointed = false;
        let mut lines = all.statement();
        let mut stuck = None;
        if lines.is_none() {
            stuck = tokens.get(all.reader.at).map(|token| token.line).filter(|line| *line > first.line);
            all = before;
            all.reader.at = end_of(&tokens, from);
            all.writer.used.clear();
        }
        let own = tokens.get(from..all.reader.at)?;
        let last = own.iter().rev().find(|token| token.kind != TokenKind::Line).unwrap_or(first);
        let written = code.get(first.range.start..last.range.end)?;
        if lines.is_none() {
            lexer::bound(written).iter().for_each(|name| all.writer.bind(name, Holds::Other));
        }
        words(own, &mut all.writer);
        let is_value = !written.ends_with(';') && all.reader.peek().is_none();
        if let Some(line) = lines.as_mut().and_then(|lines| lines.last_mut()).filter(|_| is_value) {
            let binds = line.starts_with("let ") || line.contains(" = ") || line.contains("//");
            *line = if binds { line.clone() } else { line.trim_end_matches(';').to_owned() };
        }
        // What Rhai does not take is not known either.
        let is_whole = |lines: &Vec<String>| whole::wholeness(&lines.join("\n")) == Wholeness::Whole;
        lines = lines.filter(|lines| !all.writer.python || all.writer.used.is_empty() || is_whole(lines));
        let end = last.line + last.text.matches('\n').count();
        let mut used = std::mem::take(&mut all.writer.used);
        // A block of Rhai's may have a name that another statement has too.
        used.retain(|idiom| *idiom != Idiom::Hoisted || all.writer.python);
        pieces.push(Offer {
            lines: (first.line, end),
            start: first.range.start,
            written,
            rewritten: lines,
            used,
            stuck,
            pointed: all.writer.pointed,
            python: all.writer.python,
        });
    }
}

/// What reads statements, before the first of them.
fn statements<'t, 'c, 'k>(reader: PythonReader<'t, 'c>, writer: Writer<'k>) -> Statements<'t, 'c, 'k> {
    Statements {
        reader,
        writer,
        function: 0,
        inside: 0,
        ended: Vec::new(),
        lifted: Vec::new(),
        left: None,
        caught: None,
        loops: Vec::new(),
        shared_names: Vec::new(),
        is_data_class: false,
        depth: 0,
        bare: false,
        mode: None,
        fresh: false,
    }
}

/// Where a statement ends that can't be read: with its line, outside of brackets.
fn end_of(tokens: &[Tok], from: usize) -> usize {
    let mut depth = 0usize;
    let column = tokens.get(from).map_or(0, |token| token.column);
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.text {
            "(" | "[" | "{" | "#{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
        let next = tokens.get(at + 1);
        let inside = next.is_some_and(|next| next.column > column);
        if token.kind == TokenKind::Line && depth == 0 && !inside {
            return at + 1;
        }
    }
    tokens.len()
}

/// What a fault says that the line does not.
fn said(fault: &Fault) -> FaultSays {
    let hint = fault.hint.as_deref().unwrap_or_default();
    let attribute =
        fault.message.split_once("object has no attribute '").and_then(|(_, name)| name.split('\'').next());
    let uncalled = attribute.filter(|_| hint.starts_with("it is a function"));
    let refused = fault.message.split_once("() does not take (");
    FaultSays {
        uncalled: uncalled.map(str::to_owned),
        refused: refused.map(|(name, given)| {
            let name = name.rsplit(' ').next().unwrap_or(name);
            (name.to_owned(), given.trim_end_matches(')').to_owned())
        }),
        no_bool: fault
            .message
            .strip_prefix("bool is expected, not ")
            .filter(|kind| matches!(*kind, "array" | "map" | "int" | "float" | "string"))
            .map(str::to_owned),
        absent: fault
            .message
            .split_once("there is no function '")
            .and_then(|(_, rest)| rest.split_once("' for ("))
            .map(|(name, given)| (name.to_owned(), given.trim_end_matches(')').to_owned())),
    }
}

/// The rewritten statements with what is told of them, where Rhai takes them.
fn offered(pieces: &[Offer]) -> Option<String> {
    let mut used: Vec<Idiom> = Vec::new();
    let unknown = |piece: &&Offer| piece.is_unknown();
    pieces.iter().any(|piece| piece.is_changed()).then_some(())?;
    used.extend(pieces.iter().any(|piece| unknown(&piece)).then_some(Idiom::Unknown));
    let changed = pieces.iter().filter(|piece| piece.is_changed());
    for idiom in pieces.iter().filter(unknown).chain(changed).flat_map(|piece| &piece.used) {
        if !used.contains(idiom) {
            used.push(*idiom);
        }
    }
    let mut text = String::new();
    let mut before: Option<&Offer> = None;
    for piece in pieces.iter().filter(|piece| !piece.text().is_empty()) {
        // A comment would swallow what stands behind it.
        let ends = |text: String| !text.contains(['\n']) && !text.contains("//");
        let beside = before.is_some_and(|before| before.lines.1 == piece.lines.0 && ends(before.text()));
        text += before.map_or("", |_| if beside { " " } else { "\n" });
        text += &piece.text();
        before = Some(piece);
    }
    let [first, ..] = used.as_slice() else { return None };
    if *first == Idiom::Help {
        return Some(format!("{}: {}", note(Idiom::Help), code_of(&text)));
    }
    (whole::wholeness(&text) == Wholeness::Whole).then_some(())?;
    let notes = notes(&used);
    Some(match text.lines().count() {
        0 => notes,
        1 => format!("{notes}: {}", code_of(&text)),
        _ => format!("{notes}:\n{}", indented(&text)),
    })
}

/// What is told of idioms; what nearly every line of Python has comes last.
fn notes(used: &[Idiom]) -> String {
    let common = |idiom: &Idiom| matches!(idiom, Idiom::Semicolon | Idiom::Braces | Idiom::Comment);
    // What would differ in silence comes first.
    let (copied, used): (Vec<Idiom>, Vec<Idiom>) =
        used.iter().partition(|idiom| matches!(idiom, Idiom::Copied | Idiom::Shared));
    let (last, rest): (Vec<Idiom>, Vec<Idiom>) = used.iter().partition(|idiom| common(idiom));
    let first = copied.into_iter().chain(rest);
    let told = |idiom: &Idiom| *idiom != Idiom::Semicolon || used.len() == 1;
    let all: Vec<&str> = first.chain(last).filter(told).map(note).take(NOTES).collect();
    all.join("; ")
}

fn code_of(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// What is told of a statement for which nothing can be offered.
fn alone(piece: &Offer, line: &str) -> Option<String> {
    let used: Vec<Idiom> = piece.used.iter().copied().filter(|idiom| *idiom != Idiom::Semicolon).collect();
    if !used.is_empty() {
        return Some(notes(&used) + piece.told_line().as_str());
    }
    let first: String = line.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let behind = line.trim().get(first.len()..).unwrap_or_default().trim_start();
    if behind.starts_with('=') || behind.starts_with('.') {
        return None;
    }
    Some(match first.as_str() {
        "class" => alone::of_class(line).to_owned() + piece.told_line().as_str(),
        "" if line.trim().starts_with('@') => alone::decorator(line).into(),
        "async" | "await" => "nothing runs beside the script: the call alone".into(),
        "except" | "finally" => note(Idiom::Try).into(),
        "elif" => note(Idiom::Elif).into(),
        "match" => "`switch x { 1 => …, _ => … }` is Python's `match`".into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::help::rows;

    /// The first statement of some code that would be rewritten.
    fn changed(code: &str) -> Option<String> {
        let (known, said) = (SessionNames::default(), FaultSays::default());
        let all = pieces(code, &known, &said).unwrap_or_default();
        let piece = all.iter().find(|piece| piece.is_changed())?;
        Some(format!("{:?}: {} -> {}", piece.used, piece.written, piece.text()))
    }

    #[test]
    fn right_code_stays_as_it_is() {
        let examples = rows().map(|def| (def.name.to_owned(), def.example.0.to_owned()));
        let scripts = std::fs::read_dir("scripts").unwrap().map(|entry| entry.unwrap().path());
        let scripts = scripts.filter(|path| path.extension().is_some_and(|end| end == "rhai"));
        let scripts =
            scripts.map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
        let wrong: Vec<String> = examples
            .chain(scripts)
            .filter_map(|(name, code)| changed(&code).map(|what| format!("{name}: {what}")))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
