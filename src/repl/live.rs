//! What a script shows again and again under one name: redrawn in place, or shown once at the end.

/// What was shown under names.
#[derive(Default)]
pub struct Live {
    /// Rows of the screen within which something can be redrawn; none where nothing may be.
    rows: Option<usize>,
    /// What stands right above the cursor, and how many rows it takes.
    last: Option<(String, usize)>,
    /// What is shown at the end, in the order in which it first came.
    held: Vec<(String, String)>,
}

impl Live {
    /// `rows` of a screen that may be redrawn, or none.
    pub fn new(rows: Option<usize>) -> Live {
        Live { rows, ..Live::default() }
    }

    /// What is to be written now to show `text`, whole lines that each fit the screen, under a name.
    pub fn show(&mut self, id: &str, text: String) -> String {
        let height = text.lines().count();
        if self.rows.is_none_or(|rows| height >= rows) {
            match self.held.iter_mut().find(|(name, _)| name == id) {
                Some((_, held)) => *held = text,
                None => self.held.push((id.to_string(), text)),
            }
            return String::new();
        }
        let above = match self.last.replace((id.to_string(), height)) {
            Some((name, before)) if name == id => format!("\r\x1b[{before}A\x1b[J"),
            _ => String::new(),
        };
        above + text.as_str()
    }

    /// Something else was written, which stays.
    pub fn other(&mut self) {
        self.last = None;
    }

    /// What is still to be shown when nothing more comes.
    pub fn rest(&mut self) -> String {
        self.last = None;
        self.held.drain(..).map(|(_, text)| text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_redrawn_in_place_until_something_else_is_written() {
        let mut live = Live::new(Some(24));
        assert_eq!(live.show("loss", "1\n2\n".into()), "1\n2\n");
        assert_eq!(live.show("loss", "3\n".into()), "\r\x1b[2A\x1b[J3\n");
        live.other();
        assert_eq!(live.show("loss", "4\n".into()), "4\n");
        assert_eq!(live.show("rate", "5\n".into()), "5\n", "another name");
        assert_eq!(live.rest(), "");
    }

    #[test]
    fn elsewhere_only_the_last_one_of_a_name_is_shown() {
        let mut live = Live::new(None);
        for text in ["1\n", "2\n"] {
            assert_eq!(live.show("loss", text.into()), "");
            assert_eq!(live.show("rate", text.into()), "");
        }
        assert_eq!((live.rest().as_str(), live.rest().as_str()), ("2\n2\n", ""));
        let mut low = Live::new(Some(2));
        assert_eq!(low.show("loss", "1\n2\n".into()), "", "it does not fit the screen");
    }
}
