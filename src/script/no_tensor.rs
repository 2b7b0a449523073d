//! What is said of a function of tensors that gets no tensor.

use crate::op::def::ParamKind;

/// What PyTorch says where a function of tensors gets a number first.
pub(super) fn of_numbers(name: &str, bare: &str, shown: &[String]) -> Option<String> {
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
}
