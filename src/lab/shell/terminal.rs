//! The terminal, taken over and given back: at the end, on an error, a panic or a signal.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::mem::ManuallyDrop;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};

use crate::base::base64;
use crate::base::stderr::tell;
use crate::lab::model::message::Msg;
use crate::lab::model::output::CLIPBOARD;
use crate::lab::model::picture::Art;
use crate::lab::model::picture::encode::forget;
use crate::lab::model::picture::graphics::{Canvas, Graphics};
use crate::lab::model::state::State;
use crate::lab::view::view;

#[cfg(unix)]
use std::time::Duration;

#[cfg(unix)]
use crate::lab::model::picture::graphics::is_unknown;
#[cfg(unix)]
use crate::lab::shell::sixel_query::listen;

/// The terminal is ours: it has to be given back.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The thread that draws; a panic on another one must not write over what it draws.
static DRAWING: Mutex<Option<ThreadId>> = Mutex::new(None);
/// Panics of other threads, to be told once the terminal is given back.
static UNTOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
static HOOK: Once = Once::new();

/// The terminal in the lab's hands; dropping it gives it back.
pub(crate) struct Screen {
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stdout>>>>,
    /// Pictures that the terminal keeps, by their numbers.
    kept: Kept,
    /// How often all of the screen had been asked for when it was cleared last; none before the first frame.
    cleared: Option<u64>,
}

impl Screen {
    /// Takes the terminal over. An error where there is none.
    pub(crate) fn open() -> io::Result<Screen> {
        if !is_here() {
            let text = "the lab needs a terminal for its input and output; `tensorlab run FILE` needs none";
            return Err(io::Error::new(io::ErrorKind::NotConnected, text));
        }
        HOOK.call_once(guard_panics);
        *DRAWING.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current().id());
        TAKEN.store(true, Ordering::SeqCst);
        let opened = take();
        if opened.is_err() {
            give_back();
        }
        opened?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout()));
        Ok(Screen {
            terminal: ManuallyDrop::new(Terminal::new(backend)?),
            kept: Kept::default(),
            cleared: None,
        })
    }

    /// Columns and rows.
    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        self.terminal.size().map(|size| (size.width, size.height))
    }

    /// Draws the state, in one piece where the terminal can.
    pub(crate) fn draw(&mut self, state: &State) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        if self.cleared != Some(state.redraws) {
            self.clear()?;
            self.cleared = Some(state.redraws);
        }
        self.kept.tell(state.art(), self.terminal.backend_mut())?;
        self.terminal.draw(|frame| view(state, frame))?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)
    }

    /// Takes away whatever stands on the screen, so that the next frame is drawn in full. Entering the alternate screen
    /// does not: terminals that are still in it, as after a lab that was killed, leave it as it is.
    fn clear(&mut self) -> io::Result<()> {
        self.kept.tell(std::iter::empty(), self.terminal.backend_mut())?;
        // `Terminal::clear` would ask the terminal where the cursor is, and the answer goes to who reads the keys.
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }
}

impl Drop for Screen {
    /// The terminal's own drop is left out: it would print, and so panic, where standard error is gone as well.
    /// All that it does is to show the cursor, which is done here.
    fn drop(&mut self) {
        // A terminal that is gone keeps nothing.
        let _ = self.kept.tell(std::iter::empty(), self.terminal.backend_mut());
        let _ = Write::flush(self.terminal.backend_mut());
        give_back();
        let mut untold = UNTOLD.lock().unwrap_or_else(PoisonError::into_inner);
        for text in untold.drain(..) {
            tell!("{text}");
        }
    }
}

/// Puts text into the terminal's clipboard (OSC 52), also over ssh. Terminals that can't ignore it.
pub(crate) fn copy(text: &str) -> io::Result<()> {
    if text.len() > CLIPBOARD || !knows_key_flags() {
        return Ok(());
    }
    let mut out = io::stdout();
    write!(out, "\x1b]52;c;{}\x07", base64::encode(text.as_bytes()))?;
    out.flush()
}

/// The pictures that a terminal was told to keep.
#[derive(Default)]
struct Kept(BTreeSet<u32>);

impl Kept {
    /// Hands over what is to be shown and is not there, and takes back what is not shown any more.
    fn tell<'a>(&mut self, art: impl Iterator<Item = &'a Art>, out: &mut impl Write) -> io::Result<()> {
        let mut wanted = BTreeSet::new();
        for art in art {
            let Art::Kept { number, sent } = art else { continue };
            wanted.insert(*number);
            if self.0.insert(*number) {
                out.write_all(sent.as_bytes())?;
            }
        }
        for number in self.0.difference(&wanted) {
            out.write_all(forget(*number).as_bytes())?;
        }
        self.0 = wanted;
        Ok(())
    }
}

/// Milliseconds in which an Escape may go on to a sequence.
const BRIEF: u32 = 25;

/// The terminal has said that it draws sixels.
static SIXEL: AtomicBool = AtomicBool::new(false);

/// Asks a terminal that the environment does not name what it can show; true where it was asked. Only for the thread
/// that draws.
pub(crate) fn ask() -> io::Result<bool> {
    if !cfg!(unix) || !knows_key_flags() || !is_unknown(|name| std::env::var(name).ok()) {
        return Ok(false);
    }
    let mut out = io::stdout().lock();
    out.write_all(b"\x1b[c")?;
    out.flush()?;
    Ok(true)
}

/// Waits for the answer while it is wanted; true where [`canvas`] is another one now. Keys that come meanwhile are
/// passed on. Only for the thread that reads the terminal.
#[cfg(unix)]
pub(crate) fn answer(pass: impl FnMut(Msg) -> bool, wanted: impl Fn() -> bool) -> io::Result<bool> {
    use rustix::termios::{OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};

    let input = rustix::stdio::stdin();
    let before = tcgetattr(input)?;
    let mut timed = before.clone();
    // A read that finds nothing ends after a tenth of a second.
    timed.special_codes[SpecialCodeIndex::VMIN] = 0;
    timed.special_codes[SpecialCodeIndex::VTIME] = 1;
    tcsetattr(input, OptionalActions::Now, &timed)?;
    let read = |briefly: bool| {
        let waits = || rustix::io::ioctl_fionread(input).unwrap_or(1) > 0;
        // The rest of a sequence comes with its beginning, or nearly so.
        if briefly
            && !(0..BRIEF).any(|_| {
                waits() || {
                    thread::sleep(Duration::from_millis(1));
                    false
                }
            })
        {
            return None;
        }
        let mut byte = [0];
        matches!(rustix::io::read(input, &mut byte), Ok(1)).then_some(byte[0])
    };
    let sixel = listen(read, pass, wanted) == Some(true);
    tcsetattr(input, OptionalActions::Now, &before)?;
    SIXEL.store(sixel, Ordering::Relaxed);
    Ok(sixel)
}

/// Has crossterm look again at input that waits: it hears of new input alone, and stops reading at an event, so that
/// what stands behind a long paste would wait for the next key. Setting the modes as they are wakes it. For Linux;
/// elsewhere it does nothing.
pub(crate) fn wake_reader() {
    #[cfg(target_os = "linux")]
    {
        use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
        let input = rustix::stdio::stdin();
        if rustix::io::ioctl_fionread(input).is_ok_and(|bytes| bytes > 0)
            && let Ok(modes) = tcgetattr(input)
        {
            // A terminal that is gone has nothing that waits.
            let _ = tcsetattr(input, OptionalActions::Now, &modes);
        }
    }
}

/// Elsewhere, the environment alone tells.
#[cfg(not(unix))]
pub fn answer(_: impl FnMut(Msg) -> bool, _: impl Fn() -> bool) -> io::Result<bool> {
    Ok(false)
}

/// What this process's terminal can show, and the size of its characters.
pub(crate) fn canvas() -> Canvas {
    let graphics = match Graphics::from_env(|name| std::env::var(name).ok()) {
        Graphics::Blocks if SIXEL.load(Ordering::Relaxed) => Graphics::Sixel,
        named => named,
    };
    let size = crossterm::terminal::window_size().ok();
    let (chars, pixels) = size.map_or(((0, 0), (0, 0)), |s| ((s.columns, s.rows), (s.width, s.height)));
    Canvas::new(graphics, chars, pixels)
}

/// False once the terminal is gone.
pub(crate) fn is_here() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    let mut out = io::stdout();
    execute!(out, EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste)?;
    if knows_key_flags() {
        // Shift-Enter and Ctrl-Enter are told apart from Enter; terminals that can't ignore this.
        execute!(out, PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES))?;
    }
    Ok(())
}

/// Undoes all of [`take`], as far as it was done; every step is tried.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    if knows_key_flags() {
        let _ = execute!(out, PopKeyboardEnhancementFlags);
    }
    let _ = execute!(out, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

/// The Linux console prints what it does not know instead of ignoring it.
fn knows_key_flags() -> bool {
    cfg!(unix) && !matches!(std::env::var("TERM").as_deref(), Ok("linux" | "dumb") | Err(_))
}

fn guard_panics() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let drawing = *DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
        if TAKEN.load(Ordering::SeqCst) && drawing != Some(thread::current().id()) {
            UNTOLD.lock().unwrap_or_else(PoisonError::into_inner).push(info.to_string());
            return;
        }
        give_back();
        before(info);
    }));
}

/// Signals that ask the program to end, as numbers to a receiver while the lab runs.
#[cfg(unix)]
pub(crate) mod signals {
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, OnceLock};
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag::register_conditional_default;
    use signal_hook::iterator::{Handle, Signals};

    const ASKED: [i32; 3] = [SIGTERM, SIGHUP, SIGINT];
    /// No lab runs: signals do what they do by default.
    static DEFAULT: OnceLock<Arc<AtomicBool>> = OnceLock::new();

    /// While it lives, signals go to the receiver it was made with.
    pub(crate) struct Watch(Handle);

    impl Watch {
        pub(crate) fn new(mut tell: impl FnMut(i32) + Send + 'static) -> io::Result<Watch> {
            let mut signals = Signals::new(ASKED)?;
            let handle = signals.handle();
            if DEFAULT.get().is_none() {
                let flag = Arc::new(AtomicBool::new(false));
                for signal in ASKED {
                    register_conditional_default(signal, Arc::clone(&flag))?;
                }
                // Only the thread that draws gets here, so the flag can't have been set meanwhile.
                let _ = DEFAULT.set(flag);
            }
            set_default(false);
            thread::Builder::new()
                .name("signals".into())
                .spawn(move || signals.forever().for_each(&mut tell))?;
            Ok(Watch(handle))
        }
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            set_default(true);
            self.0.close();
        }
    }

    fn set_default(on: bool) {
        if let Some(flag) = DEFAULT.get() {
            flag.store(on, Ordering::SeqCst);
        }
    }
}

/// Without such signals, there is nothing to watch.
#[cfg(not(unix))]
pub mod signals {
    pub struct Watch;

    impl Watch {
        pub fn new(_tell: impl FnMut(i32) + Send + 'static) -> std::io::Result<Watch> {
            Ok(Watch)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_picture_is_handed_over_once_and_taken_back_when_it_is_gone() {
        let art = |number: u32| Art::Kept { number, sent: format!("<{number}>").into() };
        let (first, second) = (art(1), art(2));
        let mut kept = Kept::default();
        let mut tell = |shown: &[&Art]| {
            let mut out = Vec::new();
            kept.tell(shown.iter().copied(), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(tell(&[&first]), "<1>");
        assert_eq!(tell(&[&first, &Art::Strips(vec![])]), "");
        assert_eq!(tell(&[&first, &second]), "<2>");
        assert_eq!(tell(&[&second]), forget(1));
        assert_eq!(tell(&[]), forget(2));
        assert_eq!(tell(&[&first]), "<1>", "it is handed over again");
    }
}
