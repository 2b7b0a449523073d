//! Packages that a program of Python's brings along: what stands for a function of theirs, and what is told where nothing
//! does.

use super::book::Idiom;
use super::names;
use super::tree::{Arg, Expr};
use super::writer::{Holds, Writer};

/// A function's path, what stands for its call, with `{0}` for its first argument, and what is told. Of several rows the
/// first is taken that needs no more arguments than are given.
const TEMPLATES: [(&str, &str, Idiom); 34] = [
    ("builtins.hasattr", "{1} in {0}", Idiom::Method),
    ("builtins.getattr", "{0}[{1}] ?? {2}", Idiom::Method),
    ("builtins.getattr", "{0}[{1}]", Idiom::Method),
    ("random.random", "rand(1).item()", Idiom::Random),
    ("random.choice", "{0}[randint(0, {0}.len(), [1]).item()]", Idiom::Random),
    ("random.randint", "randint({0}, {1} + 1, [1]).item()", Idiom::Random),
    ("random.uniform", "{0} + ({1} - {0}) * rand(1).item()", Idiom::Random),
    ("random.shuffle", "{0} = randperm({0}.len()).tolist().map(|i| {0}[i])", Idiom::Random),
    ("sys.exit", "exit()", Idiom::Exit),
    ("json.dumps", "{0}.to_json()", Idiom::Method),
    ("json.loads", "parse_json({0})", Idiom::Method),
    ("os.path.join", "{0} + \"/\" + {1}", Idiom::Library),
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
    ("torch.from_numpy", "{0}", Idiom::Numpy),
    ("torch.einsum", "einsum({0}, [{1}, {2}, {3}])", Idiom::Torch),
    ("torch.einsum", "einsum({0}, [{1}, {2}])", Idiom::Torch),
    ("torch.einsum", "einsum({0}, [{1}])", Idiom::Torch),
    ("numpy.einsum", "einsum({0}, [{1}, {2}])", Idiom::Numpy),
    ("numpy.save", "save({1}, {0})", Idiom::Numpy),
    ("numpy.random.rand", "rand([{0}, {1}])", Idiom::Numpy),
    ("numpy.random.rand", "rand({0})", Idiom::Numpy),
    ("numpy.random.randn", "randn([{0}, {1}])", Idiom::Numpy),
    ("numpy.random.randn", "randn({0})", Idiom::Numpy),
    ("numpy.random.randint", "randint({0}, {1}, [{2}])", Idiom::Numpy),
    ("numpy.random.normal", "{0} + {1} * randn({2})", Idiom::Numpy),
];

/// Methods of texts and lists: their name, how many arguments they take, what stands for them on `{on}`.
const METHODS: [(&str, Holds, &str); 14] = [
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
    ("zfill", Holds::Text, "{ let text = {on}; while text.len() < {0} { text = \"0\" + text; } text }"),
    ("rjust", Holds::Text, "{ let text = {on}; while text.len() < {0} { text = \" \" + text; } text }"),
    ("ljust", Holds::Text, "{ let text = {on}; text.pad({0}, \" \"); text }"),
    ("count", Holds::Text, "({on}.split({0}).len() - 1)"),
    ("count", Holds::Array, "{on}.filter(|x| x == {0}).len()"),
    ("pop", Holds::Map, "({on}.remove({0}) ?? {1})"),
    ("pop", Holds::Map, "{on}.remove({0})"),
    ("setdefault", Holds::Map, "{ if !{on}.contains({0}) { {on}[{0}] = {1}; } {on}[{0}] }"),
    ("astype", Holds::Tensor, "{on}.to({0})"),
];

impl Writer<'_> {
    /// A call of a package's function, if it is known how that is written here.
    pub(super) fn of_package(&mut self, path: &[String], arguments: &[Arg]) -> Option<(String, Idiom)> {
        let full = names::full(path, &self.imports)?;
        let plain = arguments.iter().filter(|argument| argument.name.is_none());
        self.by_template(&full, &plain.map(|argument| &argument.value).collect::<Vec<_>>())
    }

    /// What stands for a function that is given some values.
    pub(super) fn by_template(&mut self, full: &str, values: &[&Expr]) -> Option<(String, Idiom)> {
        let rows = TEMPLATES.iter().filter(|(path, ..)| *path == full);
        let (_, template, idiom) =
            rows.into_iter().find(|(_, template, _)| needed(template) <= values.len())?;
        Some((self.filled(template, values)?, *idiom))
    }

    /// What stands for a method of a text, a list or a dictionary.
    pub(super) fn method_by_template(
        &mut self,
        (on, holds): (&str, Holds),
        name: &str,
        arguments: &[Arg],
    ) -> Option<String> {
        let is = |own: Holds| own == holds || holds == Holds::Other && !names::is_method(name);
        // A key that is missing has no value as it is.
        let arguments = match arguments {
            [key, Arg { value: Expr::Name(none), .. }] if name == "pop" && none == "None" => {
                std::slice::from_ref(key)
            }
            arguments => arguments,
        };
        let mut rows = METHODS.iter().filter(|(own, kind, _)| *own == name && is(*kind));
        let (.., template) = rows.find(|(.., template)| needed(template) <= arguments.len())?;
        let values: Vec<&Expr> = arguments.iter().map(|argument| &argument.value).collect();
        self.filled(&template.replace("{on}", on), &values)
    }

    fn filled(&mut self, template: &str, values: &[&Expr]) -> Option<String> {
        let mut text = template.to_owned();
        for (at, value) in values.iter().enumerate() {
            let place = format!("{{{at}}}");
            if text.contains(&place) {
                let called = [".", "["].iter().any(|sign| text.contains(&format!("{place}{sign}")));
                let value = if called { self.on(value)? } else { self.bound(value, 150)? };
                text = text.replace(&place, &value);
            }
        }
        Some(text)
    }
}

/// How many arguments a template has places for.
fn needed(template: &str) -> usize {
    (0..4).rev().find(|at| template.contains(&format!("{{{at}}}"))).map_or(0, |at| at + 1)
}
