//! Changing expressions of a syntax tree in place.

use rhai::{Expr, Stmt};

/// Hands every expression of some statements to `change`, inner ones first.
pub fn each_expr(statements: &mut [Stmt], change: &mut dyn FnMut(&mut Expr)) {
    for statement in statements {
        in_statement(statement, change);
    }
}

fn in_statement(statement: &mut Stmt, change: &mut dyn FnMut(&mut Expr)) {
    match statement {
        Stmt::If(flow, _) | Stmt::While(flow, _) | Stmt::Do(flow, ..) | Stmt::TryCatch(flow, _) => {
            in_expr(&mut flow.expr, change);
            each_expr(flow.body.statements_mut(), change);
            each_expr(flow.branch.statements_mut(), change);
        }
        Stmt::For(x, _) => {
            in_expr(&mut x.2.expr, change);
            each_expr(x.2.body.statements_mut(), change);
            each_expr(x.2.branch.statements_mut(), change);
        }
        Stmt::Switch(x, _) => {
            in_expr(&mut x.0, change);
            for case in &mut x.1.expressions {
                in_expr(&mut case.lhs, change);
                in_expr(&mut case.rhs, change);
            }
        }
        Stmt::Var(x, ..) => in_expr(&mut x.1, change),
        Stmt::Assignment(x) => {
            in_expr(&mut x.1.lhs, change);
            in_expr(&mut x.1.rhs, change);
        }
        // A call that is a statement has a form of its own, which holds nothing but calls.
        Stmt::FnCall(call, at) => {
            let mut whole = Expr::FnCall(call.clone(), *at);
            in_expr(&mut whole, change);
            match whole {
                Expr::FnCall(changed, _) => *call = changed,
                other => *statement = Stmt::Expr(Box::new(other)),
            }
        }
        Stmt::Block(block) => each_expr(block.statements_mut(), change),
        Stmt::Expr(x) => in_expr(x, change),
        Stmt::BreakLoop(Some(x), ..) | Stmt::Return(Some(x), ..) => in_expr(x, change),
        _ => {}
    }
}

fn in_expr(expr: &mut Expr, change: &mut dyn FnMut(&mut Expr)) {
    match expr {
        Expr::InterpolatedString(items, _) | Expr::Array(items, _) => {
            items.iter_mut().for_each(|x| in_expr(x, change));
        }
        Expr::Map(x, _) => x.0.iter_mut().for_each(|(_, x)| in_expr(x, change)),
        Expr::Stmt(block) => each_expr(block.statements_mut(), change),
        Expr::FnCall(call, _) | Expr::MethodCall(call, _) => {
            call.args.iter_mut().for_each(|x| in_expr(x, change));
        }
        Expr::Dot(x, ..) | Expr::Index(x, ..) => {
            in_expr(&mut x.lhs, change);
            in_expr(&mut x.rhs, change);
        }
        Expr::And(items, _) | Expr::Or(items, _) | Expr::Coalesce(items, _) => {
            items.iter_mut().for_each(|x| in_expr(x, change));
        }
        Expr::Custom(x, _) => x.inputs.iter_mut().for_each(|x| in_expr(x, change)),
        _ => {}
    }
    change(expr);
}
