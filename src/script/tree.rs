//! Changing a syntax tree in place.

use rhai::{ASTFlags, Expr, ImmutableString, Position, Stmt, StmtBlock};

use super::caught;

/// Is handed every part of some statements, inner ones first.
pub(crate) trait Visitor {
    /// Before its parts.
    fn enter(&mut self, expr: &mut Expr);

    /// A loop with two names, before its parts: the names, what it goes through, its block.
    fn pairs(&mut self, names: [&ImmutableString; 2], items: &Expr, body: &mut StmtBlock);

    fn expr(&mut self, expr: &mut Expr);

    /// All of a chain of dots and brackets that is no place to assign to.
    fn chain(&mut self, expr: &mut Expr);

    /// What has to be true or false: a condition, or a side of `&&` or `||`.
    fn condition(&mut self, expr: &mut Expr);

    /// What a `switch` looks at.
    fn subject(&mut self, expr: &mut Expr);

    /// What a loop that stands at a place goes through.
    fn items(&mut self, expr: &mut Expr, at: Position);

    /// The statements of a block with what tells an error its variables, where these matter, or `always`.
    fn framed(&mut self, statements: Vec<Stmt>, always: bool) -> Vec<Stmt>;

    /// The statements of a `try`.
    fn tried(&mut self, statements: Vec<Stmt>) -> Vec<Stmt>;

    /// The statements of a block or a function's body, and what is to stand in their place. `hidden` are the variables
    /// around them that nothing can reach once the block has one of the same name.
    fn block(&mut self, statements: Vec<Stmt>, hidden: &[&str]) -> Vec<Stmt>;
}

/// When a block's variables are to be known to an error that leaves it.
#[derive(Clone, Copy, PartialEq)]
enum Framed {
    /// Where something may fail behind them.
    Needed,
    Always,
}

/// Goes through some statements; `hidden` as in [`Visitor::block`].
pub(crate) fn visit(mut statements: Vec<Stmt>, hidden: &[&str], visitor: &mut dyn Visitor) -> Vec<Stmt> {
    for statement in &mut statements {
        in_statement(statement, visitor);
    }
    visitor.block(statements, hidden)
}

fn in_block(block: &mut StmtBlock, hidden: &[&str], visitor: &mut dyn Visitor) {
    in_framed(block, hidden, Framed::Needed, visitor);
}

fn in_framed(block: &mut StmtBlock, hidden: &[&str], framed: Framed, visitor: &mut dyn Visitor) {
    let statements = std::mem::take(block.statements_mut()).into_vec();
    let statements = visit(statements, hidden, visitor);
    *block.statements_mut() = visitor.framed(statements, framed == Framed::Always).into();
}

fn in_statement(statement: &mut Stmt, visitor: &mut dyn Visitor) {
    match statement {
        Stmt::If(flow, _) | Stmt::While(flow, _) | Stmt::Do(flow, ..) => {
            in_expr(&mut flow.expr, visitor);
            // An endless loop has none.
            if !flow.expr.is_constant() {
                visitor.condition(&mut flow.expr);
            }
            in_block(&mut flow.body, &[], visitor);
            in_block(&mut flow.branch, &[], visitor);
        }
        // What stands in the place of a condition is the variable that is bound to the error.
        Stmt::TryCatch(flow, _) => {
            in_framed(&mut flow.body, &[], Framed::Always, visitor);
            let body = std::mem::take(flow.body.statements_mut()).into_vec();
            *flow.body.statements_mut() = visitor.tried(body).into();
            in_block(&mut flow.branch, &[], visitor);
            caught::valued(statement);
        }
        Stmt::For(x, at) => {
            // Numbers hold nothing.
            let counts =
                matches!(&x.2.expr, Expr::FnCall(call, _) if call.op_token.is_some() || call.name == "range");
            let framed = if counts { Framed::Needed } else { Framed::Always };
            if let Some(second) = &x.1 {
                visitor.pairs([&x.0.name, &second.name], &x.2.expr, &mut x.2.body);
            }
            in_expr(&mut x.2.expr, visitor);
            visitor.items(&mut x.2.expr, *at);
            let hidden: Vec<&str> =
                std::iter::once(&x.0).chain(x.1.as_ref()).map(|name| name.name.as_str()).collect();
            in_framed(&mut x.2.body, &hidden, framed, visitor);
            // Where there is nothing to run, the interpreter does not look whether an item is an error.
            if x.2.body.is_empty() {
                *x.2.body.statements_mut() = vec![Stmt::Noop(*at)].into();
            }
            in_block(&mut x.2.branch, &[], visitor);
        }
        Stmt::Switch(x, _) => {
            in_expr(&mut x.0, visitor);
            visitor.subject(&mut x.0);
            for case in &mut x.1.expressions {
                in_expr(&mut case.lhs, visitor);
                if !case.lhs.is_constant() {
                    visitor.condition(&mut case.lhs);
                }
                in_expr(&mut case.rhs, visitor);
            }
        }
        Stmt::Var(x, ..) => in_expr(&mut x.1, visitor),
        Stmt::Assignment(x) => {
            in_link(&mut x.1.lhs, visitor);
            in_expr(&mut x.1.rhs, visitor);
        }
        // A call that is a statement has a form of its own, which holds nothing but calls.
        Stmt::FnCall(call, at) => {
            let mut whole = Expr::FnCall(call.clone(), *at);
            in_expr(&mut whole, visitor);
            match whole {
                Expr::FnCall(changed, _) => *call = changed,
                other => *statement = Stmt::Expr(Box::new(other)),
            }
        }
        Stmt::Block(block) => in_block(block, &[], visitor),
        Stmt::Expr(x) => in_expr(x, visitor),
        Stmt::BreakLoop(Some(x), ..) | Stmt::Return(Some(x), ..) => in_expr(x, visitor),
        _ => {}
    }
}

fn in_expr(expr: &mut Expr, visitor: &mut dyn Visitor) {
    in_link(expr, visitor);
    if matches!(expr, Expr::Dot(..) | Expr::Index(..)) {
        visitor.chain(expr);
    }
}

/// A link of a chain is looked at as other parts are, and is no whole chain.
fn in_link(expr: &mut Expr, visitor: &mut dyn Visitor) {
    visitor.enter(expr);
    match expr {
        Expr::InterpolatedString(items, _) | Expr::Array(items, _) => {
            items.iter_mut().for_each(|x| in_expr(x, visitor));
        }
        Expr::Map(x, _) => x.0.iter_mut().for_each(|(_, x)| in_expr(x, visitor)),
        Expr::Stmt(block) => in_block(block, &[], visitor),
        Expr::FnCall(call, _) | Expr::MethodCall(call, _) => {
            call.args.iter_mut().for_each(|x| in_expr(x, visitor));
        }
        Expr::Dot(x, flags, _) | Expr::Index(x, flags, _) => {
            // What stands in brackets, before another link or at the end, is a chain of its own.
            in_expr(&mut x.lhs, visitor);
            match flags.intersects(ASTFlags::BREAK) {
                true => in_expr(&mut x.rhs, visitor),
                false => in_link(&mut x.rhs, visitor),
            }
        }
        Expr::And(items, _) | Expr::Or(items, _) => {
            for side in items.iter_mut() {
                in_expr(side, visitor);
                if !side.is_constant() {
                    visitor.condition(side);
                }
            }
        }
        Expr::Coalesce(items, _) => {
            items.iter_mut().for_each(|x| in_expr(x, visitor));
        }
        Expr::Custom(x, _) => x.inputs.iter_mut().for_each(|x| in_expr(x, visitor)),
        _ => {}
    }
    visitor.expr(expr);
}
