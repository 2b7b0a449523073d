//! Functions of Python's see what is bound below them, closures what is bound above: they are read behind it.

use std::collections::BTreeSet;

use crate::base::sorted;

use super::free::{Reads, bound};
use super::lex::{self, Tok, TokenKind};

/// A statement of the code's own lines: where its tokens begin, and up to where they go.
struct Span {
    from: usize,
    to: usize,
    /// The name that `def` or `class` gives.
    defines: Option<String>,
    /// A class is a closure, which is seen from where it stands on.
    is_class: bool,
    /// So is a function with the name of a package's that the program calls as well.
    clashes: bool,
    /// The variables that it binds, and none before it.
    binds: Vec<String>,
}

/// The tokens with each function and class behind the variables of the code that it reads.
pub(super) fn ordered(tokens: Vec<Tok<'_>>) -> Vec<Tok<'_>> {
    let spans = spans(&tokens);
    let reads: Vec<Option<Reads>> = spans.iter().map(|span| reads(&tokens, span)).collect();
    let closures = closures(&reads, &spans);
    // Behind which statement each one has to stand; its own place is the least.
    let mut behind: Vec<usize> = (0..spans.len()).collect();
    for _ in 0..spans.len() {
        let needed: Vec<usize> = spans
            .iter()
            .enumerate()
            .map(|(at, span)| needed(&tokens, &spans, (&behind, &closures, &reads), (at, span)))
            .collect();
        if needed == behind {
            break;
        }
        behind = needed;
    }
    let moved = |at: usize| behind.get(at).is_some_and(|place| *place > at);
    if !(0..spans.len()).any(moved) {
        return tokens;
    }
    let mut order: Vec<usize> = (0..spans.len()).collect();
    let ranks = ranks(&reads, &spans, &closures);
    let rank = |at: usize| if moved(at) { ranks.get(at).copied().unwrap_or(0) } else { 0 };
    sorted::sort_by_key(&mut order, |at| (behind.get(*at).copied().unwrap_or(*at), moved(*at), rank(*at)));
    let mut all: Vec<Tok> = Vec::new();
    for span in order.iter().filter_map(|at| spans.get(*at)) {
        all.extend(tokens.get(span.from..span.to).unwrap_or_default().iter().cloned());
        // The last one of the code has no end of a line.
        if let Some(last) = all.last().filter(|last| last.kind != TokenKind::Line).cloned() {
            all.push(Tok { kind: TokenKind::Line, text: "", range: last.range.end..last.range.end, ..last });
        }
    }
    all
}

/// What a function or class reads that is none of its own.
fn reads<'t, 'c>(tokens: &'t [Tok<'c>], span: &Span) -> Option<Reads<'t, 'c>> {
    span.defines.as_ref()?;
    Some(Reads::of(tokens.get(span.from..span.to)?.iter().collect(), None))
}

/// Which functions see variables around them: they are closures, and so is what calls one.
fn closures(reads: &[Option<Reads>], spans: &[Span]) -> Vec<bool> {
    let mut all: Vec<bool> = spans.iter().map(|span| span.is_class || span.clashes).collect();
    for _ in 0..spans.len() {
        let before = all.clone();
        for (at, own) in reads.iter().enumerate() {
            let Some(own) = own else { continue };
            let reads = |name: &String| own.reads(name);
            let is = spans.iter().zip(&before).enumerate().filter(|(other, _)| *other != at).any(
                |(_, (there, closure))| {
                    there.binds.iter().any(reads) || *closure && there.defines.as_ref().is_some_and(reads)
                },
            );
            if let Some(own) = all.get_mut(at) {
                *own |= is;
            }
        }
        if all == before {
            break;
        }
    }
    all
}

/// How many closures stand one behind the other before each, where one calls the next.
fn ranks(reads: &[Option<Reads>], spans: &[Span], closures: &[bool]) -> Vec<usize> {
    let mut all = vec![0usize; spans.len()];
    for _ in 0..spans.len().min(DEEPEST) {
        for (at, own) in reads.iter().enumerate() {
            let Some(own) = own else { continue };
            let reads = |name: &String| own.reads(name);
            let called = spans.iter().zip(closures).enumerate().filter(|(other, (there, closure))| {
                *other != at && **closure && there.defines.as_ref().is_some_and(reads)
            });
            let rank = called.filter_map(|(other, _)| all.get(other)).max().map_or(0, |rank| rank + 1);
            if let Some(own) = all.get_mut(at) {
                *own = rank.min(DEEPEST);
            }
        }
    }
    all
}

/// Calls within each other that are followed.
const DEEPEST: usize = 20;

/// The last statement that binds what a function or class reads.
fn needed(
    tokens: &[Tok],
    spans: &[Span],
    (behind, closures, reads): (&[usize], &[bool], &[Option<Reads>]),
    (at, span): (usize, &Span),
) -> usize {
    let Some(own) = &span.defines else { return at };
    let Some(Some(inside)) = reads.get(at) else { return at };
    let reads = |name: &String| inside.reads(name);
    let mut place = at;
    for (other, there) in spans.iter().enumerate().filter(|(other, _)| *other != at) {
        // A function of its own is seen from everywhere, a closure from where it stands on.
        let is_closure = closures.get(other).copied().unwrap_or(false);
        let is_read = there.binds.iter().any(reads)
            || there.defines.as_ref().is_some_and(|name| is_closure && name != own && reads(name));
        if is_read {
            place = place.max(behind.get(other).copied().unwrap_or(other));
        }
    }
    // What calls it before can't be helped.
    let between =
        spans.get(at + 1..=place).unwrap_or_default().iter().filter(|other| other.defines.is_none());
    let mut between = between.flat_map(|other| tokens.get(other.from..other.to).unwrap_or_default());
    if between.any(|token| token.text == own) { at } else { place }
}

fn spans(tokens: &[Tok]) -> Vec<Span> {
    const GOES_ON: [&str; 4] = ["else", "elif", "except", "finally"];
    let (mut starts, mut depth, mut begins, mut decorated) = (Vec::new(), 0usize, true, false);
    for (at, token) in tokens.iter().enumerate() {
        if begins && depth == 0 && token.kind != TokenKind::Line {
            let outermost = token.column == 0 && !GOES_ON.contains(&token.text);
            if outermost && !decorated {
                starts.push(at);
            }
            decorated = outermost && token.text == "@";
            begins = false;
        }
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        begins |= token.kind == TokenKind::Line;
    }
    let ends = starts.iter().skip(1).copied().chain([tokens.len()]);
    let mut all: Vec<Span> = starts.iter().zip(ends).map(|(from, to)| span(tokens, *from, to)).collect();
    // Where a variable is bound first.
    let mut seen = BTreeSet::new();
    for span in &mut all {
        span.binds.retain(|name| seen.insert(name.clone()));
    }
    all
}

fn span(tokens: &[Tok], from: usize, to: usize) -> Span {
    let own = tokens.get(from..to).unwrap_or_default();
    let decorated = own.first().is_some_and(|token| token.text == "@");
    let head = own.iter().position(|token| matches!(token.text, "def" | "class") && token.column == 0);
    let head = head.filter(|at| *at == 0 || decorated);
    let is_class = head.and_then(|at| own.get(at)).is_some_and(|token| token.text == "class");
    let defines = head.and_then(|at| own.get(at + 1)).map(|token| token.text.to_owned());
    let binds = if head.is_none() { bound(&own.iter().collect::<Vec<_>>()) } else { Vec::new() };
    let clashes = defines.as_ref().is_some_and(|name| lex::clashes(tokens, name));
    Span { from, to, defines, is_class, clashes, binds }
}
