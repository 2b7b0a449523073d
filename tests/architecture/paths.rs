//! The paths that a file names, and the knots that imports tie between files.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;

/// Every path of a file outside its unit tests that leads from the crate's root, from a module above, or into a module
/// that the file declares; as seen from the root, with its line.
pub fn paths(module: &[&str], source: &Source) -> Vec<(Vec<String>, usize)> {
    let declared: BTreeSet<&str> = (0..source.tokens.len())
        .filter(|at| source.text(*at) == "mod" && source.text(at + 2) == ";")
        .map(|at| source.text(at + 1))
        .collect();
    let mut out = Vec::new();
    // What the file's imports call modules, with the paths that lead there.
    let mut imported: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut at = 0;
    // Where each inline module that is open ends, and its name.
    let mut inline: Vec<(usize, &str)> = Vec::new();
    while at < source.tokens.len() {
        if source.is(at, &["mod", "tests", "{"]) {
            at = source.after_bracket(at + 2);
            continue;
        }
        inline.retain(|(end, _)| at < *end);
        if source.text(at) == "mod" && source.text(at + 2) == "{" {
            inline.push((source.after_bracket(at + 2), source.text(at + 1)));
        }
        // As a macro names it.
        if source.is(at, &["mod", "$"]) && source.text(at + 3) == "{" {
            inline.push((source.after_bracket(at + 3), source.text(at + 2)));
        }
        let here: Vec<&str> = module.iter().copied().chain(inline.iter().map(|(_, name)| *name)).collect();
        let begins = at == 0 || !matches!(source.text(at - 1), ":" | "." | "in");
        let root = match source.text(at) {
            _ if !begins || !source.is(at + 1, &[":", ":"]) => None,
            "crate" => Some((Vec::new(), at + 3)),
            "self" => Some((here, at + 3)),
            "super" => Some((here[..here.len().saturating_sub(1)].to_vec(), at + 3)),
            name if declared.contains(name) => Some((module.to_vec(), at)),
            _ => None,
        };
        let owned = |root: Vec<&str>| root.into_iter().map(String::from).collect();
        let through =
            imported.get(source.text(at)).filter(|_| begins && source.is(at + 1, &[":", ":"])).cloned();
        let root = root.map(|(root, from)| (owned(root), from)).or(through.map(|path| (path, at + 3)));
        let import = at > 0 && source.text(at - 1) == "use";
        at += 1;
        if let Some((root, from)) = root {
            let first = out.len();
            at = follow(source, from, root, &mut out);
            let named = out.iter().skip(first).filter(|_| import && inline.is_empty());
            imported.extend(named.map(|found| (found.name.clone(), found.path.clone())));
        }
    }
    out.into_iter().map(|found| (found.path, found.line)).collect()
}

/// Takes a path, or a tree of them, from the token at `at` on; gives the place after it.
fn follow(source: &Source, mut at: usize, mut path: Vec<String>, out: &mut Vec<Found>) -> usize {
    let line = source.tokens.get(at).map_or(0, |token| token.line);
    loop {
        match source.text(at) {
            "{" => {
                let end = source.after_bracket(at);
                at += 1;
                while at + 1 < end {
                    at = follow(source, at, path.clone(), out);
                    while at + 1 < end && source.text(at) != "," {
                        at += 1;
                    }
                    at += 1;
                }
                return end;
            }
            "super" => {
                path.pop();
            }
            "self" | "*" => {}
            name if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => path.push(name.into()),
            _ => break,
        }
        at += 1;
        if !source.is(at, &[":", ":"]) {
            break;
        }
        at += 2;
    }
    let own = path.last().cloned().unwrap_or_default();
    let name = if source.text(at) == "as" { source.text(at + 1).to_string() } else { own };
    out.push(Found { path, name, line });
    at
}

/// A path, and what the file calls its end.
struct Found {
    path: Vec<String>,
    name: String,
    line: usize,
}

/// Groups of two files or more that import each other in a ring. `imports` gives those of each file.
pub fn knots<'a>(imports: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<Vec<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (*file, reachable(imports, file))).collect();
    let mut out: Vec<Vec<&str>> = Vec::new();
    for (file, theirs) in &reached {
        let ring: Vec<&str> = theirs
            .iter()
            .copied()
            .filter(|other| reached.get(other).is_some_and(|r| r.contains(file)))
            .collect();
        if ring.len() > 1 && ring.first() == Some(file) {
            out.push(ring);
        }
    }
    out
}

fn reachable<'a>(imports: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&str> = imports.get(from).into_iter().flatten().copied().collect();
    while let Some(file) = next.pop() {
        if seen.insert(file) {
            next.extend(imports.get(file).into_iter().flatten());
        }
    }
    seen
}
