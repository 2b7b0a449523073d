//! A walk through a tree that tells each variable from others of its name. It goes twice: once to see, once to change.

use super::bindings::{Binding, BindingKind, Changes, Closure, Mention, Mutation, Names, Store, Used};
use super::numbers::may_be_negative;
use super::tree::{Block, Expr, Part, Stmt, only_value, with_copy};

/// Methods that change the array, map or text that they are called on, and nothing else has.
const LIST_CHANGES: [&str; 14] = [
    "push",
    "pop",
    "shift",
    "splice",
    "truncate",
    "chop",
    "pad",
    "drain",
    "retain",
    "dedup",
    "sort_by",
    "sort_desc",
    "mixin",
    "fill_with",
];
/// Such methods that other values have as well.
const OTHER_CHANGES: [&str; 7] = ["insert", "append", "remove", "set", "sort", "reverse", "clear"];
/// Methods that keep what they are given.
const STORING: [&str; 5] = ["push", "insert", "append", "set", "pad"];
/// Methods that Python has as functions, and what they are called there.
const BUILT_IN: [(&str, &str); 19] = [
    ("len", "len"),
    ("is_empty", "len"),
    ("to_string", "str"),
    ("to_int", "int"),
    ("to_float", "float"),
    ("abs", "abs"),
    ("some", "any"),
    ("find", "next"),
    ("find_map", "next"),
    ("index_of", "next"),
    ("order", "sorted"),
    ("order_by", "sorted"),
    ("keys", "sorted"),
    ("items", "sorted"),
    ("values", "sorted"),
    ("to_array", "list"),
    ("collect", "list"),
    ("to_chars", "list"),
    ("parameters", "list"),
];

struct Scope {
    block: usize,
    /// Whether nothing around is seen from here.
    closed: bool,
    names: Vec<usize>,
}

pub(super) struct TreeWalk {
    at: usize,
    scopes: Vec<Scope>,
    blocks: usize,
    /// Functions by what they stand in; and the one that is walked through.
    pub within: Vec<usize>,
    function: usize,
    pub loops: Vec<(usize, usize)>,
    pub bindings: Vec<Binding>,
    pub free: Vec<Mention>,
    pub stores: Vec<Store>,
    pub closures: Vec<Closure>,
    /// Functions of Python's own that will be called.
    pub built_in: Vec<&'static str>,
    pub negative: Vec<String>,
    pub keys: Vec<String>,
    pub functions: Vec<(String, Vec<String>)>,
    changes: Option<Changes>,
}

impl TreeWalk {
    pub(super) fn new(names: &Names, changes: Option<Changes>) -> TreeWalk {
        let mut walk = TreeWalk {
            at: 0,
            scopes: vec![Scope { block: 0, closed: true, names: Vec::new() }],
            blocks: 0,
            within: vec![0],
            function: 0,
            loops: Vec::new(),
            bindings: Vec::new(),
            free: Vec::new(),
            stores: Vec::new(),
            closures: Vec::new(),
            built_in: Vec::new(),
            negative: names.negative.clone(),
            keys: names.keys.clone(),
            functions: names.functions.clone(),
            changes,
        };
        for (name, _) in &names.top {
            let mut name = name.clone();
            walk.declare(&mut name, BindingKind::Outside, None);
        }
        walk
    }

    pub(super) fn run(&mut self, block: &mut Block) {
        for statement in block.iter() {
            if let Stmt::Fn(name, params, _) = statement {
                self.functions.push((name.clone(), params.clone()));
            }
        }
        self.statements(block);
    }

    pub(super) fn top_names(&self) -> Vec<String> {
        self.bindings.iter().filter(|binding| binding.is_top()).map(|binding| binding.name.clone()).collect()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        let free = self.free.iter().map(|mention| &mention.name);
        self.bindings.iter().map(|binding| &binding.name).chain(free)
    }

    fn place(&mut self) -> usize {
        self.at += 1;
        self.at
    }

    fn declare(&mut self, name: &mut String, kind: BindingKind, value: Option<&Expr>) -> usize {
        let shadows = self.find(name);
        let at = self.place();
        let block = self.scopes.last().map_or(0, |scope| scope.block);
        let list = matches!(value, Some(Expr::Array(_) | Expr::Map(_)))
            || matches!(value, Some(Expr::Method(_, method, _)) if matches!(method.as_str(), "map" | "filter" | "to_array"));
        let plain = matches!(
            value,
            Some(
                Expr::Number(_)
                    | Expr::Text(_)
                    | Expr::Template(_)
                    | Expr::Bool(_)
                    | Expr::Array(_)
                    | Expr::Map(_)
                    | Expr::Binary(..)
                    | Expr::Call(..)
                    | Expr::Method(..)
            )
        );
        let index = self.bindings.len();
        self.bindings.push(Binding {
            name: name.clone(),
            at,
            block,
            function: self.function,
            kind,
            shadows,
            list,
            plain,
            closure: None,
            uses: Vec::new(),
        });
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.push(index);
        }
        if kind != BindingKind::Outside {
            self.rename(name, at);
        }
        index
    }

    fn find(&self, name: &str) -> Option<usize> {
        for scope in self.scopes.iter().rev() {
            let is_it = |i: &&usize| self.bindings.get(**i).is_some_and(|binding| binding.name == name);
            if let Some(found) = scope.names.iter().rev().find(is_it) {
                return Some(*found);
            }
            if scope.closed {
                return None;
            }
        }
        None
    }

    fn rename(&self, name: &mut String, at: usize) {
        if let Some(changes) = &self.changes
            && let Ok(found) = changes.renamed.binary_search_by_key(&at, |(at, _)| *at)
            && let Some((_, new)) = changes.renamed.get(found)
        {
            name.clone_from(new);
        }
    }

    fn mention(&mut self, name: &mut String, change: Mutation) -> Option<usize> {
        let at = self.place();
        let function = self.function;
        let found = self.find(name);
        match found.and_then(|i| self.bindings.get_mut(i)) {
            Some(binding) => binding.uses.push(Used { at, function, change }),
            None => self.free.push(Mention { name: name.clone(), at, function }),
        }
        self.rename(name, at);
        found
    }

    /// A name that is called: a function's, but where a variable may hold one.
    fn called(&mut self, name: &mut String) {
        let variable = self.find(name).and_then(|i| self.bindings.get(i));
        if variable.is_some_and(|binding| binding.plain || binding.kind == BindingKind::Outside)
            && self.is_function(name)
        {
            let at = self.place();
            self.free.push(Mention { name: name.clone(), at, function: self.function });
            return;
        }
        self.mention(name, Mutation::None);
    }

    fn enter(&mut self, closed: bool) {
        self.blocks += 1;
        self.scopes.push(Scope { block: self.blocks, closed, names: Vec::new() });
    }

    fn block(&mut self, block: &mut Block) {
        self.enter(false);
        self.statements(block);
        self.scopes.pop();
    }

    fn statements(&mut self, block: &mut Block) {
        block.iter_mut().for_each(|statement| self.statement(statement));
    }

    /// Walks through what is done again and again.
    fn repeated(&mut self, walk: impl FnOnce(&mut TreeWalk)) {
        let from = self.place();
        let index = self.loops.len();
        self.loops.push((from, usize::MAX));
        walk(self);
        let to = self.place();
        if let Some(all) = self.loops.get_mut(index) {
            all.1 = to;
        }
    }

    fn statement(&mut self, statement: &mut Stmt) {
        match statement {
            Stmt::Let(name, value) => self.let_statement(name, value),
            Stmt::Assign(target, sign, value) => {
                let before = self.stores.len();
                let direct = is_held(value) && matches!(target, Expr::Path(_));
                self.value(value, sign == "=");
                self.signed(target, sign.starts_with('-'), value);
                let change =
                    if matches!(target, Expr::Path(_)) { Mutation::Assigned } else { Mutation::Item };
                let into = self.target(target, change);
                self.stored_in(before, into, direct);
            }
            Stmt::Expr(value, _) => self.value(value, false),
            Stmt::Return(value) | Stmt::Throw(value) | Stmt::Break(value) => {
                value.iter_mut().for_each(|value| self.value(value, false));
            }
            Stmt::Fn(_, params, body) => self.function(params, body, true),
            Stmt::For(names, items, body) => {
                self.value(items, false);
                names.iter().for_each(|name| self.note_sign(name, may_be_negative(items, &self.negative)));
                self.repeated(|walk| {
                    walk.enter(false);
                    let own = walk.given(names, BindingKind::Loop);
                    walk.statements(body);
                    walk.scopes.pop();
                    own.iter().for_each(|name| with_copy(body, name));
                });
            }
            Stmt::While(condition, body) => self.repeated(|walk| {
                walk.value(condition, false);
                walk.block(body);
            }),
            Stmt::DoWhile(body, condition) => self.repeated(|walk| {
                walk.block(body);
                walk.value(condition, false);
            }),
            Stmt::Try(body, name, handler) => {
                self.block(body);
                self.enter(false);
                if let Some(name) = name {
                    self.declare(name, BindingKind::Caught, None);
                }
                self.statements(handler);
                self.scopes.pop();
            }
            Stmt::Continue | Stmt::Comment(..) | Stmt::Blank => {}
        }
    }

    fn let_statement(&mut self, name: &mut String, value: &mut Option<Expr>) {
        let (stores, closures) = (self.stores.len(), self.closures.len());
        let direct = value.as_ref().is_some_and(is_held);
        if let Some(value) = value {
            self.value(value, direct);
            self.note_sign(name, may_be_negative(value, &self.negative));
        }
        let index = self.declare(name, BindingKind::Let, value.as_ref());
        self.stored_in(stores, Some(index), direct);
        if matches!(value, Some(Expr::Closure(..)))
            && let Some(binding) = self.bindings.get_mut(index)
        {
            binding.closure = Some(closures);
        }
    }

    /// Says where that is put which was met since.
    fn stored_in(&mut self, since: usize, into: Option<usize>, direct: bool) {
        for store in self.stores.iter_mut().skip(since).filter(|store| store.into.is_none()) {
            (store.into, store.direct) = (into, direct);
        }
    }

    fn note_sign(&mut self, name: &str, below: bool) {
        if below && !self.negative.iter().any(|one| one == name) {
            self.negative.push(name.to_owned());
        }
    }

    fn signed(&mut self, target: &Expr, below: bool, value: &Expr) {
        if let Expr::Path(path) = target
            && let [name] = path.as_slice()
        {
            let below = below || may_be_negative(value, &self.negative);
            self.note_sign(name, below);
        }
    }

    /// Names that a body is given, and which of them it must copy.
    fn given(&mut self, names: &mut [String], kind: BindingKind) -> Vec<String> {
        let mut own = Vec::new();
        for name in names {
            let index = self.declare(name, kind, None);
            let at = self.bindings.get(index).map_or(0, |binding| binding.at);
            if self.changes.as_ref().is_some_and(|changes| changes.own.contains(&at)) {
                own.push(name.clone());
            }
        }
        own
    }

    fn function(&mut self, params: &mut [String], body: &mut Block, closed: bool) {
        let around = self.function;
        self.function = self.within.len();
        self.within.push(around);
        self.enter(closed);
        let own = self.given(params, BindingKind::Param);
        self.statements(body);
        self.scopes.pop();
        self.function = around;
        own.iter().for_each(|name| with_copy(body, name));
    }

    /// What is changed: the variable that it is a part of.
    fn target(&mut self, target: &mut Expr, change: Mutation) -> Option<usize> {
        match target {
            Expr::Path(path) => match path.as_mut_slice() {
                [name] => self.mention(name, change),
                _ => None,
            },
            Expr::Field(on, _) | Expr::Index(on, _) if matches!(**on, Expr::Path(_)) => {
                let into = self.target(on, change);
                self.learn_map(into, target);
                if let Expr::Index(_, at) = target {
                    self.value(at, false);
                }
                into
            }
            Expr::Field(on, _) => self.target(on, Mutation::Deep),
            Expr::Index(on, at) => {
                let into = self.target(on, Mutation::Deep);
                self.value(at, false);
                into
            }
            other => {
                self.value(other, false);
                None
            }
        }
    }

    fn learn_key(&mut self, key: &str) {
        if !self.keys.iter().any(|one| one == key) {
            self.keys.push(key.to_owned());
        }
    }

    /// What is known of a variable by the entry of it that is set.
    fn learn_map(&mut self, variable: Option<usize>, entry: &Expr) {
        let Some(binding) = variable.and_then(|i| self.bindings.get_mut(i)) else { return };
        match entry {
            Expr::Field(_, name) if binding.list => self.learn_key(&name.clone()),
            Expr::Field(_, name) => {
                let is_own = matches!(binding.name.as_str(), "self" | "this" | "ctx");
                binding.list = binding.kind == BindingKind::Param && !is_own && self.keys.contains(name);
            }
            _ => {}
        }
    }

    /// A value; `stored` where it is kept under another name.
    fn value(&mut self, value: &mut Expr, stored: bool) {
        let at = self.place();
        match value {
            Expr::Path(path) => {
                if let [name] = path.as_mut_slice() {
                    let found = self.mention(name, Mutation::None);
                    self.store(at, found, stored, false);
                }
            }
            Expr::Field(..) | Expr::Index(..) => {
                let root = self.parts(value);
                self.store(at, root, stored, true);
            }
            Expr::Array(items) => items.iter_mut().for_each(|item| self.value(item, true)),
            Expr::Map(pairs) => {
                for (key, item) in pairs {
                    self.learn_key(key);
                    self.value(item, true);
                }
            }
            Expr::Template(parts) => {
                for part in parts {
                    if let Part::Code(code) = part {
                        self.block(code);
                    }
                }
            }
            Expr::Unary(_, inner) | Expr::Copy(inner) => self.value(inner, false),
            Expr::Binary(_, a, b) | Expr::Range(a, b, _) => {
                self.value(a, false);
                self.value(b, false);
            }
            Expr::Call(callee, given) => self.call(callee, given),
            Expr::Method(on, name, given) => self.method(on, name, given),
            Expr::Closure(params, body) => self.closure(at, params, body, stored),
            Expr::If(branches, otherwise) => {
                for (condition, body) in branches {
                    self.value(condition, false);
                    self.block(body);
                }
                otherwise.iter_mut().for_each(|body| self.block(body));
            }
            Expr::Block(body) => self.block(body),
            Expr::Loop(body) => self.repeated(|walk| walk.block(body)),
            Expr::With(context, body) => {
                self.value(context, false);
                self.block(body);
            }
            Expr::Switch(subject, cases, otherwise) => {
                self.value(subject, false);
                for case in cases {
                    case.values.iter_mut().for_each(|value| self.value(value, false));
                    case.condition.iter_mut().for_each(|value| self.value(value, false));
                    self.block(&mut case.body);
                }
                otherwise.iter_mut().for_each(|body| self.block(body));
            }
            Expr::Unit | Expr::Bool(_) | Expr::Number(_) | Expr::Text(_) => {}
        }
        if self.changes.as_ref().is_some_and(|changes| changes.copied.contains(&at)) {
            let inner = std::mem::replace(value, Expr::Unit);
            *value = Expr::Copy(Box::new(inner));
        }
    }

    fn store(&mut self, at: usize, source: Option<usize>, stored: bool, part: bool) {
        if let Some(source) = source.filter(|_| stored) {
            let closure = self.bindings.get(source).and_then(|binding| binding.closure);
            if let Some(closure) = closure.and_then(|i| self.closures.get_mut(i)) {
                closure.escapes = true;
            }
            self.stores.push(Store { at, source, into: None, direct: false, part });
        }
    }

    /// A field or an item, and the variable that it is a part of.
    fn parts(&mut self, value: &mut Expr) -> Option<usize> {
        match value {
            Expr::Path(path) => match path.as_mut_slice() {
                [name] => self.mention(name, Mutation::None),
                _ => None,
            },
            Expr::Field(on, _) => self.parts(on),
            Expr::Index(on, at) => {
                let root = self.parts(on);
                self.value(at, false);
                root
            }
            other => {
                self.value(other, false);
                None
            }
        }
    }

    fn call(&mut self, callee: &mut Expr, given: &mut [Expr]) {
        let mut params = Vec::new();
        match callee {
            Expr::Path(path) => {
                if let [name] = path.as_mut_slice() {
                    let same =
                        |(one, params): &&(String, Vec<String>)| one == name && params.len() == given.len();
                    params = self
                        .functions
                        .iter()
                        .rev()
                        .find(same)
                        .map(|(_, params)| params.clone())
                        .unwrap_or_default();
                    self.called(name);
                }
            }
            other => self.value(other, false),
        }
        for (param, value) in params.iter().zip(given.iter()) {
            let below = may_be_negative(value, &self.negative);
            self.note_sign(param, below);
        }
        self.options(given);
    }

    /// Arguments, none of which is stored: options' values neither.
    fn options(&mut self, given: &mut [Expr]) {
        for value in given {
            match value {
                Expr::Map(pairs) => pairs.iter_mut().for_each(|(_, value)| self.value(value, false)),
                value => self.value(value, false),
            }
        }
    }

    fn method(&mut self, on: &mut Expr, name: &str, given: &mut [Expr]) {
        self.built_in
            .extend(BUILT_IN.iter().filter(|(method, _)| *method == name).map(|(_, function)| *function));
        if name == "all" && matches!(given, [Expr::Closure(..)]) {
            self.built_in.push("all");
        }
        let is_list = LIST_CHANGES.contains(&name);
        let changes = is_list || OTHER_CHANGES.contains(&name) && !(name == "sort" && given.is_empty());
        let into = match on {
            Expr::Path(_) if changes => {
                self.target(on, if is_list { Mutation::List } else { Mutation::Item })
            }
            Expr::Field(..) | Expr::Index(..) if changes => self.target(on, Mutation::Deep),
            _ => {
                self.value(on, false);
                None
            }
        };
        if name == "len"
            && let Expr::Path(path) = &*on
            && let Some(binding) =
                path.first().and_then(|name| self.find(name)).and_then(|i| self.bindings.get_mut(i))
        {
            binding.list = true;
        }
        let before = self.stores.len();
        let closures = self.closures.len();
        if STORING.contains(&name) || name.starts_with("register_") {
            given.iter_mut().for_each(|value| self.value(value, true));
            self.stored_in(before, into, false);
            return;
        }
        self.options(given);
        if matches!(name, "map" | "filter")
            && matches!(given, [Expr::Closure(..)])
            && let Some(each) = self.closures.get_mut(closures)
        {
            each.each = true;
        }
    }

    fn closure(&mut self, at: usize, params: &mut Vec<String>, body: &mut Block, stored: bool) {
        let index = self.closures.len();
        let function = self.within.len();
        self.closures.push(Closure { at, function, escapes: stored, each: false });
        let gives_one = matches!(only_value(body), Some(Expr::Closure(..)));
        self.function(params, body, false);
        if gives_one && let Some(inner) = self.closures.get_mut(index + 1) {
            inner.escapes = true;
        }
        if let Some(changes) = &self.changes {
            let kept = changes.kept.iter().filter(|(place, _)| *place == at);
            params.extend(kept.map(|(_, name)| format!("{name}={name}")));
        }
    }
}

/// What has a name already.
fn is_held(value: &Expr) -> bool {
    matches!(value, Expr::Path(_) | Expr::Field(..) | Expr::Index(..))
}
