//! What is said of arguments that don't fit a function of tensors, as no tensor, too few or too many do, and of keys that
//! don't fit a value.

use crate::op::OpDef;
use crate::op::def::{InPlace, ParamKind};

use super::missing::NOTHING;

/// Values that one `print` writes: more than so many of any types are no call to Rhai.
pub(super) const MOST_PRINTED: usize = 16;

/// What is wrong with the arguments of these types, as far as a row of the table says.
pub(super) fn of_arguments(name: &str, bare: &str, shown: &[String]) -> Option<String> {
    of_numbers(name, bare, shown).or_else(|| of_count(bare, shown))
}

/// Whether `add_` and its like are a method.
pub(super) fn is_in_place(bare: &str) -> bool {
    in_place(bare).is_some()
}

fn in_place(bare: &str) -> Option<&'static OpDef> {
    bare.strip_suffix('_').and_then(crate::op::find).filter(|def| !matches!(def.in_place, InPlace::None))
}

/// A call of a method, or of a function on a tensor, with another number of arguments than it takes.
fn of_count(bare: &str, shown: &[String]) -> Option<String> {
    let def = crate::op::find(bare).or_else(|| in_place(bare))?;
    let on_tensor = shown.first().is_some_and(|first| first == "Tensor")
        && def.params.first().is_some_and(|first| first.kind == ParamKind::Tensor);
    // Options may be any of its parameters.
    if !on_tensor || shown.last().is_some_and(|last| last == "map") {
        return None;
    }
    let (most, given) = (def.params.len(), shown.len());
    if given > most {
        let s = if most == 1 { "" } else { "s" };
        return Some(format!("{bare}() takes at most {most} argument{s}, and {given} were given"));
    }
    let missing = def.params.get(given..)?.iter().find(|param| param.default.is_none())?;
    Some(format!("{bare}() missing required argument '{}'", missing.name))
}

/// What PyTorch says where a function of tensors gets a number first.
fn of_numbers(name: &str, bare: &str, shown: &[String]) -> Option<String> {
    let given = shown.first().filter(|given| matches!(given.as_str(), "int" | "float" | "bool"))?;
    let params = crate::op::find(bare)?.params;
    let (first, second) = (params.first()?, params.get(1)?);
    if first.kind != ParamKind::Tensor {
        return None;
    }
    let torch = if name.starts_with("special::") { format!("special_{bare}") } else { bare.to_owned() };
    if second.kind != ParamKind::Operand || !OR_A_NUMBER.contains(&bare) {
        return Some(format!(
            "{torch}(): argument '{}' (position 1) must be Tensor, not {given}",
            first.name
        ));
    }
    let forms =
        ["Tensor", "Number"].map(|kind| format!(" * (Tensor {}, {kind} {})", first.name, second.name));
    Some(format!(
        "{torch}() received an invalid combination of arguments - got ({}), but expected one of:\n{}",
        shown.join(", "),
        forms.join("\n")
    ))
}

/// What helps where a function of the table, or what a variable holds, is given values of these types first.
pub(super) fn of_first(bare: &str, shown: &[String], ways: &[String]) -> Option<String> {
    let first = shown.first()?.as_str();
    Some(match (bare, first) {
        ("print", _) if shown.len() > MOST_PRINTED => {
            format!(
                "print() takes {MOST_PRINTED} values: more stand in a text, `${{a}} ${{b}}`, or in an array"
            )
        }
        _ if shown.iter().any(|given| given == "()") => NOTHING.into(),
        ("range", "float") => "counts are whole: `range(x.to_int())`".into(),
        ("range", "Tensor") => "counts are whole: `range(x.item())`".into(),
        ("forward", "Function") => "`f.apply(x)` calls it".into(),
        ("forward", "map") => "`d.net.forward(x)` calls a module that a map holds".into(),
        ("bool", "array") => {
            "`!xs.is_empty()` is Python's truth of an array, and `tensor(xs).bool()` that of each of its numbers".into()
        }
        (_, "array") if is_of_tensors(bare) => format!(
            "of an array of numbers it is `tensor(xs).{bare}(…)`; of one of tensors, as a loader's batch `[x, y]` is, \
             `xs[0].{bare}(…)`"
        ),
        _ if ways.is_empty() && is_space(bare) => {
            format!(
                "`{bare}` is a module, whose functions are called as `{bare}::NAME(…)`: `?{bare}` lists them"
            )
        }
        _ if ways.is_empty() && in_place(bare).is_none() => {
            format!("`{bare}.forward(…)` calls a module, `{bare}.call(…)` a closure")
        }
        _ => return of_functional(ways, shown.len()),
    })
}

fn is_space(name: &str) -> bool {
    super::spaces::ROWS.iter().any(|row| row.name == name)
}

/// What is called as a function of `F` alone.
fn of_functional(ways: &[String], values: usize) -> Option<String> {
    let [way] = ways else { return None };
    way.strip_prefix("F::").filter(|_| values > 0)?;
    let more = if values > 1 { ", …" } else { "" };
    Some(format!("it is no method: `{way}(x{more})`"))
}

/// How what a module or a map holds is called with how many values, the holder among them; none for the name of a class.
pub(super) fn of_part(name: &str, of: &str, values: usize) -> Option<String> {
    if name.starts_with(char::is_uppercase) || !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return None;
    }
    let given = if values > 2 { "x, …" } else { "x" };
    Some(match of {
        "map" => format!(
            "what a map holds is called by `d.{name}.call({given})`, a module by `d.{name}.forward({given})`"
        ),
        _ => format!(
            "a part of a module is called by `forward`: `self.{name}.forward({given})`; a method of your own is a closure that is \
             given the module: `{name}.call(net, {given})`"
        ),
    })
}

/// Whether it is a method of tensors, where arrays have none of that name.
fn is_of_tensors(bare: &str) -> bool {
    crate::op::find(bare)
        .or_else(|| in_place(bare))
        .is_some_and(|def| def.params.first().is_some_and(|first| first.kind == ParamKind::Tensor))
}

/// How a value is looked up that takes no key of a type.
pub(super) fn part(want: &str, got: &str) -> Option<String> {
    Some(match (want, got) {
        ("int", range) if range.starts_with("Range") => {
            "`xs[1..3]` is a part of an array to read; `xs.splice(1..3, [5])` puts other items in its place".into()
        }
        ("string", "int" | "char") => {
            "names of a map are texts: `` d[`${i}`] ``; results in parts have them: `.values` and `.indices` of max, sort \
             and topk, `.min` and `.max` of aminmax, `.Q` and `.R` of qr, `.U`, `.S` and `.Vh` of svd, and `r.keys()` tells others"
                .into()
        }
        _ => return None,
    })
}

/// What is not a closure, and was called as one.
pub(super) const CALLED: &str = "`f.call(x)` calls a closure; a module is called by `net.forward(x)`";

/// Whether optimisers have an option of that name.
pub(super) fn is_option(name: &str) -> bool {
    crate::optim::table().any(|row| row.params.iter().skip(1).any(|param| param.name == name))
}

/// What Python takes as true of a value of a type.
pub(super) fn truth(of: &str) -> Option<String> {
    let (test, what) = match of {
        "int" | "float" => ("n != 0", "a number"),
        "array" => ("!xs.is_empty()", "an array"),
        "map" => ("!d.is_empty()", "a map"),
        "string" => ("s != \"\"", "a text"),
        // What a closure holds as well has no other name.
        "()" | "a value that a closure holds" => ("x != ()", "what may be None"),
        _ => return None,
    };
    Some(format!("a condition is true or false here: `{test}` is Python's truth of {what}"))
}

/// Functions of two tensors whose second PyTorch lets be a number, and says so; here others take one as well.
const OR_A_NUMBER: [&str; 22] = [
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "clamp_max",
    "clamp_min",
    "copysign",
    "eq",
    "float_power",
    "fmod",
    "ge",
    "gt",
    "le",
    "lt",
    "ne",
    "pow",
    "remainder",
    "rsub",
    "xlog1py",
    "xlogy",
    "zeta",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_pytorch_says() {
        let said = |name: &str, given: &[&str]| {
            let given: Vec<String> = given.iter().map(|g| (*g).to_owned()).collect();
            of_numbers(name, name.rsplit("::").next().unwrap_or(name), &given)
        };
        let forms = "\n * (Tensor input, Tensor other)\n * (Tensor input, Number other)";
        let several = "received an invalid combination of arguments - got (int, int), but expected one of:";
        assert_eq!(said("fmod", &["int", "int"]), Some(format!("fmod() {several}{forms}")));
        assert!(
            said("special::zeta", &["int", "int"]).is_some_and(|text| text.starts_with("special_zeta() "))
        );
        let one = "gcd(): argument 'input' (position 1) must be Tensor, not int";
        assert_eq!(said("gcd", &["int", "Tensor"]).as_deref(), Some(one));
        assert_eq!((said("gcd", &["Tensor", "array"]), said("zeros", &["int", "array"])), (None, None));
    }

    #[test]
    fn too_few_and_too_many_are_told_by_the_name_that_was_called() {
        let said = |name: &str, given: &[&str]| {
            let given: Vec<String> = given.iter().map(|g| (*g).to_owned()).collect();
            of_arguments(name, name, &given)
        };
        let missing = |name: &str| Some(format!("{name}() missing required argument 'other'"));
        assert_eq!((said("add", &["Tensor"]), said("mul_", &["Tensor"])), (missing("add"), missing("mul_")));
        let many = "add_() takes at most 3 arguments, and 4 were given";
        assert_eq!(said("add_", &["Tensor", "int", "int", "int"]).as_deref(), Some(many));
        // Of an option nobody knows what it stands for.
        assert_eq!((said("add", &["Tensor", "map"]), said("add_", &["Tensor", "array"])), (None, None));
        assert_eq!(said("matmul_", &["Tensor"]), None);
    }
}
