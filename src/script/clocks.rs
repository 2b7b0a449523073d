//! Which clock the times in an expression were read from, told by how it is written: a time that was measured and one
//! that is modelled come to nothing together, and whoever puts them together is told so by name.
//!
//! Where a machine has both, numbers carry their clocks ([`carry`]), by which it is decided; what is written gives the
//! names. Where it has one, this says whether something is a time at all: what `time()`, `telemetry::record` and the
//! like give is a map that says its clock, a moment is a value with one, and a variable that a cell made of such is
//! remembered with theirs.

use std::collections::HashMap;

use rhai::{AST, ASTNode, Dynamic, Engine, Expr, ImmutableString, Map, Scope, Stmt};

use crate::base::Error;
use crate::base::event::Clock;

use super::carry::{self, Clocks};
use super::rewrite;
use super::timestamp::Timestamp;

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

impl Look<'_> {
    /// The clocks of the times that are read in an expression.
    pub(crate) fn over(&self, code: &str) -> Clocks {
        let mut all = Clocks::default();
        self.walk(code, &mut |expr, path| all = all.and(self.own(expr, path)));
        all
    }

    /// The error of code in which times of both clocks came together, in a line of it where that is known: with the
    /// names where an operator there has them, and with the line as it is written where not.
    pub(crate) fn mixture(&self, code: &str, line: Option<u32>) -> Error {
        let mut named: Option<Vec<_>> = None;
        self.walk(code, &mut |expr, _| {
            let Expr::FnCall(call, at) = expr else { return };
            if !OPERATORS.contains(&call.name.as_str()) {
                return;
            }
            let is_there = line.is_none() || at.line() == line.map(|line| line as usize);
            let read = self.names(&call.args);
            let clocks = read.iter().fold(Clocks::default(), |all, (_, clocks)| all.and(*clocks));
            if clocks.are_mixed() && is_there && named.is_none() {
                named = Some(read);
            }
        });
        let at = line.and_then(|line| (line as usize).checked_sub(1)).and_then(|at| code.lines().nth(at));
        match named {
            Some(read) => mixture(&read),
            None => told(&format!("`{}` was made of both", at.unwrap_or(code).trim())),
        }
    }

    fn walk(&self, code: &str, visit: &mut dyn FnMut(&Expr, &[ASTNode])) {
        let Ok(ast) = self.engine.compile_with_scope(self.scope, rewrite::prepared(self.engine, code)) else {
            return;
        };
        ast.walk(&mut |path: &[ASTNode]| {
            if let Some(ASTNode::Expr(expr)) = path.last() {
                visit(expr, path);
            }
            true
        });
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
                // The rest of a chain is looked at with its first part.
                Expr::Property(..) => Clocks::default(),
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
        let Some(value) = self.scope.get(name) else { return Clocks::default() };
        match value.read_lock::<Timestamp>() {
            Some(moment) => Clocks::of(moment.clock()),
            None => carry::clocks(value),
        }
    }

    /// The clocks of `variable.rest`: of a time in a map that says its clock, or of a moment.
    fn property(&self, variable: &str, rest: &Expr) -> Clocks {
        let Some(value) = self.scope.get(variable) else {
            // A check has it, a session has not.
            return if variable == "events" && reads(rest) { self.machine } else { Clocks::default() };
        };
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
                let own = at.read_lock::<Map>().and_then(|map| map.get(key).map(carry::clocks));
                if let Some(own) = own.filter(|own| own.are_some()) {
                    return own;
                }
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
        Expr::Property(p, _) => READINGS.contains(&p.2.as_str()) || p.2 == "ms" || p.2.ends_with("_ms"),
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
    told(&match both.as_str() {
        "" => format!(
            "{} is measured, {} is modelled",
            of(|clocks| clocks.has(Clock::Measured)),
            of(|clocks| clocks.has(Clock::Modelled))
        ),
        both => format!("{both} was made of both"),
    })
}

fn told(why: &str) -> Error {
    Error::value(format!("{}: {why}", carry::MIXTURE)).with_hint(carry::HINT)
}
