//! How many arguments a function of the script takes, which Rhai does not say where it is called with another number.

use rhai::{AST, ASTNode, Expr, FnPtr};

use crate::base::figures::plural;

/// How the names begin that the parser gives to closures.
pub(crate) const CLOSURE: &str = "anon$";

/// What a function takes.
pub(crate) struct Takes {
    /// Its parameters; a closure's begin with what it has captured.
    pub params: Vec<String>,
    pub captured: usize,
}

impl Takes {
    /// What the function of a name takes, where the code that has it is known.
    pub(super) fn of(name: &str, code: &AST, library: &AST) -> Option<Takes> {
        let mut all = code.iter_functions().chain(library.iter_functions());
        let params = all.find(|function| function.name == name)?.params;
        let params = params.iter().map(|param| (*param).to_owned()).collect();
        Some(Takes {
            params,
            captured: captured(name, code).or_else(|| captured(name, library)).unwrap_or_default(),
        })
    }

    /// What is said of a call with other arguments, and what helps; none where their number is right.
    pub(super) fn of_call(&self, name: &str, given: usize) -> Option<(String, String)> {
        let own = self.params.get(self.captured..)?;
        // A module hands itself over.
        let bound = usize::from(own.first().is_some_and(|first| first == "self"));
        let (needed, given) = (own.len() - bound, given.checked_sub(self.captured + bound)?);
        let params = own.join(", ");
        let what =
            if name.starts_with(CLOSURE) { format!("|{params}|") } else { format!("{name}({params})") };
        let beside = if bound == 1 { " beside `self`" } else { "" };
        let takes = plural(needed as u64, "argument", "arguments");
        let text = format!("`{what}` takes {takes}{beside}, and is given {given}");
        let hint = match given {
            less if less < needed => {
                "every argument is given: `()` stands for one that has no value".to_owned()
            }
            more if more > needed => {
                let letters = ('b'..='z').map(String::from).filter(|letter| !own.contains(letter));
                let more = (needed..more).zip(letters).map(|(_, letter)| letter);
                let all: Vec<String> = own.iter().cloned().chain(more).collect();
                format!("it is called with {given}, and takes as many: `|{}| …`", all.join(", "))
            }
            _ => return None,
        };
        Some((text, hint))
    }
}

/// How many variables a closure of some code captures; none where it is no closure of that code.
fn captured(name: &str, code: &AST) -> Option<usize> {
    let is = |expr: &Expr| match expr {
        Expr::DynamicConstant(value, _) => {
            value.read_lock::<FnPtr>().is_some_and(|function| function.fn_name() == name)
        }
        _ => false,
    };
    let mut found = None;
    code.walk(&mut |path: &[ASTNode]| {
        if let Some(ASTNode::Expr(Expr::FnCall(call, _))) = path.last()
            && call.name == "curry"
            && call.args.first().is_some_and(is)
        {
            found = Some(call.args.len() - 1);
        }
        true
    });
    found
}
