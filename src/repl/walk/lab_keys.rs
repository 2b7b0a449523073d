//! What takes the place of the lab's keys at the prompt, where a lesson's text names them.

/// Words of a lesson's text, and what is done here instead. The first that stands in a text tells for it.
const INSTEAD: [(&[&str], &str); 5] = [
    (&["F5"], "F5 is Enter on an empty line, and for your own code the line with the full stop"),
    (
        &["F6", "machine panel", "the panel"],
        "of what F6 and the machine panel show, the lines below each cell have its time, memory and copies; for the rest, \
         code of your own at any question: > smi() and > plot::memory() for the memory, > plot::timeline(|| { CODE }) for \
         what ran when, > telemetry::record(|| { CODE }) for launches and waits",
    ),
    (&["press `n`", "press `p`"], "the pages come one after the other, and q leaves"),
    (&["Esc and then `h`"], "h alone gives a hint"),
    (&["F2"], "each question asks for its answer by itself"),
];

/// Which of them a learner has been told of: once is enough.
#[derive(Default)]
pub(super) struct LabKeys([bool; INSTEAD.len()]);

impl LabKeys {
    /// What is to be said after this text.
    pub(super) fn told(&mut self, text: &str) -> Option<String> {
        let mut said = Vec::new();
        for ((words, instead), known) in INSTEAD.iter().zip(&mut self.0) {
            if !*known && words.iter().any(|word| text.contains(word)) {
                *known = true;
                said.push(*instead);
            }
        }
        (!said.is_empty()).then(|| format!("(At this prompt: {}.)", said.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_told_where_it_is_first_named() {
        let mut keys = LabKeys::default();
        assert_eq!(keys.told("A copy is made."), None);
        let told = keys.told("Press F5, and then look at F6 and the machine panel.").unwrap();
        assert!(
            told.starts_with("(At this prompt: F5 is Enter")
                && told.contains("below each cell")
                && told.contains("> plot::memory()"),
            "{told}"
        );
        assert_eq!(keys.told("F5 runs it, F6 shows it."), None);
    }
}
