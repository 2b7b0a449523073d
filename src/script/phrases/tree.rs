//! A value as Python or Rhai has it.

/// An argument of a call.
#[derive(Clone, Debug)]
pub(super) struct Arg {
    /// `lr` in `lr=0.1`.
    pub name: Option<String>,
    /// `*layers`.
    pub spread: bool,
    pub value: Expr,
}

/// One of several places in brackets.
#[derive(Clone, Debug)]
pub(super) enum IndexPlace {
    One(Expr),
    /// From, to, step, as in `x[1:3]`.
    Slice(Option<Expr>, Option<Expr>, Option<Expr>),
    /// `...`
    Dots,
}

/// `for x in xs if c` of a comprehension.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub names: Vec<String>,
    /// Where in an item each of them stands: `[1][0]`.
    pub places: Vec<String>,
    pub items: Expr,
    pub conditions: Vec<Expr>,
}

impl Loop {
    /// The variable that stands for an item as a whole.
    pub(super) fn whole(&self) -> Option<&String> {
        let [name] = self.names.as_slice() else { return None };
        self.places.iter().all(String::is_empty).then_some(name)
    }
}

#[derive(Clone, Debug)]
pub(super) enum Expr {
    Name(String),
    Number(String),
    /// As it was written, with marks and quotes.
    Text(String),
    /// What is written the same way in both.
    Rhai(String),
    Attr(Box<Expr>, String),
    /// `nn::Linear`
    Path(Box<Expr>, String),
    Call(Box<Expr>, Vec<Arg>),
    Index(Box<Expr>, Vec<IndexPlace>),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Compare(Box<Expr>, Vec<(&'static str, Expr)>),
    /// The value, the condition, the other value.
    Ternary(Box<Expr>, Box<Expr>, Box<Expr>),
    Lambda(Vec<String>, Box<Expr>),
    /// With what stands for parameters that are not given.
    LambdaWith(Vec<(String, Option<Expr>)>, Box<Expr>),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Set(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    /// `#{…}`
    Map(Vec<(String, Expr)>),
    /// The element, the key where it is a dictionary's, and the loops.
    Comprehension(Box<Expr>, Option<Box<Expr>>, Vec<Loop>),
    /// From, to, and whether the end belongs to it.
    Range(Box<Expr>, Option<Box<Expr>>, bool),
}

/// What gives values with their places.
pub(super) const PAIRS: [&str; 9] =
    ["max", "min", "sort", "topk", "median", "mode", "kthvalue", "cummax", "cummin"];

/// What gives parts that have names here, and these in PyTorch's order.
const NAMED: [(&str, &[&str]); 11] = [
    ("svd", &["U", "S", "Vh"]),
    ("qr", &["Q", "R"]),
    ("eigh", &["eigenvalues", "eigenvectors"]),
    ("slogdet", &["sign", "logabsdet"]),
    ("lu", &["P", "L", "U"]),
    ("lu_factor", &["LU", "pivots"]),
    ("cholesky_ex", &["L", "info"]),
    ("inv_ex", &["inverse", "info"]),
    ("lstsq", &["solution", "residuals", "rank", "singular_values"]),
    ("aminmax", &["min", "max"]),
    ("frexp", &["mantissa", "exponent"]),
];

/// The names of what a call gives in parts.
pub(super) fn named_parts(value: &Expr) -> Option<&'static [&'static str]> {
    let Expr::Call(callee, given) = value else { return None };
    let (Expr::Attr(_, name) | Expr::Name(name)) = callee.as_ref() else { return None };
    // Python's own gives one of what it is given.
    let is_own = matches!(callee.as_ref(), Expr::Name(_)) && matches!(name.as_str(), "max" | "min");
    if is_own && (given.len() == 1 || given.iter().any(|argument| argument.name.as_deref() == Some("key"))) {
        return None;
    }
    if PAIRS.contains(&name.as_str()) {
        return Some(&["values", "indices"]);
    }
    let of_linalg = matches!(callee.as_ref(), Expr::Attr(on, _)
        if matches!(on.as_ref(), Expr::Attr(_, space) | Expr::Name(space) if space == "linalg"));
    if name == "svd" && !of_linalg {
        return Some(&["U", "S", "V"]);
    }
    NAMED.iter().find(|(known, _)| known == name).map(|(_, parts)| *parts)
}

/// Whether a call gives values with their places: `x.max(1)` and `torch.max(x, 1)` do, `max(a)` does not.
pub(super) fn gives_places(value: &Expr) -> bool {
    match value {
        Expr::Call(callee, arguments) => match callee.as_ref() {
            Expr::Attr(on, name) => {
                let needed = usize::from(matches!(on.as_ref(), Expr::Name(on) if on == "torch")) + 1;
                let none = matches!(name.as_str(), "sort" | "mode");
                PAIRS.contains(&name.as_str()) && arguments.len() >= needed - usize::from(none)
            }
            Expr::Name(name) => {
                PAIRS.contains(&name.as_str()) && arguments.len() > 1 && name != "min" && name != "max"
            }
            _ => false,
        },
        _ => false,
    }
}

/// `os` or `os.environ`.
pub(super) fn is_os(value: &Expr) -> bool {
    match value {
        Expr::Name(name) => name == "os",
        Expr::Attr(on, name) => name == "environ" && is_os(on),
        _ => false,
    }
}

/// `os.environ["RANK"]` and `os.environ.get("RANK")`.
pub(super) fn is_environment(value: &Expr) -> bool {
    match value {
        Expr::Index(on, _) => is_os(on),
        Expr::Call(callee, _) => matches!(callee.as_ref(), Expr::Attr(on, _) if is_os(on)),
        _ => false,
    }
}

/// Whether a value is the sizes of a tensor, which are an array.
pub(super) fn is_sizes(value: &Expr) -> bool {
    match value {
        Expr::Attr(_, name) => name == "shape",
        Expr::Index(on, places) => is_sizes(on) && !matches!(places.as_slice(), [IndexPlace::One(_)]),
        Expr::Call(callee, given) => {
            given.is_empty() && matches!(callee.as_ref(), Expr::Attr(_, name) if name == "size")
        }
        _ => false,
    }
}
