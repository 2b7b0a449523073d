//! The source keeps to the architecture: imports point downwards, `unsafe` stays where it is allowed, nothing is
//! left unfinished, files stay readable. See `docs/architecture.md`.

mod paths;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use source::Source;

/// Layers from the bottom up. Those of one row do not see each other.
const LAYERS: &[&[&str]] = &[
    &["base"],
    &["device"],
    &["tensor"],
    &["op"],
    &["nn", "optim", "data", "amp"],
    &["parallel", "distributed", "checkpoint"],
    &["plot"],
    &["script"],
    &["session"],
    &["notebook"],
    &["lesson"],
    &["lab", "repl"],
    &["cli"],
];

/// Layers that see less than what is below them. A figure is plain data: it knows no tensors.
const NARROW: &[(&str, &[&str])] = &[("plot", &["base"])];

/// Floors within a layer, its folders and files from the bottom up. Those of one row do not see each other.
const FLOORS: &[(&str, &[&[&str]])] = &[
    (
        "op",
        &[
            &["core"],
            &["shape"],
            &["elementwise"],
            &["create"],
            &["reduce"],
            &["inspect", "gather"],
            &["sorting"],
            &["index"],
            &["arrange"],
            &["random", "linalg"],
            &["activation"],
            &["normalise"],
            &["convolution", "image", "embedding", "attention", "loss"],
        ],
    ),
    ("lab", &[&["model"], &["layout"], &["update"], &["view"], &["shell"]]),
];

/// Where `unsafe` may stand.
const UNSAFE: &[&str] = &["device/cpu", "device/cuda", "session/sandbox"];

/// Macros of unfinished work and of debugging.
const UNFINISHED: &[&str] = &["todo", "unimplemented", "dbg"];

/// What reads an argument of a call at its place in the row. Kinds of parameters are made of these, with a place that
/// they are given; everyone else reads arguments by name, from a struct of `params!`.
const READERS: &[&str] = &[
    "get", "is_none", "tensor", "tensors", "operand", "scalar", "float", "int", "bool", "str", "ints",
    "dtype", "device",
];

/// What calls of a row are named, where readers are ambiguous.
const CALLS: &[&str] = &["a", "args", "call", "arguments"];

const LONGEST_FILE: usize = 600;
const LONGEST_MAIN: usize = 60;
const LONGEST_FUNCTION: usize = 80;

/// Of a hundred public items so many may have no documentation: those whose name says all.
const MOST_UNSAID: usize = 5;

/// What defines a type by name.
const TYPES: &[&str] = &["struct", "enum", "union", "trait", "type"];

/// A name that so many files define leads nobody to its type.
const CROWDED: usize = 4;
const MOST_CROWDED: usize = 5;

/// A file of `src`, by its path in it.
struct File {
    path: String,
    source: Source,
}

impl File {
    fn new(path: &str, text: &str) -> File {
        File { path: path.into(), source: Source::read(text) }
    }

    /// The module's path from the crate's root: `op/core/def.rs` is `op::core::def`.
    fn module(&self) -> Vec<&str> {
        let path = self.path.trim_end_matches(".rs");
        let path = path.strip_suffix("/mod").unwrap_or(path);
        path.split('/').filter(|part| !matches!(*part, "lib" | "main")).collect()
    }

    fn layer(&self) -> Option<&str> {
        self.module().first().copied()
    }

    fn fault(&self, line: usize, text: impl std::fmt::Display) -> String {
        format!("src/{}:{line}: {text}", self.path)
    }

    /// Whether the file is one of those under `place`, such as `device/cpu`.
    fn is_in(&self, place: &str) -> bool {
        self.path.strip_prefix(place).is_some_and(|rest| rest.starts_with(['/', '.']))
    }
}

/// Every fault of a set of files.
fn faults(files: &[File]) -> Vec<String> {
    let exported = exported_macros(files);
    let each = files.iter().flat_map(|file| {
        [
            imports(file, &exported),
            unsafety(file),
            unfinished(file),
            exemptions(file),
            length(file),
            numbered(file),
            functions(file),
        ]
    });
    each.flatten().chain(files.iter().flat_map(floors)).chain(knots(files)).collect()
}

/// The layer of each macro that stands at the crate's root.
fn exported_macros(files: &[File]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for file in files {
        for at in 0..file.source.tokens.len() {
            let exported = file.source.is(at, &["#", "[", "macro_export", "]", "macro_rules", "!"]);
            if let (true, Some(layer)) = (exported, file.layer()) {
                all.insert(file.source.text(at + 6).to_string(), layer.to_string());
            }
        }
    }
    all
}

fn rank(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&layer))
}

/// Imports that point upwards or sideways, and those that name no layer.
fn imports(file: &File, macros: &BTreeMap<String, String>) -> Vec<String> {
    // The library's root only declares the layers; the program's may name any of them.
    let Some(own) = file.layer() else { return Vec::new() };
    let Some(height) = rank(own) else {
        return vec![file.fault(1, format!("`{own}` is no layer; tests/architecture.rs lists them"))];
    };
    let narrow = NARROW.iter().find(|(layer, _)| *layer == own).map(|(_, seen)| *seen);
    let mut out = Vec::new();
    for (name, line) in named_layers(file) {
        let layer = macros.get(&name).unwrap_or(&name);
        let allowed = match rank(layer) {
            _ if layer == own => continue,
            None => {
                out.push(file.fault(line, format!("`crate::{name}` names no layer")));
                continue;
            }
            Some(other) => other < height && narrow.is_none_or(|seen| seen.contains(&layer.as_str())),
        };
        if !allowed {
            out.push(file.fault(line, format!("`{own}` must not import from `{layer}`")));
        }
    }
    out
}

/// Imports within a layer that point to a higher floor, and those that name none.
fn floors(file: &File) -> Vec<String> {
    let module = file.module();
    let [layer, own, ..] = module.as_slice() else { return Vec::new() };
    let Some((_, rows)) = FLOORS.iter().find(|(name, _)| name == layer) else { return Vec::new() };
    let height = |floor: &str| rows.iter().position(|row| row.contains(&floor));
    let Some(here) = height(own) else {
        return vec![file.fault(1, format!("`{layer}/{own}` is no floor; tests/architecture.rs lists them"))];
    };
    let mut out = Vec::new();
    for (path, line) in paths::paths(&module, &file.source) {
        let [first, floor, ..] = path.as_slice() else { continue };
        match height(floor) {
            _ if first != layer || floor == own => {}
            None => out.push(file.fault(line, format!("`{layer}::{floor}` names no floor of `{layer}`"))),
            Some(there) if there < here => {}
            Some(_) => {
                out.push(file.fault(line, format!("`{layer}/{own}` must not import from `{layer}/{floor}`")))
            }
        }
    }
    out
}

/// Rings of imports between the files of a layer.
fn knots(files: &[File]) -> Vec<String> {
    let modules: BTreeMap<String, &str> =
        files.iter().map(|file| (file.module().join("::"), file.path.as_str())).collect();
    let mut out = Vec::new();
    for folder in LAYERS.iter().flat_map(|row| row.iter()) {
        let inside: Vec<&File> = files.iter().filter(|file| file.is_in(folder)).collect();
        let mut imports: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for file in inside {
            let paths = paths::paths(&file.module(), &file.source);
            let named = paths.iter().filter_map(|(path, _)| {
                (1..=path.len()).rev().find_map(|end| modules.get(&path[..end].join("::")).copied())
            });
            // The folder's own root only declares what is in it.
            let root = file.module().join("/") == *folder;
            let others = named.filter(|other| !root && *other != file.path);
            imports.insert(&file.path, others.collect());
        }
        for ring in paths::knots(&imports) {
            out.push(format!("src/{}: a ring of imports: {}", ring[0], ring.join(", ")));
        }
    }
    out
}

/// What follows the crate's root in every path of a file: after `crate::`, and after as many `super::` as lead there.
fn named_layers(file: &File) -> Vec<(String, usize)> {
    let source = &file.source;
    let mut depth = Depth { outside: file.module().len(), ..Depth::default() };
    let mut out = Vec::new();
    let mut at = 0;
    while at < source.tokens.len() {
        depth.step(source, at);
        let after = match source.text(at) {
            "crate" => Some(at + 1),
            "super" => supers(source, at, depth.now()),
            _ => None,
        };
        match after {
            Some(after) if source.is(after, &[":", ":"]) => first_names(source, after + 2, &mut out),
            _ => {}
        }
        // The rest of a chain of `super::` belongs to its first.
        while source.is(at, &["super", ":", ":", "super"]) {
            at += 3;
        }
        at += 1;
    }
    out
}

/// The place after a chain of `super::` that reaches the crate's root from a module `depth` deep.
fn supers(source: &Source, at: usize, depth: usize) -> Option<usize> {
    let (mut count, mut end) = (1, at + 1);
    while source.is(end, &[":", ":", "super"]) {
        (count, end) = (count + 1, end + 3);
    }
    (count >= depth).then_some(end)
}

/// The names that start a path or a tree of paths.
fn first_names(source: &Source, at: usize, out: &mut Vec<(String, usize)>) {
    let Some(token) = source.tokens.get(at) else { return };
    if token.text != "{" {
        out.push((token.text.clone(), token.line));
        return;
    }
    let end = source.after_bracket(at);
    let mut item = at + 1;
    while item + 1 < end {
        first_names(source, item, out);
        while item + 1 < end && source.text(item) != "," {
            item = if source.text(item) == "{" { source.after_bracket(item) } else { item + 1 };
        }
        item += 1;
    }
}

/// How many modules deep a token stands.
#[derive(Default)]
struct Depth {
    outside: usize,
    braces: usize,
    /// Depth of braces at which each inline module that is open began.
    modules: Vec<usize>,
}

impl Depth {
    fn step(&mut self, source: &Source, at: usize) {
        match source.text(at) {
            "{" => {
                let named = |back: usize| at >= back && source.text(at - back) == "mod";
                // In a macro the name may be a `$name`.
                if named(2) || named(3) && source.text(at - 2) == "$" {
                    self.modules.push(self.braces);
                }
                self.braces += 1;
            }
            "}" => {
                self.braces = self.braces.saturating_sub(1);
                if self.modules.last() == Some(&self.braces) {
                    self.modules.pop();
                }
            }
            _ => {}
        }
    }

    fn now(&self) -> usize {
        self.outside + self.modules.len()
    }
}

/// `unsafe` out of its places, and unsafe blocks and implementations that do not say why they are sound.
fn unsafety(file: &File) -> Vec<String> {
    let source = &file.source;
    let mut out = Vec::new();
    for (at, token) in source.tokens.iter().enumerate().filter(|(_, t)| t.text == "unsafe") {
        if !UNSAFE.iter().any(|place| file.is_in(place)) {
            let text = format!("`unsafe` stands only in {}", UNSAFE.join(", "));
            out.push(file.fault(token.line, text));
        } else if matches!(source.text(at + 1), "{" | "impl") && !is_explained(source, at) {
            out.push(file.fault(token.line, "`unsafe` without a `// SAFETY:` comment"));
        }
    }
    out
}

/// Whether a comment on the line, in the statement before the token, or right above the statement says `SAFETY:`.
/// A statement may open a closure whose only statement the token stands in.
fn is_explained(source: &Source, at: usize) -> bool {
    let here = source.tokens[at].line;
    let ends = |t: &source::Token| matches!(t.text.as_str(), ";" | "{" | "}");
    let Some(before) = source.tokens[..at].iter().rposition(ends) else {
        return says_safety(source, 1, here);
    };
    let line = source.tokens[before].line;
    let from = if line == here { here } else { line + 1 };
    let closure = source.text(before) == "{" && before > 0 && source.text(before - 1) == "|";
    says_safety(source, from, here) || closure && is_explained(source, before - 1)
}

/// Whether the comments in these lines or right above them say `SAFETY:`.
fn says_safety(source: &Source, from: usize, to: usize) -> bool {
    let above = (1..from).rev().take_while(|line| source.comment(*line).is_some());
    (from..=to).chain(above).any(|line| source.comment(line).is_some_and(|c| c.contains("SAFETY:")))
}

fn unfinished(file: &File) -> Vec<String> {
    let tokens = file.source.tokens.iter().enumerate();
    tokens
        .filter(|(at, t)| UNFINISHED.contains(&t.text.as_str()) && file.source.text(at + 1) == "!")
        .map(|(_, t)| file.fault(t.line, format!("`{}!` is left", t.text)))
        .collect()
}

/// Lints that are switched off without a reason, and `dead_code` with any.
fn exemptions(file: &File) -> Vec<String> {
    let source = &file.source;
    let mut out = Vec::new();
    for (at, token) in source.tokens.iter().enumerate() {
        let attribute = at > 0 && matches!(source.text(at - 1), "[" | ",");
        if !(attribute && matches!(token.text.as_str(), "allow" | "expect") && source.text(at + 1) == "(") {
            continue;
        }
        let inside = &source.tokens[at + 2..source.after_bracket(at + 1)];
        if inside.iter().any(|t| t.text == "dead_code") {
            out.push(file.fault(token.line, "unused code is deleted, not allowed"));
        }
        if !inside.windows(2).any(|w| w[0].text == "reason" && w[1].text == "=") {
            out.push(file.fault(token.line, format!("`{}(…)` without a `reason`", token.text)));
        }
    }
    out
}

/// Arguments of a call that are fetched by their number.
fn numbered(file: &File) -> Vec<String> {
    let source = &file.source;
    let layers = ["op", "nn", "optim", "data", "parallel", "checkpoint", "script"];
    let scripted = file.layer().is_some_and(|layer| layers.contains(&layer));
    let tokens = source.tokens.iter().enumerate().skip(2).filter(|_| scripted);
    let fetches = tokens.filter(|(at, token)| {
        CALLS.contains(&source.text(at - 2))
            && source.text(at - 1) == "."
            && READERS.contains(&token.text.as_str())
            && source.text(at + 1) == "("
            && source.text(at + 2).starts_with(|c: char| c.is_ascii_digit())
    });
    let text = "an argument is fetched by its number: declare it with `params!`";
    fetches.map(|(_, token)| file.fault(token.line, text)).collect()
}

fn length(file: &File) -> Vec<String> {
    let most = if file.path == "main.rs" { LONGEST_MAIN } else { LONGEST_FILE };
    match file.source.lines {
        lines if lines > most => {
            vec![
                file.fault(
                    lines,
                    format!("{lines} lines, where {most} are the most: is there a seam inside?"),
                ),
            ]
        }
        _ => Vec::new(),
    }
}

/// Functions that are too long to be read at once.
fn functions(file: &File) -> Vec<String> {
    let source = &file.source;
    let named = |at: &usize| source.text(*at) == "fn" && source.text(at + 1).starts_with(|c: char| c != '(');
    let long = (0..source.tokens.len()).filter(named).filter_map(|at| {
        let open = body(source, at + 2)?;
        let (first, last) = (source.tokens[at].line, source.tokens[source.after_bracket(open) - 1].line);
        let lines = last - first + 1;
        let text =
            format!("`{}` has {lines} lines, where {LONGEST_FUNCTION} are the most", source.text(at + 1));
        (lines > LONGEST_FUNCTION).then(|| file.fault(first, text))
    });
    long.collect()
}

/// Where the body of a function opens, if it has one.
fn body(source: &Source, mut at: usize) -> Option<usize> {
    while at < source.tokens.len() {
        match source.text(at) {
            "{" => return Some(at),
            ";" => return None,
            "(" | "[" => at = source.after_bracket(at),
            _ => at += 1,
        }
    }
    None
}

/// How many public items there are, and those without documentation.
fn unsaid(files: &[File]) -> (usize, Vec<String>) {
    let (mut count, mut without) = (0, Vec::new());
    for file in files {
        let source = &file.source;
        for at in (0..source.tokens.len()).filter(|at| source.text(*at) == "pub") {
            let words = ["const", "async", "unsafe", "extern"];
            let skipped = (at + 1..).take_while(|at| {
                words.contains(&source.text(*at)) && !source.text(at + 1).starts_with(char::is_uppercase)
            });
            let kind = at + 1 + skipped.count();
            let kinds = ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];
            if !kinds.contains(&source.text(kind)) {
                continue;
            }
            count += 1;
            let above = source.tokens[attributes(source, at)].line - 1;
            if !source.comment(above).is_some_and(|text| text.starts_with("///")) {
                without.push(file.fault(source.tokens[at].line, source.text(kind + 1)));
            }
        }
    }
    (count, without)
}

/// Where the attributes before a token begin.
fn attributes(source: &Source, mut at: usize) -> usize {
    while at > 0 && source.text(at - 1) == "]" {
        let hash =
            (0..at).rev().find(|hash| source.is(*hash, &["#", "["]) && source.after_bracket(hash + 1) == at);
        match hash {
            Some(hash) => at = hash,
            None => break,
        }
    }
    at
}

/// The names of types that too many files define, with these files.
///
/// What counts is what a reader may search for: the types of modules, at any visibility. Associated types, types inside
/// functions, what macros write, and tests do not.
fn crowded(files: &[File]) -> Vec<String> {
    let tests: Vec<Vec<String>> = files.iter().flat_map(test_modules).collect();
    let mut all: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for file in files {
        let module = file.module();
        let test = tests.iter().any(|t| t.iter().zip(&module).filter(|(a, b)| a == *b).count() == t.len());
        if test {
            continue;
        }
        for (name, line) in items(file).types {
            all.entry(name).or_default().entry(&file.path).or_insert(line);
        }
    }
    let crowded = all.iter().filter(|(_, places)| places.len() >= CROWDED);
    let shown = crowded.map(|(name, places)| {
        let places: Vec<String> = places.iter().map(|(path, line)| format!("src/{path}:{line}")).collect();
        format!("`{name}` is defined in {} files: {}", places.len(), places.join(", "))
    });
    shown.collect()
}

/// The modules of tests that are files of their own, by their paths from the crate's root.
fn test_modules(file: &File) -> Vec<Vec<String>> {
    let path = |name: String| file.module().into_iter().map(str::to_string).chain([name]).collect();
    items(file).tests.into_iter().map(path).collect()
}

/// What stands in a file's modules, outside of tests.
#[derive(Default)]
struct Items {
    types: Vec<(String, usize)>,
    /// Modules of tests in other files.
    tests: Vec<String>,
}

fn items(file: &File) -> Items {
    let source = &file.source;
    let mut out = Items::default();
    let (mut at, mut test) = (0, false);
    while at < source.tokens.len() {
        let next = source.text(at + 1);
        match source.text(at) {
            "#" if next == "[" => {
                let end = source.after_bracket(at + 1);
                let has = |word: &str| source.tokens[at + 2..end].iter().any(|t| t.text == word);
                test |= source.text(at + 2) == "cfg" && has("test") && !has("not");
                at = end;
                continue;
            }
            "mod" if source.text(at + 2) == "{" && !test => {
                at += 3;
                continue;
            }
            "mod" if source.text(at + 2) == ";" && test => out.tests.push(next.into()),
            "(" | "[" => {
                at = source.after_bracket(at);
                continue;
            }
            "{" => {
                test = false;
                at = source.after_bracket(at);
                continue;
            }
            ";" => test = false,
            word if TYPES.contains(&word) && !test && next.starts_with(char::is_uppercase) => {
                out.types.push((next.into(), source.tokens[at].line));
            }
            _ => {}
        }
        at += 1;
    }
    out
}

/// The files under a folder, by their path from it.
fn files_under(folder: &Path) -> Vec<File> {
    let mut out = Vec::new();
    let mut folders: Vec<PathBuf> = vec![folder.into()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.strip_prefix(folder).unwrap().components();
                let name: Vec<_> = name.map(|c| c.as_os_str().to_string_lossy()).collect();
                out.push(File::new(&name.join("/"), &std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    out.sort_by(|a, b| a.path.cmp(&b.path));
    out
}

fn source_files() -> Vec<File> {
    files_under(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

#[test]
fn the_source_keeps_to_the_architecture() {
    let files = source_files();
    let read = |layer: &str| files.iter().any(|f| f.layer() == Some(layer));
    for layer in ["base", "device", "tensor", "op", "nn", "plot", "script", "session", "lesson", "lab", "cli"]
    {
        assert!(read(layer), "no file of `{layer}` was read");
    }
    let faults = faults(&files);
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn public_items_are_documented() {
    let (count, without) = unsaid(&source_files());
    assert!(count > 1000, "{count}");
    let most = count * MOST_UNSAID / 100;
    assert!(
        without.len() <= most,
        "{} of {count}, where {most} are the most:\n{}",
        without.len(),
        without.join("\n")
    );
}

#[test]
fn the_name_of_a_type_leads_to_it() {
    let names = crowded(&source_files());
    assert!(
        names.len() <= MOST_CROWDED,
        "{} names are defined in {CROWDED} files or more, where {MOST_CROWDED} are the most:\n{}",
        names.len(),
        names.join("\n")
    );
}

mod rules {
    use super::*;

    fn of(path: &str, text: &str) -> Vec<String> {
        faults(&[File::new(path, text)])
    }

    /// Asserts that a file is faulty at one line only, with these words.
    fn only(path: &str, text: &str, line: usize, words: &str) {
        let found = of(path, text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(&format!("src/{path}:{line}: ")), "{found:?}");
        assert!(found[0].contains(words), "{found:?}");
    }

    fn none(path: &str, text: &str) {
        assert_eq!(of(path, text), Vec::<String>::new());
    }

    #[test]
    fn downward_imports_pass() {
        none(
            "op/core/binary.rs",
            "use crate::base::{DType, Result};\nuse crate::tensor::Tensor;\nuse super::def::Row;",
        );
        none("script/modules/data.rs", "use crate::{data::DataLoader, plot, base::{Error, Result}};");
        none("cli/run.rs", "fn f() { crate::lab::run(); crate::base::x(); }");
        none("lib.rs", "pub mod base;\npub mod lab;");
        none("main.rs", "fn main() { tensorlab::cli::main() }");
    }

    #[test]
    fn upward_imports_fail_with_their_line() {
        only("base/shape.rs", "\nuse crate::tensor::Tensor;", 2, "`base` must not import from `tensor`");
        only("device/pool/mod.rs", "fn f() {\n    crate::op::find(\"x\");\n}", 2, "from `op`");
        only("tensor/mod.rs", "use crate::{base::Error,\n    op::Args};", 2, "from `op`");
        only("tensor/mod.rs", "pub(crate) use crate::script::x as y;", 1, "from `script`");
        only("op/mod.rs", "macro_rules! m { () => { $crate::lab::x() } }", 1, "from `lab`");
    }

    #[test]
    fn sideways_imports_fail() {
        only("nn/linear.rs", "use crate::optim::Sgd;", 1, "`nn` must not import from `optim`");
        only("data/loader.rs", "use crate::base::Error;\nuse crate::nn::Module;", 2, "from `nn`");
        only("plot/figure.rs", "use crate::tensor::Tensor;", 1, "`plot` must not import from `tensor`");
    }

    #[test]
    fn floors_of_a_layer_import_downwards() {
        none("lab/view/cells.rs", "use crate::lab::model::state::State;\nuse super::paint::put;");
        none("lab/mod.rs", "pub use shell::run::run;");
        none("lab/model/mod.rs", "pub mod state;\npub(in crate::lab) fn f() {}");
        only(
            "lab/model/keys.rs",
            "\nuse crate::lab::{model::state::State, view::paint};",
            2,
            "`lab/model` must not import from `lab/view`",
        );
        only("lab/update/mod.rs", "fn f() { super::shell::run::run() }", 1, "from `lab/shell`");
        only("lab/view/mod.rs", "use crate::lab::State;", 1, "`lab::State` names no floor");
        only("lab/help.rs", "", 1, "`lab/help` is no floor");
    }

    #[test]
    fn rings_of_imports_are_found() {
        let file = |path: &str, text: &str| File::new(path, text);
        let found = faults(&[
            file("lab/model/mod.rs", "pub mod a;\npub mod b;\npub mod c;"),
            file("lab/model/a.rs", "use super::b::B;\n#[cfg(test)]\nmod tests { use super::super::c::C; }"),
            file("lab/model/b.rs", "fn f() -> crate::lab::model::c::C {}"),
            file("lab/model/c.rs", "use crate::lab::model::{a::{self, A}};"),
            file("lab/model/d.rs", "use crate::lab::model::a;"),
        ]);
        assert_eq!(
            found,
            ["src/lab/model/a.rs: a ring of imports: lab/model/a.rs, lab/model/b.rs, lab/model/c.rs"]
        );
        let inline = file(
            "lab/model/a.rs",
            "fn f() {}\nmod inside { use super::*; mod deep { use super::super::f; } }",
        );
        assert_eq!(
            faults(&[file("lab/model/mod.rs", "pub mod a;\nuse a::f;"), inline]),
            Vec::<String>::new()
        );
        // Through a module that is imported, under a name of its own.
        let through = faults(&[
            file("lab/model/mod.rs", "mod a;\nmod b;"),
            file("lab/model/b/mod.rs", "mod c;"),
            file("lab/model/a.rs", "use super::{b as other, x::Y};\nfn f() { other::c::g() }"),
            file("lab/model/b/c.rs", "use crate::lab::model::a::f;"),
        ]);
        assert_eq!(through, ["src/lab/model/a.rs: a ring of imports: lab/model/a.rs, lab/model/b/c.rs"]);
        let parent = file("lab/model/mod.rs", "mod a;\nuse a::A;\nfn f() { a::g() }");
        let child = file("lab/model/a.rs", "use super::B;");
        assert_eq!(faults(&[parent, child]).len(), 1);
    }

    #[test]
    fn super_reaches_other_layers_only_through_the_root() {
        none(
            "nn/linear.rs",
            "use super::module::Module;\nmod tests { use super::*; use super::super::loss; }",
        );
        only("nn/linear.rs", "use super::super::lab::run;", 1, "from `lab`");
        only("op/mod.rs", "use super::script;", 1, "from `script`");
        only("op/mod.rs", "mod a { mod b {} fn f() { super::super::cli::f() } }", 1, "from `cli`");
        none("op/mod.rs", "mod a { mod b { fn f() { super::super::cli::f() } } }");
    }

    #[test]
    fn exported_macros_belong_to_the_layer_that_defines_them() {
        let base = File::new("base/dtype.rs", "#[macro_export]\nmacro_rules! each { () => {} }");
        let above = File::new("tensor/mod.rs", "use crate::each;");
        assert!(faults(&[base, above]).is_empty());
        let op = File::new("op/core/def.rs", "#[macro_export]\nmacro_rules! row { () => {} }");
        let below = File::new("tensor/mod.rs", "crate::row!();");
        assert_eq!(faults(&[op, below]), ["src/tensor/mod.rs:1: `tensor` must not import from `op`"]);
    }

    #[test]
    fn a_folder_that_is_no_layer_and_a_path_to_none_are_named() {
        only("helpers/mod.rs", "", 1, "`helpers` is no layer");
        only("op/mod.rs", "use crate::helpers::f;", 1, "names no layer");
        only("op/mod.rs", "use crate::*;", 1, "names no layer");
    }

    #[test]
    fn unsafe_stays_in_its_places_and_says_why() {
        let block = "fn f() {\n    // SAFETY: read only.\n    let x = unsafe { g() };\n}";
        none("device/cpu/map.rs", block);
        none("session/sandbox.rs", block);
        only("tensor/mod.rs", block, 3, "only in");
        only("device/cpu_like.rs", block, 3, "only in");
        only("device/cuda/mod.rs", "fn f() {\n    let x = unsafe { g() };\n}", 2, "SAFETY");
        only(
            "device/cpu/a.rs",
            "// SAFETY: one.\nunsafe impl Send for A {}\nunsafe impl Sync for A {}",
            3,
            "SAFETY",
        );
        none(
            "device/cpu/a.rs",
            "// SAFETY: reads\n// a number.\nlet x = y.filter(|_| {\n unsafe { g() } });",
        );
        only("device/cpu/a.rs", "// SAFETY: old.\nfn f() {\n unsafe { g() } }", 3, "SAFETY");
        only("device/cpu/a.rs", "// SAFETY: old.\nf(|x| {\n h();\n unsafe { g() } });", 4, "SAFETY");
        none("device/cpu/a.rs", "// SAFETY: fine.\nlet x = a\n    .b(c)\n    .d(unsafe { g() });");
        none(
            "device/cpu/a.rs",
            "/// # Safety\n/// As said.\npub unsafe fn f() {}\ntype F = unsafe extern \"C\" fn();",
        );
        none("tensor/mod.rs", "// unsafe\nconst X: &str = \"unsafe { }\";");
    }

    #[test]
    fn nothing_unfinished_passes() {
        only("op/mod.rs", "fn f() { todo!() }", 1, "`todo!`");
        only("op/mod.rs", "\nfn f() { dbg!(1); }", 2, "`dbg!`");
        none("op/mod.rs", "// todo!()\nfn todo() {}");
    }

    #[test]
    fn switching_a_lint_off_needs_a_reason() {
        none("op/mod.rs", "#![allow(clippy::indexing_slicing, reason = \"numeric loops\")]");
        only("op/mod.rs", "\n#[allow(clippy::eq_op)]\nfn f() {}", 2, "without a `reason`");
        only("op/mod.rs", "#[cfg_attr(unix, allow(unused))]", 1, "without a `reason`");
        only("op/mod.rs", "#[allow(dead_code, reason = \"later\")]", 1, "deleted");
        none("op/mod.rs", "fn f() { x.expect(1); allow(2); }");
    }

    #[test]
    fn arguments_fetched_by_number_are_found() {
        only("op/core/a.rs", "fn f(a: &Args) {\n    a.tensor(0)?;\n}", 2, "by its number");
        only("nn/a.rs", "fn f(args: &Args) { g(args.is_none(12)) }", 1, "by its number");
        none(
            "op/core/a.rs",
            "fn f(saved: &Saved) { saved.tensor(0)?; args.tensor(at)?; a.get(i); a.0.int(x, 1) }",
        );
        none("lab/model/a.rs", "fn f(a: &Memo) { a.get(0) }");
    }

    #[test]
    fn long_files_are_listed() {
        none("op/mod.rs", &"\n".repeat(LONGEST_FILE));
        only("op/mod.rs", &"\n".repeat(LONGEST_FILE + 1), LONGEST_FILE + 1, "601 lines");
        only("main.rs", &"\n".repeat(LONGEST_MAIN + 1), LONGEST_MAIN + 1, "61 lines");
    }

    #[test]
    fn long_functions_are_listed() {
        let body = |lines: usize| format!("fn f(x: [u8; 4]) -> [u8; 4] {{{}}}", "\n".repeat(lines));
        none("op/core/mod.rs", &body(LONGEST_FUNCTION - 1));
        only("op/core/mod.rs", &body(LONGEST_FUNCTION), 1, "81 lines");
        none("op/core/mod.rs", &format!("trait T {{ fn f(&self);{} }}", "\n".repeat(100)));
        none("op/core/mod.rs", &format!("type F = fn(u8);{}mod m {{}}", "\n".repeat(100)));
    }

    #[test]
    fn documentation_is_counted() {
        let count = |text| {
            let (count, without) = unsaid(&[File::new("op/core/mod.rs", text)]);
            (count, without.len())
        };
        assert_eq!(count("/// Says.\npub fn f() {}\npub const fn g() {}\npub(crate) fn h() {}"), (2, 1));
        assert_eq!(
            count("/// Says.\n#[derive(Debug)]\n#[must_use]\npub struct S {\n    pub field: u8,\n}"),
            (1, 0)
        );
        assert_eq!(
            count("// No documentation.\npub unsafe extern \"C\" fn f() {}\npub use x::Y;\npub mod z;"),
            (1, 1)
        );
        assert_eq!(count("#[inline]\npub const X: u8 = 0;"), (1, 1));
    }

    #[test]
    fn names_are_counted_by_file() {
        let crowd = |texts: &[&str]| {
            let paths = ["op/a.rs", "op/b.rs", "op/c.rs", "op/d.rs"];
            let files: Vec<File> = paths.iter().zip(texts).map(|(p, t)| File::new(p, t)).collect();
            crowded(&files)
        };
        let all = [
            "struct Job(u8);\npub enum Job {}",
            "fn f() {}\npub(super) type Job = u8;",
            "mod m { fn g() {} trait Job {} }",
        ];
        assert_eq!(crowd(&all), Vec::<String>::new());
        let more = |text| crowd(&[&all[..], &[text]].concat());
        assert_eq!(
            more("#[cfg(test)]\nuse x::{y, z};\n#[derive(Debug)]\nunion Job { a: u8 }"),
            ["`Job` is defined in 4 files: src/op/a.rs:1, src/op/b.rs:2, src/op/c.rs:1, src/op/d.rs:4"]
        );
        for text in [
            "impl Job for u8 { type Job = u8; }",
            "fn f() { struct Job; }",
            "macro_rules! m { () => { struct Job; } }",
            "#[cfg(test)]\nmod tests { struct Job; }",
            "#[cfg(test)]\nstruct Job;",
            "#[cfg(all(test, unix))]\nstruct Job;",
            "use super::Job; // struct Job;",
        ] {
            assert_eq!(more(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn names_in_files_of_tests_are_not_counted() {
        let job = "struct Job;";
        let counted = |path: &str, root: &str| {
            let paths = ["op/b.rs", "op/c.rs", "op/d.rs", path];
            let mut files: Vec<File> = paths.iter().map(|p| File::new(p, job)).collect();
            files.push(File::new("op/mod.rs", root));
            !crowded(&files).is_empty()
        };
        assert!(counted("op/testing.rs", "mod testing;"));
        assert!(!counted("op/testing.rs", "#[cfg(test)]\nmod testing;"));
        assert!(!counted("op/testing/deep.rs", "#[cfg(test)]\nmod testing;"));
        assert!(counted("op/testings.rs", "#[cfg(test)]\nmod testing;"));
    }
}

/// Of two pieces of syntax under one key the later one would take the other's place.
#[test]
fn each_piece_of_custom_syntax_has_a_key_of_its_own() {
    let keys = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/script");
    let mut found: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(keys).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let lines = text.lines().filter(|line| line.contains(": &str = \"\\u{"));
        found.extend(lines.filter_map(|line| line.split('"').nth(1)).map(String::from));
    }
    let distinct: BTreeSet<&String> = found.iter().collect();
    assert!(found.len() > 8 && distinct.len() == found.len(), "{found:?}");
}
