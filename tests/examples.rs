//! Every example of the op table, run and compared with what it says it prints.

use std::collections::HashSet;
use std::sync::Arc;

use tensorlab::device::Machine;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};

#[test]
fn each_example_prints_what_the_reference_says() {
    let mut interpreter = Interpreter::new(Machine::cpu_only(), Arc::new(Silent), &Limits::default());
    let (mut ran, mut wrong) = (0, Vec::new());
    for def in tensorlab::op::table() {
        let (code, shown) = def.example;
        if code.is_empty() {
            wrong.push(format!("{} has no example", def.name));
            continue;
        }
        interpreter.reset();
        let printed = match interpreter.evaluate(1, &Origin { name: def.name, code, first_line: 1 }) {
            Ok(value) => interpreter.show(&value).unwrap_or_default(),
            Err(stopped) => format!("{stopped:?}"),
        };
        ran += 1;
        if printed != shown {
            wrong.push(format!("{}: `{code}` prints\n{printed}\nand not\n{shown}", def.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {ran} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(ran > 100);
}

#[test]
fn names_are_unique_and_rows_are_documented() {
    let mut seen = HashSet::new();
    for def in tensorlab::op::table() {
        assert!(seen.insert(def.name), "{} stands in the table twice", def.name);
        assert!(def.summary.ends_with('.'), "{}: the summary is a sentence", def.name);
        assert!(!def.forms.is_empty(), "{} can be called", def.name);
    }
}
