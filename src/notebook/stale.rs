//! Which cells show what they would not show again: from the names of the code and the order in which it ran.
//!
//! A run depends on the runs that last bound or changed a name it needs. Its cell is stale once the source of one of
//! the two cells changed, the other cell ran again or was removed, or is stale itself. A cell that stands between the
//! two and has since bound the name counts as well; one further down does not, because running the notebook from the
//! top would give the same. Nothing is ever run by itself.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::cell::Cell;
use super::hash::Hash;
use super::names::{Name, Names, names};

/// One run of a cell. Those of a session, in the order they began, are its history; a restart begins a new one.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The cell's id.
    pub cell: String,
    /// The content that ran.
    pub hash: Hash,
    pub names: Names,
}

impl Run {
    /// A run of the cell as it is now.
    pub fn of(cell: &Cell) -> Run {
        Run { cell: cell.id.clone(), hash: cell.hash(), names: names(&cell.source) }
    }
}

/// Whether what a cell shows still holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Freshness {
    /// It has not run in this session.
    NotRun,
    Fresh,
    Stale(Why),
}

impl Freshness {
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self, Freshness::Stale(_))
    }
}

/// Why a cell is stale: the first reason that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// Its source changed since it ran.
    Changed,
    /// The cell that a name came from …
    Depends {
        name: Name,
        /// The other cell's id.
        cell: String,
        how: How,
    },
}

/// Why a cell's output is out of date.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// … changed since it ran.
    Changed,
    /// … ran again, or for the first time, and binds the name.
    RanSince,
    /// … is stale itself.
    IsStale,
    /// … is not there any more.
    Removed,
}

/// The freshness of each code cell, in the notebook's order: `cells` has their ids and what [`Cell::hash`] gives now.
/// `runs` is the session's history.
pub fn stale<'a>(cells: &[(&'a str, Hash)], runs: &'a [Run]) -> Vec<Freshness> {
    let history = History::new(cells, runs);
    let mut known = HashMap::new();
    cells.iter().map(|(id, _)| history.freshness(id, &mut known, 0)).collect()
}

/// Cells depend on each other no deeper than this, as far as is looked.
const DEEPEST: usize = 200;

struct History<'a> {
    runs: &'a [Run],
    /// Place and content of the cells there are.
    cells: HashMap<&'a str, (usize, Hash)>,
    /// The last run of each cell.
    last: HashMap<&'a str, usize>,
    /// The runs that bind a name, in order.
    definitions: HashMap<&'a Name, Vec<usize>>,
}

impl<'a> History<'a> {
    fn new(cells: &[(&'a str, Hash)], runs: &'a [Run]) -> History<'a> {
        let mut definitions: HashMap<&Name, Vec<usize>> = HashMap::new();
        for (i, run) in runs.iter().enumerate() {
            for name in &run.names.defines {
                definitions.entry(name).or_default().push(i);
            }
        }
        History {
            runs,
            cells: cells.iter().enumerate().map(|(i, (id, hash))| (*id, (i, *hash))).collect(),
            last: runs.iter().enumerate().map(|(i, run)| (run.cell.as_str(), i)).collect(),
            definitions,
        }
    }

    fn freshness(&self, id: &str, known: &mut HashMap<&'a str, Freshness>, depth: usize) -> Freshness {
        if let Some(found) = known.get(id) {
            return found.clone();
        }
        let (Some((&id, &last)), Some(&(place, hash))) = (self.last.get_key_value(id), self.cells.get(id))
        else {
            return Freshness::NotRun;
        };
        let Some(run) = self.runs.get(last) else { return Freshness::NotRun };
        if run.hash != hash {
            known.insert(id, Freshness::Stale(Why::Changed));
            return Freshness::Stale(Why::Changed);
        }
        // Cells that need each other are as fresh as what else they need.
        known.insert(id, Freshness::Fresh);
        let why = if depth < DEEPEST { self.why(id, place, last, known, depth) } else { None };
        let found = why.map_or(Freshness::Fresh, Freshness::Stale);
        known.insert(id, found.clone());
        found
    }

    fn why(
        &self,
        id: &str,
        place: usize,
        run: usize,
        known: &mut HashMap<&'a str, Freshness>,
        depth: usize,
    ) -> Option<Why> {
        for name in self.needs(run) {
            let definitions = self.definitions.get(name).map_or(&[][..], Vec::as_slice);
            let others = || definitions.iter().filter(|&&at| self.runs.get(at).is_some_and(|r| r.cell != id));
            let provider = others().rfind(|&&at| at < run).and_then(|&at| self.runs.get(at));
            if let Some(provider) = provider
                && let Some(how) = self.since(provider, run, known, depth)
            {
                return Some(Why::Depends { name: name.clone(), cell: provider.cell.clone(), how });
            }
            let from = provider.and_then(|p| self.cells.get(p.cell.as_str())).map_or(0, |(place, _)| *place);
            let between = |at: &&usize| {
                let cell = self.runs.get(**at).and_then(|r| self.cells.get(r.cell.as_str()));
                **at > run && cell.is_some_and(|(other, _)| (from..place).contains(other))
            };
            if let Some(later) = others().find(between).and_then(|&at| self.runs.get(at)) {
                let cell = later.cell.clone();
                return Some(Why::Depends { name: name.clone(), cell, how: How::RanSince });
            }
        }
        None
    }

    /// What became of the cell that a name came from, since the run `until` needed it.
    fn since(
        &self,
        provider: &Run,
        until: usize,
        known: &mut HashMap<&'a str, Freshness>,
        depth: usize,
    ) -> Option<How> {
        let id = provider.cell.as_str();
        let Some((_, hash)) = self.cells.get(id) else { return Some(How::Removed) };
        if self.last.get(id).is_some_and(|&last| last > until) {
            return Some(How::RanSince);
        }
        if *hash != provider.hash {
            return Some(How::Changed);
        }
        self.freshness(id, known, depth + 1).is_stale().then_some(How::IsStale)
    }

    /// The names that a run needed, those in the functions it called among them.
    fn needs(&self, run: usize) -> BTreeSet<&'a Name> {
        let mut needs = BTreeSet::new();
        let mut seen: HashSet<(&str, usize)> = HashSet::new();
        let mut open: Vec<&Name> = Vec::new();
        let Some(this) = self.runs.get(run) else { return needs };
        open.extend(&this.names.uses);
        while let Some(name) = open.pop() {
            if !needs.insert(name) {
                continue;
            }
            let function = match name {
                Name::Function(function) => function,
                // A function's name is a value as well.
                Name::Variable(value) if !self.definitions.contains_key(name) => {
                    let function = Name::Function(value.clone());
                    open.extend(self.definitions.get_key_value(&function).map(|(name, _)| *name));
                    continue;
                }
                _ => continue,
            };
            let definitions = self.definitions.get(name).map_or(&[][..], Vec::as_slice);
            let Some(&at) = definitions.iter().rfind(|&&at| at <= run) else { continue };
            let body = self.runs.get(at).and_then(|r| r.names.bodies.get(function));
            if seen.insert((function, at)) {
                open.extend(body.into_iter().flatten());
            }
        }
        needs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::document::Notebook;

    /// Cells called a, b, c, … and what happened to them: `a` runs, `a=source` edits, `-a` removes, `^a` moves to the
    /// top. Gives a letter for each cell: `.` not run, `f` fresh, `s` stale.
    fn after(sources: &[&str], story: &str) -> String {
        let (cells, runs) = told(sources, story);
        let letter = |f: &Freshness| match f {
            Freshness::NotRun => '.',
            Freshness::Fresh => 'f',
            Freshness::Stale(_) => 's',
        };
        all(&cells, &runs).iter().map(letter).collect()
    }

    fn all(cells: &[Cell], runs: &[Run]) -> Vec<Freshness> {
        let cells: Vec<(&str, Hash)> = cells.iter().map(|cell| (cell.id.as_str(), cell.hash())).collect();
        stale(&cells, runs)
    }

    fn told(sources: &[&str], story: &str) -> (Vec<Cell>, Vec<Run>) {
        let named =
            |(i, source): (u8, &&str)| Cell { id: char::from(b'a' + i).into(), ..Cell::code(*source) };
        let mut notebook = Notebook::new((0..).zip(sources).map(named));
        let mut runs = Vec::new();
        for step in story.split_whitespace() {
            if let Some((id, source)) = step.split_once('=') {
                notebook.cell_mut(id).unwrap().source = source.replace('_', " ");
            } else if let Some(id) = step.strip_prefix('-') {
                notebook.cells.retain(|cell| cell.id != id);
            } else if let Some(id) = step.strip_prefix('^') {
                let at = notebook.position(id).unwrap();
                let cell = notebook.cells.remove(at);
                notebook.cells.insert(0, cell);
            } else {
                runs.push(Run::of(notebook.cell(step).unwrap()));
            }
        }
        (notebook.cells, runs)
    }

    #[track_caller]
    fn table(sources: &[&str], rows: &[(&str, &str)]) {
        for (story, want) in rows {
            assert_eq!(after(sources, story), *want, "{sources:?} after {story:?}");
        }
    }

    #[test]
    fn a_cell_is_stale_when_it_or_what_it_needs_changed_or_ran_again() {
        let chain = ["let x = 1;", "let y = x + 1;", "let z = y + 1;", "let other = 5;"];
        table(
            &chain,
            &[
                ("", "...."),
                ("a b c d", "ffff"),
                ("a", "f..."),
                ("a b c d a", "fssf"),
                ("a b c d a b", "ffsf"),
                ("a b c d a b c", "ffff"),
                ("a b c d b", "ffsf"),
                ("a b c d a=let_x=2;", "sssf"),
                ("a b c d a=let_x=2; a=let_x=_1;", "sssf"),
                ("a b c d b=let_y=x+2;", "fssf"),
                ("a b c d d", "ffff"),
                ("a b c d -a", "ssf"),
                ("a b c d a=let_x=2; a", "fssf"),
                ("a b c d a=let_x=2; a b c", "ffff"),
                ("a b c d c=y", "ffsf"),
            ],
        );
        // Back to the source that ran is fresh again.
        assert_eq!(after(&["x=1;", "x"], "a b a=x=2; a=x=1;"), "ff");
    }

    #[test]
    fn changes_of_a_variable_are_links_of_the_chain() {
        table(
            &["let a = [];", "a.push(1);", "a.len()", "a"],
            &[
                ("a b c", "fff."),
                ("a b c b", "ffs."),
                ("a b c a", "fss."),
                ("a b c a b", "ffs."),
                ("a b c a b c d", "ffff"),
                ("a d b", "ff.s"),
                ("a c b", "ffs."),
            ],
        );
    }

    #[test]
    fn a_name_that_a_lower_cell_binds_again_makes_nothing_above_stale() {
        let sources = ["let x = 1;", "x + 1", "let x = 2;", "x + 2"];
        table(
            &sources,
            &[
                ("a b c d", "ffff"),
                // From the top, b would see a's x and d would see c's.
                ("a b c d a", "fsff"),
                ("a b c d c", "fffs"),
                ("a b c d b", "ffff"),
                ("a d c", "f.fs"),
                ("a b c", "fff."),
                ("b a", "fs.."),
            ],
        );
    }

    #[test]
    fn functions_are_followed_into_their_bodies() {
        let sources = ["fn g(x) { x }", "fn f(x) { g(x) }", "f(1)", "let k = |x| f(x);", "k.call(2)"];
        table(
            &sources,
            &[
                ("a b c d e", "fffff"),
                ("a b c d e b", "ffsss"),
                ("b a c", "fff.."),
                ("b a c a", "ffs.."),
                ("a b c d e d", "ffffs"),
            ],
        );
        table(&["fn f(x) { x }", "[1].map(f)"], &[("a b", "ff"), ("a b a", "fs")]);
    }

    #[test]
    fn cells_that_need_each_other_come_to_an_end() {
        let sources = ["let x = is_def_var(\"y\");", "let y = x;"];
        assert_eq!(after(&sources, "a b"), "ff");
        let (cells, runs) = told(&sources, "a b a");
        assert_eq!(all(&cells, &runs).len(), 2);
        assert_eq!(after(&["let x = x;"], "a a a"), "f");
    }

    #[test]
    fn the_reason_names_the_cell_and_the_name() {
        let (cells, runs) = told(&["let x = 1;", "x", "x"], "a b c a c");
        let x = || Name::Variable("x".into());
        let why = Why::Depends { name: x(), cell: "a".into(), how: How::RanSince };
        assert_eq!(all(&cells, &runs), [Freshness::Fresh, Freshness::Stale(why), Freshness::Fresh]);
        let (cells, runs) = told(&["let x = 1;", "x"], "a b -a");
        let why = Why::Depends { name: x(), cell: "a".into(), how: How::Removed };
        assert_eq!(all(&cells, &runs), [Freshness::Stale(why)]);
        let (cells, runs) = told(&["let x = 1;", "let y = x;", "y"], "a b c a=let_x=2; c=y+1");
        assert_eq!(all(&cells, &runs)[2], Freshness::Stale(Why::Changed));
    }

    #[test]
    fn a_long_chain_and_many_runs_are_no_matter() {
        let cells: Vec<Cell> = (0..300)
            .map(|i| Cell { id: format!("c{i}"), ..Cell::code(format!("let x{} = x{i};", i + 1)) })
            .collect();
        let mut runs: Vec<Run> = cells.iter().map(Run::of).collect();
        assert!(all(&cells, &runs).iter().all(|f| *f == Freshness::Fresh));
        runs.push(Run::of(&cells[0]));
        assert_eq!(all(&cells, &runs).iter().filter(|f| f.is_stale()).count(), 299);
    }
}
