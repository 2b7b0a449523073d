//! What the lab has said: what is still to be read, and all of it.

use std::collections::VecDeque;
use std::time::Duration;

/// Messages that are kept.
const MOST: usize = 500;
/// How long a message that came by itself stays, whatever is typed meanwhile.
const LEAST: Duration = Duration::from_secs(3);

/// Something that was said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Note {
    pub text: String,
    /// When, on the lab's clock.
    pub at: Duration,
    /// No key asked for it.
    pub by_itself: bool,
    /// It stays until all messages are looked at.
    pub lasts: bool,
}

/// Messages, the newest last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Said {
    unread: Vec<Note>,
    log: VecDeque<Note>,
    /// A key or the mouse is being answered.
    pub answering: bool,
}

impl Said {
    /// Says something until it is read.
    pub(crate) fn say(&mut self, text: String, at: Duration) {
        self.take(Note { text, at, by_itself: !self.answering, lasts: false });
    }

    /// Says something that stays whatever is typed, until all messages are looked at.
    pub(crate) fn say_lasting(&mut self, text: String, at: Duration) {
        self.take(Note { text, at, by_itself: !self.answering, lasts: true });
    }

    fn take(&mut self, note: Note) {
        // Said again, it is read once.
        self.unread.retain(|other| other.text != note.text);
        self.unread.push(note.clone());
        if self.log.len() == MOST {
            self.log.pop_front();
        }
        self.log.push_back(note);
    }

    /// A key was pressed: what was said has been read, unless it came by itself just now.
    pub(crate) fn read(&mut self, now: Duration) {
        self.unread.retain(|note| note.lasts || note.by_itself && now.saturating_sub(note.at) < LEAST);
    }

    /// All messages are looked at.
    pub(crate) fn seen(&mut self) {
        self.unread.clear();
    }

    /// What does not hold any more need not be read.
    pub(crate) fn withdraw(&mut self, begins: &str) {
        self.unread.retain(|note| !note.text.starts_with(begins));
    }

    /// What is still to be read.
    pub(crate) fn unread(&self) -> &[Note] {
        &self.unread
    }

    /// All that is kept.
    pub(crate) fn log(&self) -> impl Iterator<Item = &Note> {
        self.log.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_goes_with_the_next_key_and_news_stay_a_moment() {
        let mut said = Said::default();
        let second = Duration::from_secs(1);
        said.say("news".into(), second);
        said.answering = true;
        said.say("answer".into(), second);
        said.read(2 * second);
        assert_eq!(said.unread().iter().map(|note| note.text.as_str()).collect::<Vec<_>>(), ["news"]);
        said.say_lasting("lost".into(), second);
        said.read(5 * second);
        assert_eq!(said.unread().iter().map(|note| note.text.as_str()).collect::<Vec<_>>(), ["lost"]);
        said.seen();
        assert!(said.unread().is_empty());
        assert_eq!(said.log().count(), 3);
    }

    #[test]
    fn what_is_said_again_is_read_once_and_the_log_is_bounded() {
        let mut said = Said::default();
        for _ in 0..2 * MOST {
            said.say("again".into(), Duration::ZERO);
        }
        assert_eq!((said.unread().len(), said.log().count()), (1, MOST));
    }
}
