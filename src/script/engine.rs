//! The interpreter: one scope, one machine, one Rhai engine.

use std::sync::Arc;

use rhai::{AST, Dynamic, Engine, EvalAltResult, Module, ParseError, ParseErrorType, Scope};

use crate::base::Error;
use crate::base::event::Clock;
use crate::device::shared::CodePlace;
use crate::device::{Cancel, Machine, hold_reserve};
use crate::op::Copies;
use crate::plot::Figure;
use crate::script::host::Host;
use crate::tensor::Tensor;
use crate::tensor::display::display;

use super::arity::Takes;
use super::aside::{Aside, Latest};
use super::carry::{self, Clocks, Mixing};
use super::clocks::{Look, Times};
use super::fault::{Fault, KnownNames, Origin, Vocabulary, raise};
use super::lender::Lender;
use super::line_ends;
use super::program::Before;
use super::sources::Sources;
use super::{
    bind, differs, frames, help, hollow, indexing, modules, operands, phrases, printing, program, rewrite,
    strings, syntax, timestamp,
};

/// Limits of the script engine itself; tensors are limited by their devices. Rhai copies, sorts and prints without asking
/// whether it was interrupted, so that values stay small enough for a tenth of a second.
#[derive(Clone, Debug)]
pub struct Limits {
    pub call_depth: usize,
    pub string_bytes: usize,
    pub array_length: usize,
    pub map_length: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { call_depth: 96, string_bytes: 16 << 20, array_length: 1 << 20, map_length: 1 << 18 }
    }
}

/// Evaluates code against a scope that lasts.
pub struct Interpreter {
    engine: Arc<Engine>,
    scope: Scope<'static>,
    /// Variables that are numbers made of times.
    times: Times,
    /// Functions and closures of everything evaluated so far: later code calls them.
    library: AST,
    sources: Sources,
    machine: Arc<Machine>,
    names: Vec<&'static str>,
    /// What `plot::…` draws on.
    figure: modules::Current,
    /// The functions that what runs beside the script finds.
    latest: Latest,
}

/// Says whether code that is to run to its end has.
const ENDED: &str = "__has_ended";
/// Why code was refused that did not.
pub(super) const ENDS_EARLY: &str = "a check runs to its last line, and this one ends before it with exit() or `return`: it judges with `expect`";

/// How an evaluation ended without a value.
#[derive(Debug)]
pub enum Stopped {
    Fault(Box<Fault>),
    /// By an interrupt or a timeout: the error that says which.
    Cancelled(crate::base::Error),
}

impl Interpreter {
    /// An interpreter over a machine's devices, with its output going to `host`.
    pub fn new(machine: Arc<Machine>, host: Arc<dyn Host>, limits: &Limits) -> Interpreter {
        let interpreter = Interpreter::beside(machine, Arc::clone(&host), limits);
        let machine = interpreter.machine();
        // The engine holds the host; the machine, which a host may hold, does not.
        let warned = Arc::downgrade(&host);
        let warner = move |text: &str| warned.upgrade().into_iter().for_each(|host| host.warn(text));
        machine.shared.set_warner(Some(Arc::new(warner)));
        interpreter
    }

    /// An interpreter that a machine knows nothing of: does not warn through it.
    pub(crate) fn beside(machine: Arc<Machine>, host: Arc<dyn Host>, limits: &Limits) -> Interpreter {
        let (figure, latest) = (modules::Current::default(), Latest::default());
        Interpreter {
            engine: Arc::new(build_with(&machine, &host, limits, &figure, &latest)),
            figure,
            latest,
            scope: Scope::new(),
            times: Times::new(),
            library: AST::empty(),
            sources: Sources::default(),
            machine,
            names: help::all_names(),
        }
    }

    /// The devices that scripts see.
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// What interrupts a run, from any thread.
    pub fn cancel(&self) -> &Cancel {
        &self.machine.shared.cancel
    }

    /// The engine, with all that scripts can call.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The engine, to register more; none while another holds it.
    pub(crate) fn engine_mut(&mut self) -> Option<&mut Engine> {
        Arc::get_mut(&mut self.engine)
    }

    /// The engine, and the functions of everything evaluated so far.
    pub(crate) fn parts(&self) -> (Arc<Engine>, AST) {
        (Arc::clone(&self.engine), self.library.clone())
    }

    /// What code the functions come from.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The variables, the newest of each name: whether each is a constant, and its value.
    pub(crate) fn newest(&self) -> Vec<(&str, bool, Dynamic)> {
        let mut seen = std::collections::HashSet::new();
        // A scope is gone through from its newest entry to its oldest.
        self.scope
            .iter_raw()
            .filter(|(name, ..)| seen.insert(*name))
            .map(|(name, constant, value)| (name, constant, value.clone()))
            .collect()
    }

    /// The variables, as the last run left them.
    pub fn scope(&self) -> &Scope<'static> {
        &self.scope
    }

    /// Binds a variable in the scope.
    pub fn set(&mut self, name: &str, value: Dynamic) {
        self.scope.set_or_push(name, value);
    }

    /// Gives a value a name that all code knows, functions too.
    pub fn set_constant(&mut self, name: &'static str, value: Dynamic) {
        let mut module = Module::new();
        module.set_var(name, value);
        if let Some(engine) = self.engine_mut() {
            engine.register_global_module(module.into());
        }
        self.names.push(name);
    }

    /// Evaluates code; its variables and functions stay. Gives the last expression's value.
    pub fn evaluate(&mut self, cell: u32, origin: &Origin) -> Result<Dynamic, Stopped> {
        let _here = self.machine.enter();
        let place = CodePlace { cell, before: origin.first_line.saturating_sub(1) };
        self.machine.shared.begin(place);
        self.machine.shared.note_text(cell, origin.code);
        let ast = self
            .engine
            .compile_with_scope(&self.scope, rewrite::prepared(&self.engine, origin.code))
            .map_err(|e| self.unparsed(&e, origin, &self.scope))?;
        let is_variable = |name: &str| self.scope.get(name).is_some();
        differs::read(&self.machine.shared, &ast, origin.code, place, is_variable);
        let hollow = !self.machine.shared.has_values();
        let before = Before { scope: &self.scope, library: &self.library, place, code: origin.code, hollow };
        let told = program::prepared(&self.engine, &ast, &before);
        let functions = told.clone_functions_only();
        self.sources.define(&functions, origin);
        let program = self.library.merge(&told);
        self.library = self.library.merge(&functions);
        self.latest.set(program.shared_lib());
        self.machine.shared.forget_read();
        let mut result = self
            .engine
            .eval_ast_with_scope::<Dynamic>(&mut self.scope, &program)
            .or_else(modules::exits::ended);
        if let Err(error) = &mut result {
            frames::meet(error, &self.scope, (0, false), told.statements());
        }
        // What a cell shows of its last value is that line's doing.
        let last = ast.statements().last().and_then(|statement| statement.position().line());
        last.filter(|_| result.is_ok())
            .into_iter()
            .for_each(|line| self.machine.shared.set_line(line as u32));
        self.drop_shadowed();
        // Where there are both, values know their clocks.
        if !self.machine.shared.has_both_clocks() {
            self.times = self.look(self.clocks_read()).remember(&ast);
        }
        let settled = self.machine.settle();
        let result = result.and_then(|value| settled.map_err(raise).map(|()| value));
        result.map_err(|error| self.stopped(&error, origin, &ast, &self.scope))
    }

    /// The clock of the times that an answer reads, told by how it is written; none where it reads none.
    pub(crate) fn clock_of(&self, code: &str) -> Option<Clock> {
        self.look(self.events_clocks()).over(code).alone()
    }

    /// What is told of an answer or a check that mixes measured with modelled time, in a line of it where that is known.
    pub(crate) fn mixture(&self, code: &str, line: Option<u32>) -> crate::base::Error {
        self.look(self.events_clocks()).mixture(code, line)
    }

    fn events_clocks(&self) -> Clocks {
        let gpus = self.machine.gpus().iter().map(|gpu| Clocks::of(gpu.backend.properties().clock));
        gpus.fold(Clocks::default(), Clocks::and)
    }

    fn look(&self, machine: Clocks) -> Look<'_> {
        Look { engine: &self.engine, scope: &self.scope, times: &self.times, machine }
    }

    /// The clocks that the last run has read times from.
    fn clocks_read(&self) -> Clocks {
        let read = [Clock::Measured, Clock::Modelled].into_iter();
        let read = read.filter(|clock| self.machine.shared.has_read(*clock));
        read.map(Clocks::of).fold(Clocks::default(), Clocks::and)
    }

    /// Forgets variables that a later `let` of the same name hides: nothing can reach them any more, and what
    /// they hold is freed.
    fn drop_shadowed(&mut self) {
        let mut seen = std::collections::HashSet::new();
        let hidden = |(name, _, _): (&'_ str, bool, &Dynamic)| !seen.insert(name.to_string());
        if !self.scope.iter_raw().any(hidden) {
            return;
        }
        let mut kept = Scope::new();
        for (name, constant, value) in self.newest().into_iter().rev() {
            if constant {
                kept.push_constant_dynamic(name.to_owned(), value);
            } else {
                kept.push_dynamic(name.to_owned(), value);
            }
        }
        self.scope = kept;
    }

    /// Evaluates code in a scope of its own, in which nothing that was evaluated before can be called.
    /// `to_its_end` fails where `exit` or `return` ends the code before its last line.
    pub(crate) fn evaluate_in(
        &self,
        mut scope: Scope<'static>,
        origin: &Origin,
        to_its_end: bool,
    ) -> Result<Dynamic, Stopped> {
        let _here = self.machine.enter();
        let ast = self
            .engine
            .compile_with_scope(&scope, rewrite::prepared(&self.engine, origin.code))
            .map_err(|e| self.unparsed(&e, origin, &scope))?;
        let cell = self.machine.shared.source().cell;
        let place = CodePlace { cell, before: 0 };
        let hollow = !self.machine.shared.has_values();
        let before = Before { scope: &scope, library: &AST::empty(), place, code: origin.code, hollow };
        let mut program = program::prepared(&self.engine, &ast, &before);
        scope.push(ENDED, !to_its_end);
        let end = self.engine.compile_with_scope(&scope, format!("{ENDED} = true;"));
        if let (true, Ok(end)) = (to_its_end, end) {
            program = program.merge(&end);
        }
        let mut result = self.engine.eval_ast_with_scope::<Dynamic>(&mut scope, &program);
        if let Err(error) = &mut result {
            frames::meet(error, &scope, (0, false), program.statements());
        }
        if result.is_ok() && scope.get_value(ENDED) != Some(true) {
            return Err(Stopped::Fault(Box::new(Fault::from_error(&Error::runtime(ENDS_EARLY)))));
        }
        result.map_err(|error| self.stopped(&error, origin, &ast, &scope))
    }

    /// The printed form of a value, as a cell shows its last expression.
    pub fn show(&self, value: &Dynamic) -> Result<String, Stopped> {
        let _here = self.machine.enter();
        if let Some(t) = value.read_lock::<Tensor>() {
            let origin = Origin { name: "", code: "", first_line: 1 };
            return display(&t).map_err(|e| self.stopped(&raise(e), &origin, &AST::empty(), &self.scope));
        }
        let mut scope = Scope::new();
        scope.push_dynamic("value", value.clone());
        match self.engine.eval_expression_with_scope::<String>(&mut scope, "to_debug(value)") {
            Ok(text) => Ok(text),
            Err(_) => Ok(value.to_string()),
        }
    }

    /// What stands behind a value where it is shown: that it is a mixture of measured with modelled time.
    pub(crate) fn note(&self, value: &Dynamic) -> String {
        if self.machine.shared.has_both_clocks() { carry::note(value) } else { String::new() }
    }

    /// The figure that a value is, if it is one.
    pub(crate) fn figure_of(value: &Dynamic) -> Option<Figure> {
        modules::figure_of(value)
    }

    /// Ends the figure that `plot::…` draws on; gives it where it was neither shown nor saved, and is not `value`.
    pub(crate) fn close_figure(&self, value: Option<&Dynamic>) -> Option<Figure> {
        modules::close_figure(&self.figure, value)
    }

    /// Drops every variable and function.
    pub fn reset(&mut self) {
        self.scope.clear();
        self.library = AST::empty();
        self.sources = Sources::default();
    }

    /// The names a misspelt one is compared with: functions, modules and variables.
    pub(crate) fn known_names(&self) -> Vec<&str> {
        let variables = self.scope.iter_raw().map(|(name, _, _)| name);
        // Of two that are as near the learner's own is meant.
        variables.chain(self.names.iter().copied()).collect()
    }

    /// What a line may name that is not in it.
    fn known(&self, scope: &Scope) -> phrases::SessionNames {
        let variables = scope.iter_raw().map(|(name, _, value)| (name, value.clone()));
        phrases::SessionNames::of(variables, &self.library)
    }

    /// What a function takes that this code has, or code before it.
    fn takes(&self, name: &str, ast: &AST) -> Option<Takes> {
        let is_own = || ast.iter_functions().any(|function| function.name == name);
        let earlier = || self.sources.of(name).filter(|_| !is_own()).map(|source| &source.code);
        match earlier().map(|code| self.engine.compile(rewrite::prepared(&self.engine, code))) {
            Some(Ok(code)) => Takes::of(name, &code, &self.library),
            _ => Takes::of(name, ast, &self.library),
        }
    }

    fn unparsed(&self, error: &ParseError, origin: &Origin, scope: &Scope) -> Stopped {
        let fault = Fault::from_parse(error, origin);
        // To read what is too deep for the parser as Python takes too long.
        let fault = match error.err_type() {
            ParseErrorType::ExprTooDeep => fault,
            _ => phrases::cure(fault, origin, || self.known(scope)),
        };
        Stopped::Fault(Box::new(fault))
    }

    fn stopped(&self, error: &EvalAltResult, origin: &Origin, ast: &AST, scope: &Scope) -> Stopped {
        if self.cancel().is_set() {
            return Stopped::Cancelled(self.cancel().error());
        }
        let takes = |name: &str| self.takes(name, ast);
        let (members, written) = (help::members, help::written);
        let known = KnownNames { names: &self.known_names(), members, written, takes: &takes };
        let explain = |error: &mut crate::base::Error, position| {
            let op = error.op();
            operands::name(error.operands_mut(), op, ast, position, scope);
        };
        let fault = Fault::from_eval(error, origin, &self.sources, &known, explain);
        let fault = hollow::explain(&self.machine.shared, fault, origin);
        if fault.elsewhere.is_some() {
            let fault = phrases::cure_there(fault, origin, &self.sources, || self.known(scope));
            return Stopped::Fault(Box::new(fault));
        }
        Stopped::Fault(Box::new(phrases::cure(fault, origin, || self.known(scope))))
    }
}

/// An engine with everything a script can call.
pub fn build(machine: &Arc<Machine>, host: &Arc<dyn Host>, limits: &Limits) -> Engine {
    build_with(machine, host, limits, &modules::Current::default(), &Latest::default())
}

fn build_with(
    machine: &Arc<Machine>,
    host: &Arc<dyn Host>,
    limits: &Limits,
    figure: &modules::Current,
    latest: &Latest,
) -> Engine {
    let mut engine = Engine::new();
    limit(&mut engine, limits);
    let printer = Arc::clone(host);
    engine.on_print(move |text| line_ends::write(&*printer, text));
    let printer = Arc::clone(host);
    engine.on_debug(move |text, _, position| printer.print(&format!("[{position}] {text}")));
    let shared = Arc::clone(&machine.shared);
    engine.on_progress(move |_| {
        shared.step();
        match (shared.cancel.is_set(), hold_reserve()) {
            (true, _) => Some(Dynamic::UNIT),
            // A script's values took what is set aside: it ends before nothing is left.
            (_, Err(error)) => Some(Dynamic::from(error)),
            _ => None,
        }
    });
    syntax::register(&mut engine);
    printing::register(&mut engine, &machine.shared);
    strings::register(&mut engine);
    timestamp::register(&mut engine, &machine.shared);
    let words = Vocabulary { names: help::all_names, members: help::members, written: help::written };
    program::register(&mut engine, &machine.shared, words);
    let mut functional = Module::new();
    bind::register_ops(&mut engine, &mut functional, &machine.shared);
    engine.register_static_module("F", functional.into());
    indexing::register(&mut engine, &machine.shared);
    // Functions that a loader's workers call run on an engine of their own: this one is the session's.
    let (m, h, l) = (Arc::clone(machine), Arc::clone(host), limits.clone());
    let fork = || Box::new(Lender::for_worker(&Machine::current().generator)) as Box<dyn Copies>;
    let aside = Aside::new(move || build(&m, &h, &l), words, latest, fork);
    modules::register(&mut engine, machine, host, &aside, figure);
    if machine.shared.has_both_clocks() {
        carry::register(&mut engine, Mixing::Marked);
    }
    if !machine.shared.has_values() {
        hollow::register(&mut engine, &machine.shared);
    }
    engine
}

pub(super) fn limit(engine: &mut Engine, limits: &Limits) {
    // Rhai's optimiser turns `b = b + 1` into `b += 1`, which would write into every tensor that shares `b`.
    engine.set_optimization_level(rhai::OptimizationLevel::None);
    engine.set_max_call_levels(limits.call_depth);
    engine.set_max_expr_depths(256, 128);
    engine.set_max_string_size(limits.string_bytes);
    engine.set_max_array_size(limits.array_length);
    engine.set_max_map_size(limits.map_length);
    engine.set_module_resolver(rhai::module_resolvers::DummyModuleResolver::new());
    engine.disable_symbol("eval");
}
