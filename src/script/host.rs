//! Where a script's output goes.

use crate::base::error::Exit;
use crate::plot::Figure;

/// Where a script's output goes. Called on the evaluating thread.
pub trait Host: Send + Sync {
    /// A line of output, without its newline.
    fn print(&self, text: &str);

    /// Output that what follows goes on with, within its line; a host of whole lines writes one.
    fn part(&self, text: &str) {
        self.print(text);
    }

    /// A line that warns; it is none of the script's output.
    fn warn(&self, text: &str);

    /// A figure. What was shown under the same `id` before makes room for it.
    fn figure(&self, figure: &Figure, id: Option<&str>);

    /// Text that is shown as one piece, as a figure is.
    fn text(&self, text: &str, _id: Option<&str>) {
        self.print(text);
    }

    /// What the script has its process end with.
    fn ends_with(&self, _end: Exit) {}

    /// A progress bar's state; `total` is absent where the length is unknown.
    fn progress(&self, label: &str, done: u64, total: Option<u64>, note: &str);
}

/// A host that drops everything.
pub struct Silent;

impl Host for Silent {
    fn print(&self, _: &str) {}
    fn warn(&self, _: &str) {}
    fn figure(&self, _: &Figure, _: Option<&str>) {}
    fn progress(&self, _: &str, _: u64, _: Option<u64>, _: &str) {}
}
