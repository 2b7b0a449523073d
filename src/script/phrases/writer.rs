//! Rhai that is written in the place of Python.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use crate::base::name_map::NameMap;

use super::book::Idiom;
use super::family::Kin;
use super::names::{self, Imports};
use super::tree::Expr;

/// What is known of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holds {
    Tensor,
    /// A layer or a network.
    Module,
    Closure,
    Array,
    Map,
    Text,
    Int,
    /// An integer that is, or may be, below 0: read as [`Holds::Int`].
    Negative,
    /// Read as [`Holds::Array`], as which it is written.
    Tuple,
    /// The same of a set.
    Set,
    Float,
    Other,
}

impl Holds {
    /// What it is read as.
    pub(super) fn plain(self) -> Holds {
        match self {
            Holds::Negative => Holds::Int,
            Holds::Tuple | Holds::Set => Holds::Array,
            holds => holds,
        }
    }
}

/// What a fault says that the line alone does not.
#[derive(Clone, Default, Debug)]
pub(super) struct FaultSays {
    /// A function of a type that was asked for without a call.
    pub uncalled: Option<String>,
    /// What a call does not take: the function's name, and the types in brackets.
    pub refused: Option<(String, String)>,
    /// What a call finds no function for: the name, and the types in brackets.
    pub absent: Option<(String, String)>,
    /// The type of a condition that is neither true nor false.
    pub no_bool: Option<String>,
}

/// What the parts of a value are, by where they lie, while one asks what it is: several questions lead to each part, and
/// from there to its own.
#[derive(Clone, Default)]
pub(super) struct AskedKinds {
    depth: Cell<isize>,
    kinds: RefCell<Vec<(usize, Holds)>>,
}

impl AskedKinds {
    pub(super) fn known(&self, at: usize) -> Option<Holds> {
        self.kinds.borrow().iter().rev().find(|(part, _)| *part == at).map(|(_, kind)| *kind)
    }

    pub(super) fn deeper(&self, by: isize) {
        self.depth.set(self.depth.get() + by);
    }

    /// All is forgotten with the outermost question: the program may have come to know more until the next.
    pub(super) fn keep(&self, at: usize, kind: Holds) {
        let mut kinds = self.kinds.borrow_mut();
        if self.depth.get() == 0 {
            kinds.clear();
        } else {
            kinds.push((at, kind));
        }
    }
}

/// Writes Rhai, and notes what of Python it has met.
#[derive(Clone)]
pub(super) struct Writer<'k> {
    /// Variables, each block's on top of those around it.
    pub scopes: Vec<NameMap<Holds>>,
    pub imports: Imports,
    /// Functions of the script with their parameters.
    pub functions: NameMap<Vec<String>>,
    /// What stands for each parameter of a function where it is not given.
    pub defaults: NameMap<Vec<Option<String>>>,
    /// What `forward` takes of a class's modules, by the name of the class, of a variable or of a field.
    pub forwards: NameMap<Vec<(String, Option<String>)>>,
    /// Parameters and fields that are None where nothing is given.
    pub optional: BTreeSet<String>,
    /// Variables and fields that are given None somewhere.
    pub nones: BTreeSet<String>,
    /// Parameters for which a function stands, and lists and dictionaries of functions.
    pub callable: BTreeSet<String>,
    /// Closures that stand for methods of modules.
    pub methods: NameMap<String>,
    pub used: Vec<Idiom>,
    /// Whether a value has been written otherwise that shows no habit: a number with the point that it has in Python, a
    /// property.
    pub pointed: bool,
    pub said: &'k FaultSays,
    /// Whether nothing in the code is Rhai's alone.
    pub python: bool,
    /// Whether integers stay such when they divide, as where it is an error by zero that is waited for.
    pub whole: bool,
    /// Whether the statement stands in a `try`: what fails in it has to fail as it does in Python.
    pub tried: bool,
    /// Classes of errors that the program makes, each with the one that it is derived from.
    pub errors: NameMap<String>,
    /// Whether a value of which nothing is known is asked for what Python takes as true.
    pub chooses: bool,
    /// What the `except`s around call their errors.
    pub caught: Vec<String>,
    /// Functions that give back what they have changed, and which of their arguments it is.
    pub gives_back: NameMap<Vec<usize>>,
    /// Those among them that Python has give it as well.
    pub gives_itself: BTreeSet<String>,
    /// Whether a call is to stand as it is, and its value is not put back.
    pub plain: bool,
    /// What is written into by what such functions give in the function that is read: the variable, and the line.
    pub got_back: Vec<(String, String)>,
    /// Variables that are a copy where Python has the same array or map.
    pub copies: BTreeSet<String>,
    /// Classes that make maps, `Meter()`, and the variables that have one.
    pub objects: BTreeSet<String>,
    /// The class of what a variable or a field has, by its name.
    pub made: NameMap<String>,
    /// What the fields of each class of modules hold, with their own classes.
    pub fields: NameMap<NameMap<(Holds, Option<String>)>>,
    /// The properties of each class.
    pub properties: NameMap<BTreeSet<String>>,
    /// What is kept by a class itself, `Net.width`, and the variable that has it.
    pub of_classes: NameMap<String>,
    /// Methods that change the object that they are of, each with its class.
    pub changing: NameMap<String>,
    /// What classes that make maps keep in their objects.
    pub own_fields: BTreeSet<String>,
    /// The program's own classes that make maps.
    pub kin: NameMap<Kin>,
    /// Those whose own methods make others: a closure that runs can't be called as a method of its variable.
    pub self_made: BTreeSet<String>,
    /// Methods of what it is derived from that the class which is read calls by `super()`.
    pub supers: BTreeSet<String>,
    /// Objects that the statement puts into something else.
    pub handed: Vec<String>,
    /// Parts of dictionaries and lists that are lists: `history["loss"]`, and `rows[]` for each of them.
    pub arrays: BTreeSet<String>,
    /// Fields of which nothing is known but that a class of modules has them.
    pub guessed: BTreeSet<String>,
    /// Maps whose names were put in in alphabetical order.
    pub ordered: BTreeSet<String>,
    /// Maps whose names stand for numbers.
    pub numbered: BTreeSet<String>,
    /// What the program's functions, fields and lists are given: by this reading, and by the one before it.
    pub met: NameMap<Holds>,
    pub seen: NameMap<Holds>,
    /// The function that is read: `f`, and `.f` of a method.
    pub within: String,
    /// Dictionaries that have a value for each key, and that.
    pub standing: NameMap<String>,
    /// How much lists may hold, and what makes records.
    pub most: NameMap<String>,
    pub records: BTreeSet<String>,
    /// Whether what is written is changed.
    pub placing: bool,
    /// The array that the values of a generator go into.
    pub filled: Option<String>,
    /// Parsers of arguments, with the options that they have been given.
    pub parsers: NameMap<Vec<String>>,
    /// Functions with gradients of their own, `Cube()`, and variables that have what applies one.
    pub applied: BTreeSet<String>,
    /// Parameters of which nothing tells whether they are true or false.
    pub unclear: BTreeSet<String>,
    /// Whether the function that is written is called at once, by what it is given to.
    pub passed: bool,
    /// Lines that stand before the statement.
    pub prelude: Vec<String>,
    /// What is said before the statement of what is lost in it.
    pub marks: Vec<String>,
    /// The kinds of the value that is looked at.
    pub asked: AskedKinds,
}

/// How tightly Rhai binds.
pub(super) const LOOSE: u8 = 0;
pub(super) const UNARY: u8 = 200;
pub(super) const ATOM: u8 = 255;

pub(super) fn binds(sign: &str) -> u8 {
    match sign {
        "||" | "|" | "^" => 30,
        "&&" | "&" => 60,
        "==" | "!=" | "is" => 90,
        "in" | "!in" => 110,
        "<" | "<=" | ">" | ">=" => 130,
        "??" => 135,
        ".." => 140,
        "+" | "-" | "++" => 150,
        "**" => 190,
        "<<" | ">>" => 210,
        _ => 180,
    }
}

impl<'k> Writer<'k> {
    pub(super) fn new(known: &[(String, Holds)], said: &'k FaultSays) -> Writer<'k> {
        Writer {
            scopes: vec![known.iter().cloned().collect()],
            imports: Imports::new(),
            functions: NameMap::new(),
            defaults: NameMap::new(),
            forwards: NameMap::new(),
            optional: BTreeSet::new(),
            nones: BTreeSet::new(),
            callable: BTreeSet::new(),
            methods: NameMap::new(),
            used: Vec::new(),
            pointed: false,
            said,
            python: false,
            whole: false,
            tried: false,
            errors: NameMap::new(),
            chooses: said.no_bool.is_some(),
            caught: Vec::new(),
            gives_back: NameMap::new(),
            gives_itself: BTreeSet::new(),
            plain: false,
            got_back: Vec::new(),
            copies: BTreeSet::new(),
            objects: BTreeSet::new(),
            made: NameMap::new(),
            fields: NameMap::new(),
            properties: NameMap::new(),
            of_classes: NameMap::new(),
            changing: NameMap::new(),
            own_fields: BTreeSet::new(),
            kin: NameMap::new(),
            self_made: BTreeSet::new(),
            supers: BTreeSet::new(),
            handed: Vec::new(),
            arrays: BTreeSet::new(),
            guessed: BTreeSet::new(),
            ordered: BTreeSet::new(),
            numbered: BTreeSet::new(),
            met: NameMap::new(),
            seen: NameMap::new(),
            within: String::new(),
            standing: NameMap::new(),
            most: NameMap::new(),
            records: BTreeSet::new(),
            placing: false,
            filled: None,
            parsers: NameMap::new(),
            applied: BTreeSet::new(),
            unclear: BTreeSet::new(),
            passed: false,
            prelude: Vec::new(),
            marks: Vec::new(),
            asked: AskedKinds::default(),
        }
    }

    pub(super) fn uses(&mut self, idiom: Idiom) {
        if !self.used.contains(&idiom) {
            self.used.push(idiom);
        }
    }

    pub(super) fn holds(&self, name: &str) -> Option<Holds> {
        self.noted(name).map(Holds::plain)
    }

    /// The same with what is an array or an integer otherwise.
    pub(super) fn noted(&self, name: &str) -> Option<Holds> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    pub(super) fn bind(&mut self, name: &str, holds: Holds) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), holds);
        }
    }

    /// Notes what a variable holds, in the scope that has it.
    pub(super) fn rebind(&mut self, name: &str, holds: Holds) {
        if let Some(own) = self.scopes.iter_mut().rev().find_map(|scope| scope.get_mut(name)) {
            *own = holds;
        }
    }

    /// Whether neither the script nor the lab has something of this name.
    pub(super) fn is_free(&self, name: &str) -> bool {
        self.holds(name).is_none() && !self.functions.contains_key(name) && !names::is_function(name)
    }

    /// A name that no variable has yet.
    pub(super) fn free_name(&self, name: &str) -> String {
        let taken = |name: &str| self.holds(name).is_some() || names::is_function(name);
        let mut all = std::iter::once(name.to_owned()).chain((2..).map(|i| format!("{name}_{i}")));
        all.find(|name| !taken(name)).unwrap_or_default()
    }

    pub(super) fn expr(&mut self, value: &Expr) -> Option<String> {
        Some(self.written(value)?.0)
    }

    /// A value in brackets, where it binds less tightly than it must.
    pub(super) fn bound(&mut self, value: &Expr, least: u8) -> Option<String> {
        let (text, power) = self.written(value)?;
        Some(if power < least { format!("({text})") } else { text })
    }

    pub(super) fn written(&mut self, value: &Expr) -> Option<(String, u8)> {
        let atom = |text: String| Some((text, ATOM));
        match value {
            Expr::Name(name) => atom(self.name(name)),
            Expr::Number(text) => atom(number(text)),
            Expr::Text(text) => self.text(text).map(|text| (text, ATOM)),
            Expr::Rhai(text) => atom(text.clone()),
            Expr::Attr(on, name) => self.attribute(on, name),
            Expr::Path(on, name) => {
                let on = match on.as_ref() {
                    Expr::Name(name) => name.clone(),
                    on => self.expr(on)?,
                };
                atom(format!("{on}::{name}"))
            }
            Expr::Call(..) if let Some(found) = self.standing_map(value) => found,
            Expr::Call(callee, arguments) => self.call(callee, arguments),
            Expr::Index(on, places) => match self.with_one_key(value) {
                Some(whole) => self.written(&whole),
                None => self.index(on, places),
            },
            Expr::Unary("!", _) => self.truth(value),
            Expr::Unary("?", of) => self.chosen(of),
            Expr::Unary("~", of) => self.inverted(of),
            Expr::Binary(sign @ ("&&" | "||"), a, b) if self.python && self.gives_value(a, b) => {
                self.one_of(sign, a, b)
            }
            Expr::Unary(sign, of) => Some((
                format!("{sign}{}", self.bound(of, if *sign == "-" { 190 } else { UNARY })?),
                if *sign == "-" { 185 } else { UNARY },
            )),
            Expr::Binary(sign, a, b) => self.operator(sign, a, b),
            Expr::Compare(first, rest) => self.comparison(first, rest),
            Expr::Ternary(value, condition, other) => {
                self.uses(Idiom::Ternary);
                let (value, condition) = (self.expr(value)?, self.condition(condition)?);
                Some((format!("if {condition} {{ {value} }} else {{ {} }}", self.expr(other)?), LOOSE))
            }
            Expr::Lambda(names, value) => self.closure(names, value),
            Expr::LambdaWith(params, value) => {
                let names: Vec<String> = params.iter().map(|(name, _)| name.clone()).collect();
                self.closure(&names, value)
            }
            Expr::List(items) => {
                items.iter().for_each(|item| self.note_object(item));
                atom(format!("[{}]", self.each(items)?))
            }
            Expr::Tuple(items) => {
                self.uses(Idiom::Tuple);
                atom(format!("[{}]", self.each(items)?))
            }
            Expr::Set(items) => atom(self.set_of(items)?),
            Expr::Dict(pairs) => {
                pairs.iter().for_each(|(_, item)| self.note_object(item));
                self.dictionary(pairs)
            }
            Expr::Map(pairs) => {
                let pairs: Option<Vec<String>> =
                    pairs.iter().map(|(key, value)| Some(format!("{key}: {}", self.expr(value)?))).collect();
                atom(format!("#{{{}}}", pairs?.join(", ")))
            }
            Expr::Comprehension(item, key, loops) => self.comprehension(item, key.as_deref(), loops),
            Expr::Range(from, to, closed) => {
                let from = self.bound(from, 150)?;
                let to = to.as_ref().map(|to| self.bound(to, 150)).transpose_or_empty()?;
                Some((format!("{from}{}{to}", if *closed { "..=" } else { ".." }), 140))
            }
        }
    }

    pub(super) fn each(&mut self, items: &[Expr]) -> Option<String> {
        let items: Option<Vec<String>> = items.iter().map(|item| self.expr(item)).collect();
        Some(items?.join(", "))
    }

    /// A variable, a constant, or what an import has bound.
    fn name(&mut self, name: &str) -> String {
        let constant = match name {
            "True" => "true",
            "False" => "false",
            "None" => "()",
            _ => {
                if self.holds(name).is_none()
                    && let Some((here, idiom)) = names::resolved(&[name.to_owned()], &self.imports)
                    && here != name
                {
                    self.uses(idiom);
                    return self.handed(here);
                }
                return name.to_owned();
            }
        };
        self.uses(Idiom::Constant);
        constant.to_owned()
    }

    /// The names of a path, where all of it is names: `torch.nn.Linear`.
    pub(super) fn path(&self, value: &Expr) -> Option<Vec<String>> {
        match value {
            Expr::Name(name) if self.holds(name).is_none() => Some(vec![name.clone()]),
            Expr::Attr(on, name) => {
                let mut path = self.path(on)?;
                path.push(name.clone());
                Some(path)
            }
            _ => None,
        }
    }

    /// A function that is no call, as a value; what is none stays as it is.
    fn handed(&mut self, here: String) -> String {
        match names::handed(&here) {
            Some(closure) => {
                self.uses(Idiom::Handed);
                closure
            }
            None => here,
        }
    }

    /// Whether an expression is a function of a package's that is not called.
    pub(super) fn is_handed(&self, value: &Expr) -> bool {
        let resolved = self.path(value).and_then(|path| names::resolved(&path, &self.imports));
        resolved.is_some_and(|(here, _)| names::handed(&here).is_some())
    }

    fn attribute(&mut self, on: &Expr, name: &str) -> Option<(String, u8)> {
        let path = self.path(on).map(|mut path| {
            path.push(name.to_owned());
            path
        });
        let on_sys = path.as_ref().and_then(|path| path.first()).is_some_and(|root| root == "sys");
        if on_sys && name == "version" {
            return None;
        }
        if path.as_ref().and_then(|path| path.first()).is_some_and(|root| names::foreign(root).is_some()) {
            return None;
        }
        if let Some((here, idiom)) = path.and_then(|path| names::resolved(&path, &self.imports)) {
            self.uses(idiom);
            // What makes tensors of one dtype names the dtype.
            if let Some((_, dtype)) =
                names::OLD_TENSORS.iter().find(|(old, _)| *old == here && here != "Tensor")
            {
                return Some(((*dtype).to_owned(), ATOM));
            }
            if name == "__version__" {
                return None;
            }
            // A class of `nn` may stand alone, what `cuda` tells may not.
            if here.starts_with("cuda::") && names::is_in_module(&here) {
                self.uses(Idiom::Uncalled);
                return Some((format!("{here}()"), ATOM));
            }
            let value = self.handed(here);
            let binds = if value.starts_with('|') { LOOSE } else { ATOM };
            return Some((value, binds));
        }
        if let Some(function) = self.bound_method(on, name) {
            return Some((function, LOOSE));
        }
        let on = self.bound(self.without_numpy(on), ATOM)?;
        if let Some(kept) = self.of_classes.get(&format!("{on}.{name}")).cloned() {
            self.pointed = true;
            return Some((kept, ATOM));
        }
        if self.is_property_at(&on, name) {
            self.pointed = true;
            let text = match self.methods.get(name) {
                Some(closure) => format!("{closure}.call({on})"),
                None => format!("{on}.{name}()"),
            };
            return Some((text, ATOM));
        }
        if let Some(closure) = self.methods.get(name).filter(|_| on == "self") {
            return Some((format!("|m| {closure}.call(self, m)"), LOOSE));
        }
        match name {
            "environ" if on == "os" => None,
            // An error's class is what it is called here.
            "__name__" if on.starts_with("type_of(") => {
                let of = on.strip_prefix("type_of(").and_then(|of| of.strip_suffix(')')).unwrap_or_default();
                let is_error = self.caught.iter().any(|caught| caught == of);
                Some((if is_error { format!("{of}.kind") } else { on }, ATOM))
            }
            "__name__" if on.contains(".__class__") => Some((on, ATOM)),
            "__class__" if self.objects.contains(&on) => Some((format!("{on}.__class__"), ATOM)),
            "__class__" if self.python => {
                self.uses(Idiom::Type);
                Some((format!("type_of({on})"), ATOM))
            }
            name if self.said.uncalled.as_deref() == Some(name) => {
                self.uses(Idiom::Uncalled);
                Some((format!("{on}.{name}()"), ATOM))
            }
            name => Some((format!("{on}.{name}"), ATOM)),
        }
    }

    fn operator(&mut self, sign: &str, a: &Expr, b: &Expr) -> Option<(String, u8)> {
        let (a, b) = (self.without_numpy(a), self.without_numpy(b));
        if let Some(found) = self.of_sign(sign, a, b) {
            return Some((found, ATOM));
        }
        if let Some(found) = self.of_texts(sign, a, b).or_else(|| self.of_sets(sign, a, b)) {
            return Some((found, ATOM));
        }
        match sign {
            "//" => return self.floored(a, b),
            "/" => return self.quotient(a, b),
            "%" if self.python && (self.may_be_negative(a) || self.may_be_negative(b)) => {
                return self.remainder(a, b);
            }
            _ => {}
        }
        let level = binds(sign);
        let text = match sign {
            // Of integers a negative power is an error.
            "**" if matches!((a, b), (Expr::Number(whole), Expr::Unary("-", _)) if is_digits(whole)) => {
                self.pointed = true;
                format!("{}.0 ** {}", self.bound(a, 191)?, self.bound(b, 185)?)
            }
            "**" => format!("{} ** {}", self.bound(a, 191)?, self.bound(b, 185)?),
            "++" => {
                self.uses(Idiom::Beside);
                format!("{} + {}", self.bound(a, level)?, self.bound(b, level + 1)?)
            }
            sign => format!("{} {sign} {}", self.bound(a, level)?, self.bound(b, level + 1)?),
        };
        Some((text, level))
    }

    fn closure(&mut self, names: &[String], value: &Expr) -> Option<(String, u8)> {
        self.scopes.push(names.iter().map(|name| (name.clone(), Holds::Other)).collect());
        let value = self.expr(value);
        self.scopes.pop();
        let value = self.kept_function(value?);
        Some((format!("|{}| {value}", names.join(", ")), LOOSE))
    }
}

/// A number as Rhai reads it.
fn number(text: &str) -> String {
    match text {
        text if text.starts_with('.') => format!("0{text}"),
        text if text.ends_with('.') => format!("{text}0"),
        text => text.replace(".e", ".0e"),
    }
}

/// What is missing is written as nothing.
trait OrEmpty {
    fn transpose_or_empty(self) -> Option<String>;
}

impl OrEmpty for Option<Option<String>> {
    fn transpose_or_empty(self) -> Option<String> {
        self.unwrap_or(Some(String::new()))
    }
}

fn is_digits(number: &str) -> bool {
    number.chars().all(|c| c.is_ascii_digit())
}
