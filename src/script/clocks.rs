//! Which clock the times in an expression were read from, told by its variables: a time that was measured and one that
//! is modelled come to nothing together, and whoever puts them together is told so by name.
//!
//! Numbers carry no clock. What `time()`, `telemetry::record` and the like give is a map that says its clock, a moment
//! is a value with one, and a variable that a cell made of such is remembered with theirs. So this is about what is
//! written down, at the top of cells, in checks and in answers; what a function makes of times is not followed.

use std::collections::HashMap;

use rhai::{AST, ASTNode, Dynamic, Engine, Expr, ImmutableString, Map, Scope, Stmt};

use crate::base::event::Clock;
use crate::base::{Error, Result};

use super::rewrite;
use super::timestamp::Timestamp;

/// The clocks of times: none, one or both.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Clocks {
    measured: bool,
    modelled: bool,
}

/// Variables that are numbers made of times, with their clocks.
pub(crate) type Times = HashMap<String, Clocks>;

/// What a look at code needs.
pub(crate) struct Look<'a> {
    pub engine: &'a Engine,
    pub scope: &'a Scope<'static>,
    pub times: &'a Times,
    /// The clock of `time()` and of events where one is meant now.
    pub machine: Clocks,
}

/// What gives a time that is a number by itself.
const READINGS: [&str; 4] = ["elapsed", "elapsed_time", "time", "timeit"];

/// What puts two numbers together.
const OPERATORS: [&str; 12] = ["+", "-", "*", "/", "%", "**", "<", "<=", ">", ">=", "==", "!="];

impl Clocks {
    pub(crate) fn of(clock: Clock) -> Clocks {
        Clocks { measured: clock == Clock::Measured, modelled: clock == Clock::Modelled }
    }

    fn named(name: &str) -> Clocks {
        Clocks { measured: name == Clock::Measured.name(), modelled: name == Clock::Modelled.name() }
    }

    pub(crate) fn and(self, other: Clocks) -> Clocks {
        Clocks { measured: self.measured || other.measured, modelled: self.modelled || other.modelled }
    }

    fn are_mixed(self) -> bool {
        self.measured && self.modelled
    }

    /// The one clock, where it is one.
    pub(crate) fn alone(self) -> Option<Clock> {
        match (self.measured, self.modelled) {
            (true, false) => Some(Clock::Measured),
            (false, true) => Some(Clock::Modelled),
            _ => None,
        }
    }
}

impl Look<'_> {
    /// The clocks of the times that are read in an expression or a check.
    ///
    /// # Errors
    /// `ValueError` where an operator puts together times of both, with the names.
    pub(crate) fn over(&self, code: &str) -> Result<Clocks> {
        let Ok(ast) = self.engine.compile_with_scope(self.scope, rewrite::prepared(self.engine, code)) else {
            return Ok(Clocks::default());
        };
        let (mut all, mut mixed) = (Clocks::default(), None);
        ast.walk(&mut |path: &[ASTNode]| {
            if let Some(ASTNode::Expr(expr)) = path.last() {
                all = all.and(self.own(expr, path));
                if let Expr::FnCall(call, _) = expr
                    && OPERATORS.contains(&call.name.as_str())
                    && mixed.is_none()
                {
                    let read = self.names(&call.args);
                    let clocks = read.iter().fold(Clocks::default(), |all, (_, clocks)| all.and(*clocks));
                    mixed = clocks.are_mixed().then_some(read);
                }
            }
            true
        });
        match mixed {
            Some(read) => Err(mixture(&read)),
            None => Ok(all),
        }
    }

    /// Remembers the variables that a cell made of times.
    pub(crate) fn remember(&self, ast: &AST) -> Times {
        let mut times = self.times.clone();
        ast.walk(&mut |path: &[ASTNode]| {
            let Some(ASTNode::Stmt(stmt)) = path.last() else { return true };
            let (name, value) = match stmt {
                Stmt::Var(x, ..) => (x.0.name.as_str(), &x.1),
                Stmt::Assignment(x) => match &x.1.lhs {
                    Expr::Variable(v, ..) => (v.1.as_str(), &x.1.rhs),
                    _ => return true,
                },
                _ => return true,
            };
            let look = Look { times: &times, ..*self };
            let read = look.names(std::slice::from_ref(value));
            let clocks = read.iter().fold(Clocks::default(), |all, (_, clocks)| all.and(*clocks));
            if clocks == Clocks::default() {
                times.remove(name);
            } else {
                times.insert(name.to_owned(), clocks);
            }
            true
        });
        times
    }

    /// What in some expressions is a time, by how it is written, with its clocks.
    fn names(&self, exprs: &[Expr]) -> Vec<(String, Clocks)> {
        let mut found = Vec::new();
        for expr in exprs {
            let mut path = Vec::new();
            expr.walk(&mut path, &mut |path: &[ASTNode]| {
                if let Some(ASTNode::Expr(expr)) = path.last() {
                    let clocks = self.own(expr, path);
                    if clocks != Clocks::default() {
                        found.push((written(expr), clocks));
                    }
                }
                true
            });
        }
        found
    }

    /// The clocks of what an expression itself reads, without its parts.
    fn own(&self, expr: &Expr, path: &[ASTNode]) -> Clocks {
        match expr {
            Expr::Dot(x, ..) => match &x.lhs {
                Expr::Variable(v, ..) => self.property(&v.1, &x.rhs),
                _ if reads(&x.rhs) => self.machine,
                _ => Clocks::default(),
            },
            // The first part of a chain is looked at with the chain.
            Expr::Variable(v, ..) if !heads_chain(path) => self.variable(&v.1),
            _ => Clocks::default(),
        }
    }

    fn variable(&self, name: &str) -> Clocks {
        if let Some(clocks) = self.times.get(name) {
            return *clocks;
        }
        let value = self.scope.get(name);
        value
            .and_then(|value| value.read_lock::<Timestamp>().map(|t| Clocks::of(t.clock())))
            .unwrap_or_default()
    }

    /// The clocks of `variable.rest`: of a time in a map that says its clock, or of a moment.
    fn property(&self, variable: &str, rest: &Expr) -> Clocks {
        let Some(value) = self.scope.get(variable) else { return Clocks::default() };
        if let Some(moment) = value.read_lock::<Timestamp>() {
            return Clocks::of(moment.clock());
        }
        let Some(map) = value.read_lock::<Map>() else {
            return if reads(rest) { self.machine } else { Clocks::default() };
        };
        let (mut clocks, mut at, mut rest) = (said(&map), Dynamic::from_map(map.clone()), rest);
        loop {
            let (key, more) = match rest {
                Expr::Property(p, _) => (p.2.as_str(), None),
                Expr::Dot(x, ..) => match &x.lhs {
                    Expr::Property(p, _) => (p.2.as_str(), Some(&x.rhs)),
                    _ => return Clocks::default(),
                },
                _ => return Clocks::default(),
            };
            let Some(more) = more else {
                return if key == "ms" || key.ends_with("_ms") { clocks } else { Clocks::default() };
            };
            let next = at.read_lock::<Map>().and_then(|map| map.get(key).cloned());
            let Some(next) = next else { return Clocks::default() };
            if let Some(map) = next.read_lock::<Map>() {
                let own = said(&map);
                clocks = if own == Clocks::default() { clocks } else { own };
            }
            (at, rest) = (next, more);
        }
    }
}

/// The clock that a map says its times are of.
fn said(map: &Map) -> Clocks {
    let clock = map.get("clock").and_then(|clock| clock.read_lock::<ImmutableString>().map(|c| c.clone()));
    clock.map_or(Clocks::default(), |clock| Clocks::named(&clock))
}

/// Whether a part of a chain reads a time.
fn reads(expr: &Expr) -> bool {
    match expr {
        Expr::Property(p, _) => READINGS.contains(&p.2.as_str()) || p.2.ends_with("_ms"),
        Expr::MethodCall(call, _) => READINGS.contains(&call.name.as_str()) || call.name.ends_with("_ms"),
        Expr::Dot(x, ..) => reads(&x.lhs) || reads(&x.rhs),
        _ => false,
    }
}

fn heads_chain(path: &[ASTNode]) -> bool {
    let mut above = path.iter().rev();
    let (this, parent) = (above.next(), above.next());
    match (this, parent) {
        (Some(ASTNode::Expr(this)), Some(ASTNode::Expr(Expr::Dot(x, ..)))) => std::ptr::eq(&x.lhs, *this),
        _ => false,
    }
}

/// How an expression begins, for an error.
fn written(expr: &Expr) -> String {
    match expr {
        Expr::Variable(v, ..) => v.1.to_string(),
        Expr::Property(p, _) => p.2.to_string(),
        Expr::MethodCall(call, _) | Expr::FnCall(call, _) => format!("{}()", call.name),
        Expr::Dot(x, ..) => format!("{}.{}", written(&x.lhs), written(&x.rhs)),
        _ => "…".into(),
    }
}

fn mixture(read: &[(String, Clocks)]) -> Error {
    let of = |wanted: fn(&Clocks) -> bool| {
        let mut names: Vec<String> =
            read.iter().filter(|(_, clocks)| wanted(clocks)).map(|(name, _)| format!("`{name}`")).collect();
        names.dedup();
        names.join(", ")
    };
    let both = of(|clocks| clocks.are_mixed());
    let text = match both.as_str() {
        "" => format!(
            "this mixes measured with modelled time: {} is measured, {} is modelled",
            of(|clocks| clocks.measured),
            of(|clocks| clocks.modelled)
        ),
        both => format!("this mixes measured with modelled time: {both} was made of both"),
    };
    Error::value(text).with_hint(
        "times of one clock compare: without `--host measured` the CPU's time is modelled as well, beside simulated GPUs",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::device::{Machine, Use};
    use crate::script::{Interpreter, Limits, Origin, Silent};

    /// What an expression reads, after a cell on a machine whose host's time is measured.
    fn after(cell: &str) -> Interpreter {
        let selection = "sim:t4@measured".parse().unwrap();
        let machine = Machine::open(&selection, Use::Headless).unwrap().machine;
        let mut interpreter = Interpreter::new(machine, Arc::new(Silent), &Limits::default());
        let _ = interpreter.evaluate(1, &Origin { name: "cell", code: cell, first_line: 1 }).unwrap();
        interpreter
    }

    const TWO: &str = "let cpu = time(|| ones(4) + 1.0);
        let gpu = time(|| ones(4, #{device: \"cuda\"}) + 1.0);
        let slow = cpu.median_ms;
        let ratio = slow / gpu.median_ms;
        let count = 3 * cpu.runs;
        let r = telemetry::record(|| ones(4).cuda());";

    #[test]
    fn a_time_has_the_clock_that_it_was_read_from() {
        let after = after(TWO);
        let clock = |code: &str| after.clock_of(code).unwrap();
        assert_eq!(clock("cpu.median_ms"), Some(Clock::Measured));
        assert_eq!(clock("slow * 2.0"), Some(Clock::Measured));
        assert_eq!(clock("gpu.median_ms + gpu.iqr_ms"), Some(Clock::Modelled));
        assert_eq!(clock("r.h2d.ms"), Some(Clock::Modelled));
        for none in ["count", "cpu.runs + gpu.runs", "r.h2d.bytes", "1.0", "cpu.clock"] {
            assert_eq!(clock(none), None, "{none}");
        }
    }

    #[test]
    fn what_mixes_clocks_is_refused_by_name() {
        let after = after(TWO);
        let refused = |code: &str| after.clock_of(code).unwrap_err().message();
        let text = refused("cpu.median_ms / gpu.median_ms");
        assert!(text.ends_with("`cpu.median_ms` is measured, `gpu.median_ms` is modelled"), "{text}");
        let text = refused("let factor = 2.0; expect(slow > factor * r.h2d.ms, \"slower\")");
        assert!(text.contains("`slow` is measured, `r.h2d.ms` is modelled"), "{text}");
        let text = refused("ratio > 20.0");
        assert!(text.ends_with("`ratio` was made of both"), "{text}");
        // Each by itself is no mixture.
        assert_eq!(after.clock_of("slow > 1.0 && gpu.median_ms > 1.0").unwrap(), None);
    }

    #[test]
    fn a_variable_that_is_made_anew_has_its_new_clock() {
        let mut after = after(TWO);
        let code = "ratio = 7.0; slow = gpu.median_ms;";
        let _ = after.evaluate(2, &Origin { name: "cell", code, first_line: 1 }).unwrap();
        assert_eq!(after.clock_of("ratio > 2.0").unwrap(), None);
        assert_eq!(after.clock_of("slow").unwrap(), Some(Clock::Modelled));
    }
}
