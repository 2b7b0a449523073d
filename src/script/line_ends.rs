//! `print(…, #{sep: ", ", end: " "})`: what stands between the values of a line, and what ends it.

use std::cell::Cell;

use rhai::{Dynamic, Map};

use super::bind::FnCallArgs;
use super::host::Host;

thread_local! {
    /// What ends the text that `print` has made and the host has not written yet, where that is no end of line.
    static END: Cell<Option<String>> = const { Cell::new(None) };
}

/// The options behind what is printed, and how many values stand before them. A map is none where it has other names, or
/// where no value stands before it.
pub(super) fn options(args: &FnCallArgs) -> (Option<Map>, usize) {
    let last = args.last().and_then(|last| last.read_lock::<Map>().map(|map| map.clone()));
    let is_option = |(name, value): (&_, &Dynamic)| match name {
        "sep" | "end" => value.is_string() || value.is_unit(),
        "flush" => value.is_bool(),
        _ => false,
    };
    let options = last.filter(|map| !map.is_empty() && map.iter().all(|(k, v)| is_option((k.as_str(), v))));
    let values = args.len() - usize::from(options.is_some());
    (options, values)
}

/// The text of an option; none where it is not given, or `()` as Python's None.
pub(super) fn text(options: Option<&Map>, name: &str) -> Option<String> {
    let value = options?.get(name).filter(|value| !value.is_unit())?;
    Some(value.to_string())
}

/// Has the line that is printed next end with this.
pub(super) fn set(end: Option<String>) {
    END.set(end);
}

/// Writes what `print` has made.
pub(super) fn write(host: &dyn Host, text: &str) {
    match END.take() {
        None => host.print(text),
        Some(end) => match end.strip_suffix('\n') {
            Some(end) => host.print(&format!("{text}{end}")),
            None => host.part(&format!("{text}{end}")),
        },
    }
}
