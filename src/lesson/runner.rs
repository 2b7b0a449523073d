//! Runs the steps of a lesson in a session and waits for what comes of them.

use std::io;
use std::time::{Duration, Instant};

use crate::session::death::Death;
use crate::session::exchange::{Bell, Exchange, Said, Unanswered};
use crate::session::options::SessionOptions;
use crate::session::protocol::{DeviceInfo, Message};

use super::attempt::{Attempt, AttemptEnd, Took};

/// What an evaluation may take where the lesson names no limit, and a session to begin.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a session has beyond the limit of an evaluation to say so.
const GRACE: Duration = Duration::from_secs(10);

/// A session for one lesson.
pub(crate) struct Runner {
    exchange: Exchange,
    devices: Vec<DeviceInfo>,
    patience: Duration,
}

impl Runner {
    /// Starts a session.
    ///
    /// # Errors
    /// It can't be started, or does not greet.
    pub(crate) fn start(options: &SessionOptions) -> io::Result<Runner> {
        let (options, patience) = limited(options);
        let mut runner =
            Runner { exchange: Exchange::open(options.command()?)?, devices: Vec::new(), patience };
        runner.devices = runner.exchange.greet(PATIENCE).map_err(io::Error::other)?;
        Ok(runner)
    }

    /// What it has.
    pub(crate) fn devices(&self) -> &[DeviceInfo] {
        &self.devices
    }

    /// What Ctrl-C rings: it ends the attempt that runs.
    pub(crate) fn bell(&self) -> Bell {
        self.exchange.bell()
    }

    /// Runs an attempt to its end; what the learner's code says goes to `each`. A session that ends meanwhile ends the
    /// attempt as an error of that code, and the next attempt has another one. Where it had ended before it heard of the
    /// attempt, the attempt begins again in another one, once.
    ///
    /// # Errors
    /// There is no session to be had.
    pub(crate) fn run(
        &mut self,
        attempt: &mut Attempt,
        each: &mut dyn FnMut(Message),
    ) -> Result<AttemptEnd, Unanswered> {
        self.exchange.catch_up();
        if self.exchange.death().is_some() {
            self.renew(attempt)?;
        }
        let (mut heard, mut renewed) = (false, false);
        while let Some(request) = attempt.request(self.exchange.new_id()) {
            let died = match self.exchange.post(request) {
                Ok(()) => self.hear(attempt, &mut heard, each)?,
                Err(reason) => Some(reason),
            };
            match died {
                None => {}
                Some(_) if !heard && !renewed => {
                    renewed = true;
                    self.renew(attempt)?;
                }
                Some(reason) => {
                    let from_outside = self.exchange.death().is_some_and(Death::is_from_outside);
                    attempt.die(&reason, from_outside);
                }
            }
        }
        Ok(attempt.end().cloned().unwrap_or_else(|| AttemptEnd::Cut("it did not end".into())))
    }

    /// Has another session for an attempt that begins.
    fn renew(&mut self, attempt: &mut Attempt) -> Result<(), Unanswered> {
        self.exchange.restart().map_err(|error| Unanswered::Died(error.to_string()))?;
        self.devices = self.exchange.greet(PATIENCE)?;
        attempt.begin_again();
        Ok(())
    }

    /// Waits for the answer to what was asked; gives the reason where the session ends meanwhile. `heard` is set once
    /// it says anything of the attempt.
    fn hear(
        &mut self,
        attempt: &mut Attempt,
        heard: &mut bool,
        each: &mut dyn FnMut(Message),
    ) -> Result<Option<String>, Unanswered> {
        let mut until = Instant::now() + self.patience;
        let mut asked = false;
        while attempt.waits_for().is_some() {
            match self.exchange.next(Some(until)) {
                Said::Message(message) => {
                    let took = attempt.take(&message);
                    *heard |= took != Took::Nothing;
                    if took == Took::Shown {
                        each(message);
                    }
                }
                Said::Interrupt => {
                    attempt.interrupt();
                    self.exchange.interrupt();
                }
                Said::Nothing if !asked => {
                    self.exchange.interrupt();
                    (asked, until) = (true, Instant::now() + GRACE);
                }
                Said::Nothing => return Err(Unanswered::Late),
                Said::Died => {
                    let reason = self.exchange.death().map(ToString::to_string);
                    return Ok(Some(reason.unwrap_or_default()));
                }
            }
        }
        Ok(None)
    }
}

/// What a session is started with, and how long its answers may take. Code that runs for ever is told as such, not as code
/// that somebody has stopped.
fn limited(options: &SessionOptions) -> (SessionOptions, Duration) {
    let mut options = options.clone();
    let limit = *options.limits.time.get_or_insert(PATIENCE);
    (options, limit.saturating_add(GRACE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_limit_has_one_of_a_minute() {
        let seconds = Duration::from_secs;
        let mut options = SessionOptions::default();
        let (minute, patience) = limited(&options);
        assert_eq!((minute.limits.time, patience), (Some(seconds(60)), seconds(70)));
        options.limits.time = Some(seconds(100));
        let (own, patience) = limited(&options);
        assert_eq!((own.limits.time, patience), (Some(seconds(100)), seconds(110)));
    }
}
