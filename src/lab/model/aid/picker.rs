//! A list that is narrowed by typing: the actions, and the cells run before.

use crate::lab::model::aid::fuzzy;

/// Something to choose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PickerEntry {
    /// What is searched and shown.
    pub text: String,
    /// Shown at the right: the key, or nothing.
    pub note: String,
    /// Its place among what is chosen from.
    pub id: usize,
}

/// What is typed, and what of the list fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Picker {
    pub typed: String,
    all: Vec<PickerEntry>,
    /// Places in the list, the best first.
    fitting: Vec<usize>,
    pub selected: usize,
    /// Among what fits equally well, the later comes first.
    newest_first: bool,
}

impl Picker {
    pub(crate) fn new(all: Vec<PickerEntry>, newest_first: bool) -> Picker {
        let (typed, fitting) = (String::new(), Vec::new());
        let mut picker = Picker { typed, all, fitting, selected: 0, newest_first };
        picker.search();
        picker
    }

    pub(crate) fn push(&mut self, c: char) {
        self.typed.push(c);
        self.search();
    }

    pub(crate) fn pop(&mut self) {
        self.typed.pop();
        self.search();
    }

    pub(crate) fn clear(&mut self) {
        self.typed.clear();
        self.search();
    }

    pub(crate) fn go(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by).min(self.fitting.len().saturating_sub(1));
    }

    /// What fits, the best first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &PickerEntry> {
        self.fitting.iter().filter_map(|i| self.all.get(*i))
    }

    pub(crate) fn len(&self) -> usize {
        self.fitting.len()
    }

    pub(crate) fn chosen(&self) -> Option<&PickerEntry> {
        self.entries().nth(self.selected)
    }

    fn search(&mut self) {
        let mut scored: Vec<(usize, usize)> = Vec::new();
        for (i, entry) in self.all.iter().enumerate() {
            if let Some(score) = fuzzy::score(&entry.text, &self.typed) {
                let age = self.all.len() - i;
                // In a history, the words that stand together count, and then what is newer.
                scored.push(if self.newest_first { (score / 1000, age) } else { (score, i) });
            }
        }
        scored.sort_unstable();
        let place =
            |(_, order): &(usize, usize)| if self.newest_first { self.all.len() - order } else { *order };
        self.fitting = scored.iter().map(place).collect();
        self.selected = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker(texts: &[&str], newest_first: bool) -> Picker {
        let entry =
            |(id, text): (usize, &&str)| PickerEntry { text: (*text).into(), note: String::new(), id };
        Picker::new(texts.iter().enumerate().map(entry).collect(), newest_first)
    }

    #[test]
    fn the_newest_that_fits_comes_first_in_a_history() {
        let mut picker = picker(&["let a = 1", "print(a)", "let b = 2"], true);
        assert_eq!(picker.chosen().map(|e| e.id), Some(2));
        "let".chars().for_each(|c| picker.push(c));
        assert_eq!(picker.entries().map(|e| e.id).collect::<Vec<_>>(), [2, 0]);
        picker.go(5);
        assert_eq!(picker.chosen().map(|e| e.id), Some(0));
        picker.push('?');
        assert_eq!((picker.chosen(), picker.len()), (None, 0));
        picker.pop();
        assert_eq!(picker.len(), 2);
    }
}
