//! What is told of ranges, of loops through maps, and of maps whose values have no names.

use crate::script::fault::Fault;

/// What is told of a range whose ends are tensors.
pub(super) fn of_tensors(fault: &Fault) -> Option<String> {
    let (sign, given) = fault.message.strip_prefix("there is no function '")?.split_once("' for (")?;
    (matches!(sign, ".." | "..=") && given.contains("Tensor")).then_some(())?;
    let told = "a range is of integers: `i.item()` gives that of a tensor, and `ix.tolist()` those of a tensor of places";
    let code = with_items(fault, sign).map_or(String::new(), |code| format!(": `{code}`"));
    Some(format!("{told}{code}"))
}

/// The range with `.item()` behind the name that it begins with.
fn with_items(fault: &Fault, sign: &str) -> Option<String> {
    let (before, behind) = around(fault)?;
    let name = before.rsplit(is_no_name).next().filter(|name| name.starts_with(char::is_alphabetic))?;
    let of = before.strip_suffix(name)?;
    (!of.ends_with('.')).then_some(())?;
    let end = behind.find([']', ')', '{', ';', ','])?;
    let rest = behind.get(..end)?.strip_prefix(sign)?.trim();
    let is_plain = |c: char| c.is_alphanumeric() || "_ +-*/".contains(c);
    rest.chars().all(is_plain).then_some(())?;
    let mut parts = Vec::new();
    for part in rest.split(' ') {
        parts.push(if part == name { format!("{name}.item()") } else { part.to_owned() });
    }
    Some(format!("{name}.item(){sign}{}", parts.join(" ")))
}

/// What is told of a loop through a map, with the names that it has.
pub(super) fn through_map(fault: &Fault) -> Option<String> {
    fault.message.starts_with("a `for` loop can't go through this").then_some(())?;
    let (head, of) = fault.source_line.as_deref()?.split_once(" in ")?;
    let names = head.rsplit_once("for ")?.1.trim();
    let of = of.split_once('{')?.0.trim();
    let is_path = of.starts_with(char::is_alphabetic)
        && of.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    let way = if names.starts_with('(') { "items" } else { "keys" };
    is_path.then(|| format!("`for {names} in {of}.{way}()` goes through a map"))
}

/// What is told of `#{lr}`, where a value has no name.
pub(super) fn nameless(fault: &Fault) -> Option<String> {
    let name = fault.message.strip_prefix("Expecting ':' to follow the property '")?.split('\'').next()?;
    let line = fault.source_line.as_deref()?;
    let is_bare = |sign: char| line.contains(&format!("{name}{sign}"));
    [',', '}'].into_iter().any(is_bare).then_some(())?;
    Some(format!("each value of a map has its name before it: `{name}: {name}`"))
}

/// The line before the place of a fault, and from there on.
fn around(fault: &Fault) -> Option<(&str, &str)> {
    let line = fault.source_line.as_deref()?;
    let at = usize::try_from(fault.column?).ok()?.checked_sub(1)?;
    line.split_at_checked(line.char_indices().nth(at)?.0)
}

fn is_no_name(c: char) -> bool {
    !(c.is_alphanumeric() || c == '_')
}
