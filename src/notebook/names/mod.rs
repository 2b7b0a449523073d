//! Which names a cell's code defines and which it needs, from Rhai's own syntax tree. Nothing is evaluated.
//!
//! A change counts as a definition: `x += 1`, `x[0] = 1`, `x.y = 1`, `x.push(1)` and `x.add_(1)` need `x` and define it
//! anew. Names of blocks, loops, parameters and `catch` are the cell's own. A closure needs what it captures. Functions
//! see no variables, constants aside; what their bodies need is needed by those who call them.
//!
//! What only a run can tell is not seen: a change through another name (`let b = a; b.push(1)` where `a` is shared), a
//! parameter that `loss.backward()` gives a gradient, a function named by a text that is computed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::LazyLock;

use rhai::{AST, ASTFlags, ASTNode, BinaryExpr, Expr, FlowControl, FnCallExpr, FnPtr, Stmt};

use crate::op::Form;
use crate::script::arity::CLOSURE;
use crate::script::call::told_as;
use crate::script::help;
use crate::script::parse::Parser;

/// What a name means. A variable and a function of one name are two things.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Name {
    Variable(String),
    Function(String),
    /// What `import` brings in, or a module of the language such as `nn`.
    Module(String),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Variable(name) => f.write_str(name),
            Name::Function(name) => write!(f, "{name}()"),
            Name::Module(name) => write!(f, "{name}::"),
        }
    }
}

/// The names of a cell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    /// Bound or changed by the cell, and to be seen by cells that run later.
    pub defines: BTreeSet<Name>,
    /// Needed from cells that ran before, or from the language itself.
    pub uses: BTreeSet<Name>,
    /// What the body of each function that the cell defines needs when it is called.
    pub bodies: BTreeMap<String, BTreeSet<Name>>,
}

/// How often a method changes what it is called on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changes {
    Never,
    /// That of a module or an array does, that of a tensor of the same name gives another one.
    Sometimes,
    Always,
}

/// What the tables say of methods by a name.
fn changes(name: &str) -> Changes {
    static METHODS: LazyLock<HashMap<&str, (bool, bool)>> = LazyLock::new(|| {
        let mut all: HashMap<&str, (bool, bool)> = HashMap::new();
        for def in help::rows().filter(|def| def.forms.contains(&Form::Method)) {
            let (any, every) = all.entry(told_as(def.name)).or_insert((false, true));
            (*any, *every) = (*any || def.changes, *every && def.changes);
        }
        all
    });
    match METHODS.get(name) {
        _ if name.ends_with('_') => Changes::Always,
        Some((_, true)) => Changes::Always,
        Some((true, false)) => Changes::Sometimes,
        Some((false, false)) | None => Changes::Never,
    }
}

/// The names of a cell's code; none where it is no code, as while it is being typed.
pub fn names(code: &str) -> Names {
    thread_local! {
        // A parser keeps notes between tokens, so each thread has its own.
        static PARSER: Parser = Parser::default();
    }
    match PARSER.with(|parser| parser.tree(code)) {
        Ok(tree) => of_tree(&tree, code.trim_end().ends_with(';')),
        Err(_) => Names::default(),
    }
}

fn of_tree(tree: &AST, closed: bool) -> Names {
    let named: Vec<_> = tree.iter_functions().filter(|f| !is_closure(f.name)).collect();
    let own = named.iter().map(|f| f.name.to_string()).collect();
    let mut cell = Walk { own, closed, ..Walk::new(tree) };
    cell.statements(tree.statements());
    let mut called = cell.called;
    let mut names = Names { uses: cell.uses, defines: cell.defines, ..Names::default() };
    for function in named {
        names.defines.insert(Name::Function(function.name.into()));
        let mut body = Walk { in_function: true, ..Walk::new(tree) };
        body.function(function.name, &function.params, 0);
        names.bodies.entry(function.name.into()).or_default().extend(body.uses);
    }
    // What a function needs, a cell needs that calls it.
    let mut done = BTreeSet::new();
    while let Some(function) = called.pop_first() {
        for name in names.bodies.get(&function).into_iter().flatten() {
            match name {
                Name::Function(inner) if names.bodies.contains_key(inner) => {
                    called.extend((!done.contains(inner) && *inner != function).then(|| inner.clone()));
                }
                other => {
                    names.uses.insert(other.clone());
                }
            }
        }
        done.insert(function);
    }
    names
}

fn is_closure(name: &str) -> bool {
    name.starts_with(CLOSURE)
}

/// A way through the tree.
struct Walk<'t> {
    tree: &'t AST,
    /// Functions that the cell itself defines.
    own: BTreeSet<String>,
    /// Those of them that it calls.
    called: BTreeSet<String>,
    /// Names bound so far, by block. The outermost block's are the cell's definitions.
    blocks: Vec<BTreeSet<String>>,
    /// Inside the body of a function, which sees no variables of the cell.
    in_function: bool,
    /// The code ends with a semicolon.
    closed: bool,
    uses: BTreeSet<Name>,
    defines: BTreeSet<Name>,
}

/// What stands before a part of a chain such as `x.y[i].f()`.
#[derive(Clone, Copy, PartialEq)]
enum ChainLink {
    Dot,
    Bracket,
}

impl<'t> Walk<'t> {
    fn new(tree: &'t AST) -> Walk<'t> {
        Walk {
            tree,
            own: BTreeSet::new(),
            called: BTreeSet::new(),
            blocks: vec![BTreeSet::new()],
            in_function: false,
            closed: false,
            uses: BTreeSet::new(),
            defines: BTreeSet::new(),
        }
    }

    fn is_global(&self) -> bool {
        self.blocks.len() == 1 && !self.in_function
    }

    fn bind(&mut self, name: &str) {
        if self.is_global() {
            self.defines.insert(Name::Variable(name.into()));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.insert(name.into());
        }
    }

    fn read(&mut self, name: &str) {
        if self.blocks.iter().any(|block| block.contains(name)) {
            return;
        }
        if self.own.contains(name) {
            // The name of a function is a value, too.
            self.called.insert(name.into());
        } else if !self.in_function {
            self.uses.insert(Name::Variable(name.into()));
        }
    }

    fn change(&mut self, name: &str) {
        self.read(name);
        let is_own = self.in_function || self.blocks.iter().skip(1).any(|block| block.contains(name));
        if !is_own {
            self.defines.insert(Name::Variable(name.into()));
        }
    }

    fn use_function(&mut self, name: &str) {
        // Operators are calls, too; this one is a word.
        let is_word = name != "is" && name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if self.own.contains(name) {
            self.called.insert(name.into());
        } else if is_word {
            self.uses.insert(Name::Function(name.into()));
        }
    }

    fn block(&mut self, bound: &[&str], all: &[Stmt]) {
        self.blocks.push(bound.iter().map(|name| name.to_string()).collect());
        self.statements(all);
        self.blocks.pop();
    }

    /// The body of a function or a closure. The first parameters of a closure are what it captures: they are the
    /// variables of the same names around it.
    fn function(&mut self, name: &str, params: &[&str], captured: usize) {
        let mut alone = self.tree.clone_functions_only();
        alone.retain_functions(|_, _, found, count| found == name && count == params.len());
        let bound = params.get(captured..).unwrap_or_default();
        self.blocks.push(bound.iter().map(|name| name.to_string()).collect());
        // The tree of one function: the statements at its top are the body's.
        alone.walk(&mut |path| {
            if let [ASTNode::Stmt(statement)] = path {
                self.statement(statement);
            }
            true
        });
        self.blocks.pop();
    }

    fn statements(&mut self, all: &[Stmt]) {
        for (at, statement) in all.iter().enumerate() {
            self.statement(statement);
            // What another value is made for is kept: this one was called for the change.
            if (at + 1 < all.len() || self.closed)
                && let Stmt::Expr(expression) = statement
                && may_change(expression)
            {
                self.change_root(expression);
            }
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Var(var, _, _) => {
                self.expression(&var.1);
                self.bind(&var.0.name);
            }
            Stmt::Assignment(assignment) => {
                self.expression(&assignment.1.rhs);
                self.expression(&assignment.1.lhs);
                self.change_root(&assignment.1.lhs);
            }
            Stmt::If(flow, _) | Stmt::While(flow, _) | Stmt::Do(flow, _, _) => self.flow(flow),
            Stmt::For(inner, _) => {
                let (item, counter, flow) = &**inner;
                self.expression(&flow.expr);
                let mut bound = vec![item.name.as_str()];
                bound.extend(counter.as_ref().map(|counter| counter.name.as_str()));
                self.block(&bound, flow.body.statements());
            }
            Stmt::TryCatch(flow, _) => {
                self.block(&[], flow.body.statements());
                let caught = variable(&flow.expr);
                self.block(caught.as_slice(), flow.branch.statements());
            }
            Stmt::Switch(switch, _) => {
                self.expression(&switch.0);
                for case in &switch.1.expressions {
                    self.expression(&case.lhs);
                    self.expression(&case.rhs);
                }
            }
            Stmt::Block(block) => self.block(&[], block.statements()),
            Stmt::FnCall(call, _) => self.call(call),
            Stmt::Expr(expression) => self.expression(expression),
            Stmt::BreakLoop(Some(value), ..) | Stmt::Return(Some(value), ..) => self.expression(value),
            Stmt::Import(import, _) => {
                self.expression(&import.0);
                if self.is_global() && !import.1.name.is_empty() {
                    self.defines.insert(Name::Module(import.1.name.to_string()));
                }
            }
            Stmt::Export(export, _) => self.read(&export.0.name),
            Stmt::Share(captured) => captured.iter().for_each(|(name, _)| self.read(&name.name)),
            _ => {}
        }
    }

    fn flow(&mut self, flow: &FlowControl) {
        self.expression(&flow.expr);
        self.block(&[], flow.body.statements());
        self.block(&[], flow.branch.statements());
    }

    fn expression(&mut self, expression: &Expr) {
        match expression {
            Expr::Variable(inner, _, _) => {
                let (_, name, namespace, _) = &**inner;
                match namespace.path.first().map(|first| first.name.as_str()) {
                    None => self.read(name),
                    // Functions see the constants of the cells this way.
                    Some("global") => self.insert(Name::Variable(name.to_string())),
                    Some(module) => self.insert(Name::Module(module.into())),
                }
            }
            Expr::DynamicConstant(value, _) => {
                if let Some(pointer) = value.read_lock::<FnPtr>() {
                    self.closure(pointer.fn_name(), 0);
                }
            }
            Expr::InterpolatedString(parts, _) | Expr::Array(parts, _) => {
                parts.iter().for_each(|part| self.expression(part));
            }
            Expr::Map(map, _) => map.0.iter().for_each(|(_, value)| self.expression(value)),
            Expr::Stmt(block) => self.block(&[], block.statements()),
            Expr::FnCall(call, _) => self.call(call),
            Expr::Dot(pair, flags, _) => self.chain(pair, ChainLink::Dot, *flags),
            Expr::Index(pair, flags, _) => self.chain(pair, ChainLink::Bracket, *flags),
            Expr::And(all, _) | Expr::Or(all, _) | Expr::Coalesce(all, _) => {
                all.iter().for_each(|part| self.expression(part));
            }
            Expr::Custom(custom, _) => custom.inputs.iter().for_each(|input| self.expression(input)),
            _ => {}
        }
    }

    fn insert(&mut self, name: Name) {
        self.uses.insert(name);
    }

    fn chain(&mut self, pair: &BinaryExpr, link: ChainLink, flags: ASTFlags) {
        self.expression(&pair.lhs);
        if self.links(&pair.rhs, link, flags) {
            self.change_root(&pair.lhs);
        }
    }

    /// The parts of a chain behind its first one: whether any of them changes what it is called on.
    fn links(&mut self, rest: &Expr, link: ChainLink, flags: ASTFlags) -> bool {
        let (pair, next, more) = match rest {
            Expr::Dot(pair, more, _) if !flags.intersects(ASTFlags::BREAK) => (pair, ChainLink::Dot, more),
            Expr::Index(pair, more, _) if !flags.intersects(ASTFlags::BREAK) => {
                (pair, ChainLink::Bracket, more)
            }
            last => return self.link(last, link),
        };
        let first = self.link(&pair.lhs, link);
        self.links(&pair.rhs, next, *more) || first
    }

    fn link(&mut self, part: &Expr, link: ChainLink) -> bool {
        match (part, link) {
            (Expr::MethodCall(call, _) | Expr::FnCall(call, _), ChainLink::Dot) => {
                self.use_function(&call.name);
                call.args.iter().for_each(|argument| self.expression(argument));
                changes(&call.name) == Changes::Always
            }
            (Expr::Property(..), ChainLink::Dot) => false,
            (index, _) => {
                self.expression(index);
                false
            }
        }
    }

    fn change_root(&mut self, target: &Expr) {
        let mut at = target;
        while let Expr::Dot(pair, ..) | Expr::Index(pair, ..) = at {
            at = &pair.lhs;
        }
        if let Some(name) = variable(at) {
            self.change(name);
        }
    }

    fn call(&mut self, call: &FnCallExpr) {
        let name = call.name.as_str();
        if let (Some(Expr::DynamicConstant(value, _)), "curry") = (call.args.first(), name)
            && let Some(pointer) = value.read_lock::<FnPtr>()
        {
            self.closure(pointer.fn_name(), call.args.len() - 1);
            return;
        }
        call.args.iter().for_each(|argument| self.expression(argument));
        if let Some(first) = call.namespace.path.first() {
            self.insert(Name::Module(first.name.to_string()));
            return;
        }
        match (name, call.args.first()) {
            // The name of a function or a variable, as a text.
            ("Fn" | "is_def_fn", Some(Expr::StringConstant(text, _))) => self.use_function(text),
            ("is_def_var", Some(Expr::StringConstant(text, _))) => self.read(text),
            ("Fn" | "is_def_fn" | "is_def_var" | "curry" | "call", _) => {}
            _ => self.use_function(name),
        }
        if let Some(first) = call.args.first().and_then(variable)
            && changes(name) == Changes::Always
            && !self.own.contains(name)
        {
            self.change(first);
        }
    }

    fn closure(&mut self, name: &str, captured: usize) {
        let tree = self.tree;
        match tree.iter_functions().find(|f| f.name == name) {
            Some(function) => self.function(name, &function.params, captured),
            None => self.use_function(name),
        }
    }
}

/// The name of a plain variable.
fn variable(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Variable(inner, _, _) if inner.2.path.is_empty() => Some(inner.1.as_str()),
        _ => None,
    }
}

/// Whether a chain of properties ends in a method that changes values of some types.
fn may_change(expression: &Expr) -> bool {
    let mut at = expression;
    while let Expr::Dot(pair, ..) | Expr::Index(pair, ..) = at {
        if matches!(pair.lhs, Expr::MethodCall(..) | Expr::FnCall(..)) {
            return false;
        }
        at = &pair.rhs;
    }
    matches!(at, Expr::MethodCall(call, _) if changes(&call.name) == Changes::Sometimes)
}

#[cfg(test)]
mod tests;
