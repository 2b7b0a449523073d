//! `*values` in a call: an array stands for them here where a function takes one, and parts of it where it does not.

use super::book::Idiom;
use super::tree::{Arg, Expr};
use super::writer::{Holds, Writer};

/// What takes an array in the place of any number of values.
const TAKE_ARRAYS: [&str; 24] = [
    "zeros",
    "ones",
    "empty",
    "rand",
    "randn",
    "new_zeros",
    "new_ones",
    "view",
    "reshape",
    "expand",
    "repeat",
    "permute",
    "tile",
    "Size",
    "Sequential",
    "TensorDataset",
    "meshgrid",
    "broadcast_tensors",
    "block_diag",
    "cartesian_prod",
    "max",
    "min",
    "list",
    // The line falls away.
    "__init__",
];

impl Writer<'_> {
    /// Arguments with one array for those without a name, where some of them are spread; none where the callee takes no
    /// array.
    pub(super) fn gathered(&mut self, callee: &str, arguments: &[Arg]) -> Option<Vec<Arg>> {
        let name = callee.rsplit("::").next().unwrap_or_default();
        let arguments = match name {
            "Sequential" => &arguments.iter().map(with_pairs).collect::<Vec<_>>(),
            _ => arguments,
        };
        if !arguments.iter().any(|argument| argument.spread) {
            return match name {
                "enumerate" | "zip" | "list" | "reversed" | "sorted" | "max" | "min" | "sum" | "any"
                | "all" => self.with_children(name, arguments),
                name => Some(self.with_sizes(name, arguments)),
            };
        }
        self.uses(Idiom::Spread);
        let plain = |argument: &&Arg| argument.name.is_none();
        let (mut all, named): (Vec<Arg>, Vec<Arg>) =
            arguments.iter().cloned().partition(|argument| plain(&argument));
        let text = match name {
            "einsum" if all.first().is_some_and(|first| !first.spread) => Some(all.remove(0)),
            "einsum" => return None,
            name => TAKE_ARRAYS.contains(&name).then_some(None)?,
        };
        let given = Arg { name: None, spread: false, value: one_array(all)? };
        Some(text.into_iter().chain([given]).chain(named).collect())
    }

    /// `enumerate(self.layers)`: the modules in a module are an array that it is asked for.
    fn with_children(&mut self, name: &str, arguments: &[Arg]) -> Option<Vec<Arg>> {
        let given = |argument: &Arg| {
            let value = match &argument.value {
                // Here a text goes through its characters, which are no texts.
                value
                    if self.python
                        && (self.kind(value) == Holds::Text || self.reads_keys(value))
                        && matches!(name, "enumerate" | "zip") =>
                {
                    Expr::Rhai(self.items(value)?)
                }
                value if self.reads_keys(value) => Expr::Rhai(self.items(value)?),
                value if self.has_modules(value) => Expr::Rhai(format!("{}.children()", self.on(value)?)),
                value => value.clone(),
            };
            Some(Arg { value, ..argument.clone() })
        };
        arguments.iter().map(given).collect()
    }

    /// `torch.zeros(())`: no sizes are an array that is empty.
    fn with_sizes(&mut self, name: &str, arguments: &[Arg]) -> Vec<Arg> {
        const TAKE_SIZES: [&str; 11] = [
            "zeros", "ones", "empty", "full", "rand", "randn", "randint", "view", "reshape", "expand", "len",
        ];
        let is_empty = |value: &Expr| matches!(value, Expr::Rhai(text) if text == "()");
        let mut all = arguments.to_vec();
        for argument in all.iter_mut().filter(|argument| argument.name.is_none() && is_empty(&argument.value))
        {
            if TAKE_SIZES.contains(&name) {
                self.uses(Idiom::Tuple);
                argument.value = Expr::List(Vec::new());
            }
        }
        all
    }

    /// `f(a, *rest)`: an item for each parameter that is left, and where it has a default only if there is one.
    pub(super) fn spread_over(
        &mut self,
        params: &[(String, Option<String>)],
        before: &[Arg],
        rest: &Expr,
    ) -> Option<String> {
        let plain = |argument: &Arg| argument.name.is_none() && !argument.spread;
        before.iter().all(plain).then_some(())?;
        self.uses(Idiom::Spread);
        let mut all = Vec::new();
        for argument in before {
            all.push(self.expr(&argument.value)?);
        }
        let text = self.expr(rest)?;
        let rest = match rest {
            Expr::Name(_) => text,
            // It is made once.
            _ => {
                let own = self.free_name("parts");
                self.prelude.push(format!("let {own} = {text};"));
                own
            }
        };
        let left = params.get(before.len()..)?;
        all.extend(left.iter().enumerate().map(|(at, (_, default))| match default {
            None => format!("{rest}[{at}]"),
            Some(default) => format!("if {rest}.len() > {at} {{ {rest}[{at}] }} else {{ {default} }}"),
        }));
        Some(all.join(", "))
    }

    /// `print(*xs, sep=", ")`: the items with what stands between them.
    pub(super) fn print_each(&mut self, arguments: &[Arg]) -> Option<String> {
        let (named, plain): (Vec<&Arg>, Vec<&Arg>) =
            arguments.iter().partition(|argument| argument.name.is_some());
        let [Arg { spread: true, value, .. }] = plain.as_slice() else { return None };
        let option = |name: &str| named.iter().find(|argument| argument.name.as_deref() == Some(name));
        let between = option("sep").map_or(Expr::Text("\" \"".into()), |sep| sep.value.clone());
        self.uses(Idiom::Spread);
        let given = [Expr::Name("str".into()), value.clone()];
        let given = given.map(|value| Arg { name: None, spread: false, value }).to_vec();
        let texts = Expr::Call(Expr::Name("map".into()).into(), given);
        let end = match option("end") {
            Some(end) => format!(", #{{end: {}}}", self.expr(&end.value)?),
            None => String::new(),
        };
        Some(format!("print({}{end})", self.joined(&between, &texts)?))
    }
}

/// `OrderedDict([("fc", nn.Linear(1, 2))])` as the pairs that it is made of.
fn with_pairs(argument: &Arg) -> Arg {
    let value = match &argument.value {
        Expr::Call(callee, given) if matches!(callee.as_ref(), Expr::Name(name) | Expr::Attr(_, name) if name == "OrderedDict") => {
            match given.as_slice() {
                [Arg { value: Expr::Dict(pairs), .. }] => {
                    let pair = |(key, value): &(Expr, Expr)| Expr::List(vec![key.clone(), value.clone()]);
                    Expr::List(pairs.iter().map(pair).collect())
                }
                [pairs] => pairs.value.clone(),
                _ => argument.value.clone(),
            }
        }
        value => value.clone(),
    };
    Arg { value, ..argument.clone() }
}

/// Values as one array, of which some are arrays of values.
fn one_array(values: Vec<Arg>) -> Option<Expr> {
    let mut all: Vec<Expr> = Vec::new();
    for argument in values {
        match (argument.spread, all.last_mut()) {
            (true, _) => all.push(argument.value),
            (false, Some(Expr::List(run))) => run.push(argument.value),
            (false, _) => all.push(Expr::List(vec![argument.value])),
        }
    }
    all.into_iter().reduce(|before, more| Expr::Binary("+", before.into(), more.into()))
}
