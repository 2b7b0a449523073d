//! Rhai code in Python.

pub fn translate(code: &str) -> String {
    code.to_owned()
}
