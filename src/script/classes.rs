//! `isinstance(m, nn::Linear)`: a class is named there as in Python. To Rhai the name is a variable's, so that it becomes the
//! text by which a module's class is known.

use rhai::Expr;

use crate::op::Form;

use super::help;

/// Has the classes in a call of `isinstance` be texts.
pub(super) fn wrap(expr: &mut Expr) {
    let Expr::FnCall(call, _) = expr else { return };
    if call.is_qualified() || call.name != "isinstance" {
        return;
    }
    let [_, class, ..] = call.args.as_mut() else { return };
    match class {
        Expr::Array(classes, _) => classes.iter_mut().for_each(named),
        class => named(class),
    }
}

fn named(class: &mut Expr) {
    let Expr::Variable(variable, _, at) = &*class else { return };
    let (_, name, space, _) = &**variable;
    if is_class(&space.to_string(), name) {
        *class = Expr::StringConstant(name.clone(), *at);
    }
}

/// Whether a module such as `nn` has a class of that name. `nn::Module` is what all of them are.
pub(super) fn is_class(space: &str, name: &str) -> bool {
    let has = |form: &Form| matches!(form, Form::Of(of) if *of == space);
    let is_spaced = space.split("::").next() == Some("nn") && name.starts_with(char::is_uppercase);
    is_spaced && (name == "Module" || help::rows().any(|def| def.name == name && def.forms.iter().any(has)))
}
