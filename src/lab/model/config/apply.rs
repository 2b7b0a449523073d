//! The settings, as the state takes them.

use crate::lab::model::config::Config;
use crate::lab::model::state::State;
use crate::lab::model::text;
use crate::lab::model::vi::Vi;

impl State {
    /// Takes the learner's settings; what is wrong in them is told in the header.
    pub fn configure(&mut self, config: &Config) {
        (self.shares.lesson, self.shares.machine) = config.shares();
        self.keymap = config.keymap.clone();
        self.aid.vi = config.vi().then(Vi::default);
        self.aid.python = config.python();
        if let Some(first) = config.problems.first() {
            let more = config.problems.len() - 1;
            let rest = if more > 0 { format!(" (and {more} more)") } else { String::new() };
            self.say(text::clean_line(&format!("settings, {first}{rest}; `tensorlab config` shows all")));
        }
    }
}
