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
    pub items: Expr,
    pub conditions: Vec<Expr>,
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
