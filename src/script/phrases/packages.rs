//! Packages that a program of Python's brings along: what stands for a function of theirs, and what is told where nothing
//! does.

use super::book::Idiom;
use super::names;
use super::tree::{Arg, Expr};
use super::writer::{Holds, Writer};

/// A function's path, what stands for its call, and what is told: `{0}` is its first argument, `{1*}` are all from the
/// second on. Of several rows the first is taken that has a place for every argument.
const TEMPLATES: &[(&str, &str, Idiom)] = &[
    ("builtins.hasattr", "{1} in {0}", Idiom::Method),
    ("builtins.getattr", "{0}[{1}] ?? {2}", Idiom::Method),
    ("builtins.getattr", "{0}[{1}]", Idiom::Method),
    ("builtins.ord", "{0}.to_string().to_chars()[0].to_int()", Idiom::CharacterNumber),
    (
        "builtins.chr",
        "{ let {text} = to_hex({0}); while {text}.len() < 4 { {text} = \"0\" + {text}; } parse_json(`\"\\u${{text}}\"`) }",
        Idiom::CharacterNumber,
    ),
    ("tqdm.tqdm", "progress({0})", Idiom::Library),
    ("tqdm.auto.tqdm", "progress({0})", Idiom::Library),
    ("tqdm.notebook.tqdm", "progress({0})", Idiom::Library),
    ("tqdm.trange", "progress(range({0}))", Idiom::Library),
    ("matplotlib.pyplot.xlabel", "plot::set(#{x_label: {0}})", Idiom::Library),
    ("matplotlib.pyplot.ylabel", "plot::set(#{y_label: {0}})", Idiom::Library),
    ("matplotlib.pyplot.title", "plot::set(#{title: {0}})", Idiom::Library),
    ("matplotlib.pyplot.xscale", "plot::set(#{x_scale: {0}})", Idiom::Library),
    ("matplotlib.pyplot.yscale", "plot::set(#{y_scale: {0}})", Idiom::Library),
    ("matplotlib.pyplot.savefig", "plot::save({0})", Idiom::Library),
    ("matplotlib.pyplot.legend", "", Idiom::FallsAway),
    ("matplotlib.pyplot.grid", "", Idiom::FallsAway),
    ("matplotlib.pyplot.tight_layout", "", Idiom::FallsAway),
    ("matplotlib.pyplot.close", "", Idiom::FallsAway),
    ("random.random", "rand(1).item()", Idiom::Random),
    ("random.choice", "{0}[randint(0, {0}.len(), [1]).item()]", Idiom::Random),
    ("random.randint", "randint({0}, {1} + 1, [1]).item()", Idiom::Random),
    ("random.sample", "randperm({0}.len()).tolist().extract(0..{1}).map(|{x}| {0}[{x}])", Idiom::Random),
    ("random.randrange", "randint({0}, {1}, [1]).item()", Idiom::Random),
    ("random.randrange", "randint(0, {0}, [1]).item()", Idiom::Random),
    ("random.gauss", "{0} + {1} * randn(1).item()", Idiom::Random),
    ("random.uniform", "{0} + ({1} - {0}) * rand(1).item()", Idiom::Random),
    ("random.shuffle", "{0} = randperm({0}.len()).tolist().map(|{x}| {0}[{x}])", Idiom::Random),
    ("sys.exit", "exit({0})", Idiom::Exit),
    ("sys.exit", "exit()", Idiom::Exit),
    ("json.dumps", "{0}.to_json()", Idiom::Method),
    ("json.loads", "parse_json({0})", Idiom::Method),
    ("os.path.join", "{0} + \"/\" + {1}", Idiom::Library),
    ("os.path.join", "{0} + \"/\" + {1} + \"/\" + {2}", Idiom::Library),
    ("logging.info", "print({0})", Idiom::Library),
    ("logging.warning", "print({0})", Idiom::Library),
    ("logging.basicConfig", "", Idiom::FallsAway),
    ("warnings.filterwarnings", "", Idiom::FallsAway),
    ("warnings.simplefilter", "", Idiom::FallsAway),
    ("gc.collect", "", Idiom::FallsAway),
    ("math.isnan", "{0}.is_nan()", Idiom::Library),
    ("math.isinf", "{0}.is_infinite()", Idiom::Library),
    ("math.isfinite", "{0}.is_finite()", Idiom::Library),
    ("torch.compile", "{0}", Idiom::Compile),
    ("torch.backends.mps.is_available", "false", Idiom::Torch),
    ("torch.backends.mps.is_built", "false", Idiom::Torch),
    ("torch.accelerator.is_available", "cuda::is_available()", Idiom::Torch),
    ("torch.accelerator.device_count", "cuda::device_count()", Idiom::Torch),
    ("torch.accelerator.current_accelerator", "device(\"cuda\")", Idiom::Torch),
    ("torch.accelerator.synchronize", "cuda::synchronize()", Idiom::Torch),
    ("torch.set_printoptions", "", Idiom::FallsAway),
    ("torch.set_default_tensor_type", "", Idiom::FallsAway),
    ("copy.copy", "{0}", Idiom::Copy),
    ("copy.deepcopy", "deepcopy({0})", Idiom::Library),
    ("collections.OrderedDict", "#{}", Idiom::Dict),
    ("collections.deque", "list({0})", Idiom::List),
    ("collections.deque", "[]", Idiom::List),
    (
        "itertools.product",
        "list({0}).map(|{x}| list({1}).map(|{text}| [{x}, {text}])).reduce(|all, part| all + part, [])",
        Idiom::List,
    ),
    ("itertools.chain", "list({0}) + list({1})", Idiom::List),
    ("torch.from_numpy", "{0}", Idiom::Numpy),
    ("torch.einsum", "einsum({0}, [{1*}])", Idiom::Torch),
    ("numpy.einsum", "einsum({0}, [{1*}])", Idiom::Numpy),
    ("numpy.save", "save({1}, {0})", Idiom::Numpy),
    ("numpy.random.rand", "rand({0*})", Idiom::Numpy),
    ("numpy.random.randn", "randn({0*})", Idiom::Numpy),
    ("numpy.random.randint", "randint({0}, {1}, [{2}])", Idiom::Numpy),
    ("numpy.random.random", "rand(1).item()", Idiom::Numpy),
    ("numpy.random.random", "rand({0})", Idiom::Numpy),
    ("numpy.random.rand", "rand(1).item()", Idiom::Numpy),
    ("numpy.random.randn", "randn(1).item()", Idiom::Numpy),
    ("numpy.random.randint", "randint(0, {0}, [1]).item()", Idiom::Numpy),
    ("numpy.random.randint", "randint({0}, {1}, [1]).item()", Idiom::Numpy),
    ("numpy.random.uniform", "{0} + ({1} - {0}) * rand(1).item()", Idiom::Numpy),
    ("numpy.random.uniform", "{0} + ({1} - {0}) * rand({2})", Idiom::Numpy),
    ("numpy.random.shuffle", "{0} = randperm({0}.len()).tolist().map(|{x}| {0}[{x}])", Idiom::Numpy),
    ("numpy.random.normal", "{0} + {1} * randn(1).item()", Idiom::Numpy),
    ("numpy.random.normal", "{0} + {1} * randn({2})", Idiom::Numpy),
];

/// What draws some of the items that an object has.
const SAMPLE_OF_OBJECT: &str = "{ let {text} = []; for {x} in randperm({0}.len()).tolist().extract(0..{1}) \
     { {text}.push({0}[{x}]); } {text} }";

/// Methods of texts and lists: their name, how many arguments they take, what stands for them on `{on}`.
const METHODS: &[(&str, Holds, &str)] = &[
    ("capitalize", Holds::Text, "({on}.sub_string(0, 1).to_upper() + {on}.sub_string(1).to_lower())"),
    (
        "title",
        Holds::Text,
        "{on}.split(\" \").map(|w| w.sub_string(0, 1).to_upper() + w.sub_string(1)).reduce(|all, w| if all == () { w } \
         else { all + \" \" + w })",
    ),
    ("splitlines", Holds::Text, "{on}.split(\"\\n\")"),
    ("isdigit", Holds::Text, "list({on}).all(|c| c in \"0123456789\")"),
    ("isalpha", Holds::Text, "list({on}).all(|c| c.to_string().to_upper() != c.to_string().to_lower())"),
    (
        "zfill",
        Holds::Text,
        "{ let {text} = {on}; while {text}.len() < {0} { {text} = \"0\" + {text}; } {text} }",
    ),
    (
        "rjust",
        Holds::Text,
        "{ let {text} = {on}; while {text}.len() < {0} { {text} = \" \" + {text}; } {text} }",
    ),
    ("ljust", Holds::Text, "{ let {text} = {on}; {text}.pad({0}, \" \"); {text} }"),
    ("count", Holds::Text, "({on}.split({0}).len() - 1)"),
    ("count", Holds::Array, "{on}.filter(|{x}| {x} == {0}).len()"),
    ("pop", Holds::Map, "({on}.remove({0}) ?? {1})"),
    ("pop", Holds::Map, "{on}.remove({0})"),
    ("setdefault", Holds::Map, "{ if !{on}.contains({0}) { {on}[{0}] = {1}; } {on}[{0}] }"),
    ("add", Holds::Set, "if {0} !in {on} { {on}.push({0}) }"),
    ("discard", Holds::Set, "if {0} in {on} { {on}.remove({on}.index_of({0})) }"),
    ("update", Holds::Set, "for {x} in {0} { if {x} !in {on} { {on}.push({x}) } }"),
    (
        "union",
        Holds::Set,
        "{0}.reduce(|{text}, {x}| if {x} in {text} { {text} } else { {text} + [{x}] }, {on})",
    ),
    ("intersection", Holds::Set, "{on}.filter(|{x}| {x} in {0})"),
    ("difference", Holds::Set, "{on}.filter(|{x}| {x} !in {0})"),
    (
        "symmetric_difference",
        Holds::Set,
        "{0}.reduce(|{text}, {x}| if {x} in {on} || {x} in {text} { {text} } else { {text} + [{x}] }, \
         {on}.filter(|{x}| {x} !in {0}))",
    ),
    ("issubset", Holds::Set, "{on}.all(|{x}| {x} in {0})"),
    ("issuperset", Holds::Set, "{0}.all(|{x}| {x} in {on})"),
    ("isdisjoint", Holds::Set, "{on}.all(|{x}| {x} !in {0})"),
    ("popleft", Holds::Array, "{on}.remove(0)"),
    ("appendleft", Holds::Array, "{on}.insert(0, {0})"),
    ("astype", Holds::Tensor, "{on}.to({0})"),
];

impl Writer<'_> {
    /// A call of a package's function, if it is known how that is written here.
    pub(super) fn of_package(&mut self, path: &[String], arguments: &[Arg]) -> Option<(String, Idiom)> {
        let full = match path {
            [name] if matches!(name.as_str(), "exit" | "quit") && gives_call(arguments) => {
                "sys.exit".to_owned()
            }
            path => names::full(path, &self.imports)?,
        };
        // A text is what went wrong.
        if let ("sys.exit", [Arg { value, .. }]) = (full.as_str(), arguments)
            && self.kind(value) == Holds::Text
        {
            return Some((format!("throw {}", self.expr(value)?), Idiom::Exit));
        }
        // One template has a place for any number of values.
        if arguments.iter().any(|argument| argument.spread) && !full.starts_with("numpy.random.rand") {
            return None;
        }
        if let Some(found) = self.of_numbers(&full, arguments) {
            return Some((found, Idiom::Numpy));
        }
        let with_size = self.with_size(&full, arguments)?;
        let arguments = with_size.as_deref().unwrap_or(arguments);
        if full == "collections.deque"
            && (arguments.len() > 1 || arguments.iter().any(|argument| argument.name.is_some()))
        {
            self.mark("`maxlen` falls away: behind each `push`, `if xs.len() > n { xs.remove(0); }`");
        }
        if matches!(full.as_str(), "numpy.random.choice" | "numpy.random.permutation") {
            return Some((self.drawn(&full, arguments)?, Idiom::Numpy));
        }
        let plain = arguments.iter().filter(|argument| argument.name.is_none());
        let mut values: Vec<&Expr> = plain.map(|argument| &argument.value).collect();
        if full == "collections.deque" {
            values.truncate(1);
        }
        if let ("math.ceil" | "math.floor", [of]) = (full.as_str(), values.as_slice()) {
            return self.rounded(if full == "math.ceil" { "ceiling" } else { "floor" }, of);
        }
        // `logging.info("%d of %d", a, b)`
        if let ("logging", [text, rest @ ..]) = (full.split('.').next()?, values.as_slice())
            && !rest.is_empty()
        {
            let rest = Expr::Tuple(rest.iter().copied().cloned().collect());
            let filled = Expr::Binary("%", (*text).clone().into(), rest.into());
            return self.by_template(&full, &[&filled]);
        }
        self.by_template(&full, &values)
    }

    /// What NumPy tells of the numbers of a list, as the number that it is there.
    fn of_numbers(&mut self, full: &str, arguments: &[Arg]) -> Option<String> {
        let [Arg { name: None, value, .. }] = arguments else { return None };
        let value = self.without_numpy(value);
        let is_tensor = self.kind(value) == Holds::Tensor;
        let told = match full.strip_prefix("numpy.")? {
            "mean" if !is_tensor => "mean()",
            "median" => "quantile(0.5)",
            // NumPy divides by how many there are, PyTorch by one less.
            "std" => "std(#{correction: 0})",
            "var" => "var(#{correction: 0})",
            "argmin" if !is_tensor => "argmin()",
            "argmax" if !is_tensor => "argmax()",
            _ => return None,
        };
        let wide = matches!(told, "argmin()" | "argmax()");
        let of = match (is_tensor, wide) {
            (true, true) => self.on(value)?,
            (true, false) => format!("{}.double()", self.on(value)?),
            (false, true) => format!("tensor({})", self.expr(value)?),
            (false, false) => format!("tensor({}, #{{dtype: float64}})", self.expr(value)?),
        };
        Some(format!("{of}.{told}.item()"))
    }

    /// What `.numpy()` is of: with something behind it, it falls away, for tensors do what NumPy does.
    pub(super) fn without_numpy<'e>(&self, value: &'e Expr) -> &'e Expr {
        match value {
            Expr::Call(callee, given) if self.python && given.is_empty() => match callee.as_ref() {
                Expr::Attr(on, name) if name == "numpy" => on,
                _ => value,
            },
            _ => value,
        }
    }

    /// What stands for a function that is given some values.
    pub(super) fn by_template(&mut self, full: &str, values: &[&Expr]) -> Option<(String, Idiom)> {
        let fits = |template: &str, idiom: Idiom| {
            idiom == Idiom::FallsAway || template == "exit()" || has_places(template, values.len())
        };
        let mut rows = TEMPLATES.iter().filter(|(path, ..)| *path == full);
        let (_, template, idiom) = rows.find(|(_, template, idiom)| fits(template, *idiom))?;
        let text = self.filled(template, "", values)?;
        Some((self.without_object(full, template, text, values)?, *idiom))
    }

    /// What stands for a call in a method: its closures have no object of their own.
    fn without_object(
        &mut self,
        full: &str,
        template: &str,
        text: String,
        values: &[&Expr],
    ) -> Option<String> {
        let is_of_object = self.objects.contains("self") && text.contains("self.");
        if !is_of_object || !template.contains('|') {
            return Some(text);
        }
        // The object is not copied for the items that are drawn.
        if full == "random.sample" {
            return self.filled(SAMPLE_OF_OBJECT, "", values);
        }
        Some(match text.split_once(" = ").filter(|_| template.starts_with("{0} = ")) {
            Some((place, value)) => format!("{place} = {}", self.captured(value.to_owned())),
            None => self.captured(text),
        })
    }

    /// What stands for a method of a text, a list or a dictionary.
    pub(super) fn method_by_template(
        &mut self,
        (on, holds): (&str, Holds),
        name: &str,
        arguments: &[Arg],
    ) -> Option<String> {
        // What is counted in a text is one.
        let holds = match (name, holds, arguments) {
            ("count", Holds::Other, [one]) if self.kind(&one.value) != Holds::Text => Holds::Array,
            _ => holds,
        };
        let is = |own: Holds| own == holds || holds == Holds::Other && !names::is_method(name);
        // A key that is missing has no value as it is.
        let arguments = match arguments {
            [key, Arg { value: Expr::Name(none), .. }] if name == "pop" && none == "None" => {
                std::slice::from_ref(key)
            }
            arguments => arguments,
        };
        let mut rows = METHODS.iter().filter(|(own, kind, _)| *own == name && is(*kind));
        let (.., template) = rows.find(|(.., template)| has_places(template, arguments.len()))?;
        let values: Vec<&Expr> = arguments.iter().map(|argument| &argument.value).collect();
        self.filled(template, on, &values)
    }

    /// A template with values in its places, `{on}` what a method is of, and `{x}` and `{text}` names that are free.
    fn filled(&mut self, template: &str, on: &str, values: &[&Expr]) -> Option<String> {
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, place, behind)) = next_place(rest) {
            text += before;
            text += &match place {
                Place::On => on.to_owned(),
                Place::Free(name) => self.free_name(name),
                Place::From(from) => {
                    let rest = values.get(from..)?.iter().map(|value| self.expr(value));
                    rest.collect::<Option<Vec<_>>>()?.join(", ")
                }
                Place::One(at) if behind.starts_with(['.', '[']) => self.on(values.get(at)?)?,
                Place::One(at) => self.bound(values.get(at)?, 150)?,
            };
            rest = behind;
        }
        Some(text + rest)
    }
}

/// Whether a call is given what another one gives.
fn gives_call(arguments: &[Arg]) -> bool {
    matches!(arguments, [Arg { value: Expr::Call(..), .. }])
}

/// A place of a template.
#[derive(Clone, Copy)]
enum Place<'t> {
    On,
    /// A variable of its own.
    Free(&'t str),
    One(usize),
    /// All from one on.
    From(usize),
}

/// What stands before a template's first place, the place, and what stands behind it; other braces are code.
fn next_place(template: &str) -> Option<(&str, Place<'_>, &str)> {
    template.match_indices('{').find_map(|(at, _)| {
        let (inside, behind) = template.get(at + 1..)?.split_once('}')?;
        let place = match (inside, inside.strip_suffix('*')) {
            ("on", _) => Place::On,
            ("x" | "text", _) => Place::Free(inside),
            (_, Some(from)) => Place::From(from.parse().ok()?),
            (one, None) => Place::One(one.parse().ok()?),
        };
        Some((template.get(..at)?, place, behind))
    })
}

/// Whether a template has a place for each of so many arguments, and no other.
fn has_places(template: &str, given: usize) -> bool {
    let (mut rest, mut needed, mut takes_more) = (template, 0, false);
    while let Some((_, place, behind)) = next_place(rest) {
        let (least, more) = match place {
            Place::One(at) => (at + 1, false),
            Place::From(from) => (from + 1, true),
            Place::On | Place::Free(_) => (0, false),
        };
        (needed, takes_more, rest) = (needed.max(least), takes_more || more, behind);
    }
    needed == given || takes_more && needed < given
}
