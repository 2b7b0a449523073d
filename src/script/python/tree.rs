//! Rhai code as a tree.

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expr {
    Unit,
    Bool(bool),
    /// As it is written.
    Number(String),
    Text(String),
    /// A string with code in it.
    Template(Vec<Part>),
    /// A name with its modules.
    Path(Vec<String>),
    Array(Vec<Expr>),
    Map(Vec<(String, Expr)>),
    Unary(&'static str, Box<Expr>),
    Binary(String, Box<Expr>, Box<Expr>),
    /// From, to, and whether the end belongs to it.
    Range(Box<Expr>, Box<Expr>, bool),
    Call(Box<Expr>, Vec<Expr>),
    Method(Box<Expr>, String, Vec<Expr>),
    Field(Box<Expr>, String),
    Index(Box<Expr>, Box<Expr>),
    Closure(Vec<String>, Box<Block>),
    If(Vec<(Expr, Block)>, Option<Block>),
    Block(Block),
    /// What is copied, where it is an array or a map.
    Copy(Box<Expr>),
    With(Box<Expr>, Block),
    Loop(Block),
    /// What is looked at, its cases and what holds otherwise.
    Switch(Box<Expr>, Vec<Case>, Option<Block>),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Part {
    Text(String),
    Code(Block),
}

/// Values or ranges, a condition, and what is done.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Case {
    pub values: Vec<Expr>,
    pub condition: Option<Expr>,
    pub body: Block,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Stmt {
    Let(String, Option<Expr>),
    /// Target, operator such as `+=`, value.
    Assign(Expr, String, Expr),
    /// A value; `true` where a semicolon follows, so that it is not the block's.
    Expr(Expr, bool),
    Fn(String, Vec<String>, Block),
    For(Vec<String>, Expr, Block),
    While(Expr, Block),
    /// The condition to go on with.
    DoWhile(Block, Expr),
    Return(Option<Expr>),
    Break(Option<Expr>),
    Continue,
    Throw(Option<Expr>),
    Try(Block, Option<String>, Block),
    /// `true` where it stands behind code.
    Comment(String, bool),
    Blank,
}

pub(super) type Block = Vec<Stmt>;

/// The value of a block that is nothing else.
pub(crate) fn only_value(block: &[Stmt]) -> Option<&Expr> {
    match block {
        [Stmt::Expr(value, false)] => Some(value),
        _ => None,
    }
}

/// What Python goes through once and has no places in: a module's parameters.
pub(super) fn gives_once(value: &Expr) -> bool {
    let names = ["parameters", "buffers", "named_parameters", "named_buffers", "children", "modules"];
    matches!(value, Expr::Method(_, name, _) if names.contains(&name.as_str()))
}

/// Puts a copy of a variable before a body.
pub(super) fn with_copy(body: &mut Block, name: &str) {
    let value = Expr::Copy(Box::new(Expr::Path(vec![name.to_owned()])));
    body.insert(0, Stmt::Assign(Expr::Path(vec![name.to_owned()]), "=".into(), value));
}
