//! Methods of Python's names that do something else here, as they are seen in code before it runs.

use rhai::{AST, ASTNode, Expr, Position, Stmt};

/// What differs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unlike {
    Append,
    InPlace,
}

impl Unlike {
    /// What is told of it, before and behind the line's number.
    pub(super) fn told(self) -> [&'static str; 2] {
        match self {
            Unlike::Append => {
                ["`append` adds each item of an array", ": `push` adds one item, as Python's `append` does"]
            }
            Unlike::InPlace => [
                "`replace` and `trim` give nothing",
                ", and change the text itself: `let t = s; t.trim();` makes another",
            ],
        }
    }
}

/// The first of each, and its line in the code.
pub(super) fn found(ast: &AST) -> Vec<(Unlike, usize)> {
    let mut all: Vec<(Unlike, usize)> = Vec::new();
    ast.walk(&mut |path: &[ASTNode]| {
        let Some((unlike, at)) = differs(path) else { return true };
        if !all.iter().any(|(known, _)| *known == unlike) {
            all.extend(at.line().map(|line| (unlike, line)));
        }
        true
    });
    all
}

fn differs(path: &[ASTNode]) -> Option<(Unlike, Position)> {
    let [.., around, ASTNode::Expr(Expr::Dot(..)), ASTNode::Expr(Expr::MethodCall(call, at))] = path else {
        return None;
    };
    let is_used = !matches!(around, ASTNode::Stmt(Stmt::Expr(_)));
    match (call.name.as_str(), call.args.as_slice()) {
        ("append", [items]) if is_literal(items) => Some((Unlike::Append, *at)),
        ("replace", [_, _]) | ("trim", []) if is_used => Some((Unlike::InPlace, *at)),
        _ => None,
    }
}

fn is_literal(items: &Expr) -> bool {
    match items {
        Expr::Array(..) => true,
        Expr::DynamicConstant(value, _) => value.is_array(),
        _ => false,
    }
}
