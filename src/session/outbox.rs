//! What a session has to say and has not written yet.
//!
//! Threads that evaluate only push, under a lock held for a moment; one writer takes everything at once. Output is
//! coalesced and bounded: who prints waits while the front end is far behind. A few prints in a row are on the wire
//! before they return, so that a crash right after doesn't swallow them: who prints writes them itself, for to wake
//! the writer and wait for it takes ten times as long. More than that are gathered. Events go into a ring that drops
//! the oldest and sums them up: who computes never waits, and only so many are written in a second. Every other
//! message is a *fence*: all that was said before it is written before it, events included, and events after it are
//! written after it.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use crate::base::event::{Bus, Event, Page, Reader, Subscription};

use super::digest::{Digest, Digester};
use super::protocol::{Display, Message, Stream};

/// Events kept for a writer that is behind.
pub(super) const RING: usize = 1024;
/// Events written in one pause: 3,000 a second. Writing and reading them takes a core's time, and a run that makes
/// more must not pay for it; what comes before a fence is written whole.
const EVENTS_A_PAUSE: usize = 48;
/// Bytes of text in one output message, at most.
const PIECE: usize = 64 << 10;
/// Writing begins at once when so many bytes of messages wait.
const MANY_BYTES: usize = 64 << 10;
/// Who speaks waits while so many bytes of messages wait.
const FULL: usize = 1 << 20;
/// What a message counts for beyond its text.
const OVERHEAD: usize = 64;
/// Labels of progress kept apart; with more, earlier states are sent as well.
const LABELS: usize = 64;
/// Prints in a row that are written before they return; one more with each pause.
pub(super) const PROMPT: u32 = 32;
/// Time between two writings of output and events that nothing hurries: a frame at 60 a second.
const PAUSE: Duration = Duration::from_millis(16);

/// See the module.
pub(super) struct Outbox {
    state: Mutex<OutboxState>,
    /// The writer waits here for something to write.
    ready: Condvar,
    /// Who speaks waits here for room.
    moved: Condvar,
    /// Where the events come from, by the page.
    bus: OnceLock<Arc<Bus>>,
    /// Taken before the state, and never by who emits events.
    wire: Mutex<Outlet>,
}

/// Puts batches on the wire.
pub(super) trait Sink: Send {
    fn write(&mut self, batch: &mut Batch) -> io::Result<()>;
}

struct Outlet {
    /// None once nobody reads any more, or all is written.
    sink: Option<Box<dyn Sink>>,
    batch: Batch,
}

/// What the writer takes at once.
#[derive(Default)]
pub(super) struct Batch {
    /// Each message, and for a fence how many events of the whole stream come before it.
    pub messages: Vec<(Message, Option<u64>)>,
    pub events: VecDeque<Event>,
    /// The place of the first of `events` in the stream.
    pub first: u64,
    /// What the events add up to that were dropped before `events`.
    pub digest: Option<Digest>,
}

#[derive(Default)]
struct OutboxState {
    messages: Vec<(Message, Option<u64>)>,
    bytes: usize,
    /// The newest state of each label, written after the messages and before the next fence.
    progress: Vec<Message>,
    pages: VecDeque<Page>,
    /// Events of the first page that were handed over.
    taken: usize,
    /// Events that wait.
    waiting: usize,
    /// A page has begun that no one has turned.
    begun: bool,
    /// Events ever pushed.
    pushed: u64,
    dropped: Digester,
    /// A fence waits.
    hurry: bool,
    credit: Credit,
    writer: WriterState,
    closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum WriterState {
    #[default]
    Busy,
    /// It waits for anything at all.
    Idle,
    /// It waits for the pause to pass, or for something that hurries.
    Pausing,
}

/// How many prints may still wait until they are written.
#[derive(Default)]
struct Credit {
    left: u32,
    most: u32,
    filled: Option<Instant>,
}

impl Outbox {
    /// `prompt` prints in a row are written before they return, see [`PROMPT`].
    pub(super) fn new(prompt: u32, sink: impl Sink + 'static) -> Outbox {
        let credit = Credit { left: prompt, most: prompt, filled: None };
        Outbox {
            state: Mutex::new(OutboxState { credit, ..OutboxState::default() }),
            ready: Condvar::new(),
            moved: Condvar::new(),
            bus: OnceLock::new(),
            wire: Mutex::new(Outlet { sink: Some(Box::new(sink)), batch: Batch::default() }),
        }
    }

    /// Queues the events of a bus until the subscription is dropped.
    pub(super) fn read(self: &Arc<Self>, bus: &Arc<Bus>) -> Subscription {
        let _ = self.bus.set(Arc::clone(bus));
        bus.read(Arc::clone(self) as _)
    }

    /// Queues text, joined to what the same evaluation last printed there.
    pub(super) fn print(&self, id: u64, stream: Stream, text: &str) {
        let mut pieces = pieces(text).peekable();
        while let Some(piece) = pieces.next() {
            let Some(mut state) = self.wait_for_room() else { return };
            state.print(id, stream, piece);
            match pieces.peek() {
                Some(_) => self.wake(state),
                None => self.be_prompt(state),
            }
        }
    }

    /// Queues something to show, in place of what waits under the same name.
    pub(super) fn display(&self, id: u64, content: Display, display_id: Option<&str>) {
        let Some(mut state) = self.wait_for_room() else { return };
        if let Some(waiting) = display_id.and_then(|name| state.displayed(id, name)) {
            *waiting = content;
            return self.wake(state);
        }
        let bytes = content_bytes(&content);
        state.push(bytes, Message::Display { id, content, display_id: display_id.map(String::from) }, None);
        self.be_prompt(state);
    }

    /// Notes how far a labelled piece of work is, in place of what was noted before.
    pub(super) fn progress(&self, id: u64, label: &str, done: u64, total: Option<u64>, note: &str) {
        let Some(mut state) = self.wait_for_room() else { return };
        let newest = Message::Progress { id, label: label.into(), done, total, note: note.into() };
        if let Some(earlier) = state.progress.iter_mut().find(|m| is_progress(m, id, label)) {
            *earlier = newest;
        } else {
            if state.progress.len() >= LABELS {
                state.settle_progress();
            }
            state.progress.push(newest);
            state.bytes += label.len() + note.len() + OVERHEAD;
        }
        self.wake(state);
    }

    /// Queues a fence and hurries the writer.
    pub(super) fn fence(&self, message: Message) {
        self.turn_page();
        if let Some(mut state) = self.wait_for_room() {
            state.fence(message);
            self.wake(state);
        }
    }

    /// Writes a fence before it returns.
    pub(crate) fn written_fence(&self, message: Message) {
        self.turn_page();
        if let Some(mut state) = self.wait_for_room() {
            state.fence(message);
            drop(state);
            self.write();
        }
    }

    /// Queues a fence if there is room for it now.
    pub(crate) fn try_fence(&self, message: Message) -> bool {
        self.turn_page();
        let mut state = self.lock();
        let room = state.bytes < FULL && !state.closed;
        if room {
            state.fence(message);
            self.wake(state);
        }
        room
    }

    /// Writes what waits, each time that it is due, until the outbox is closed and empty. False when nobody reads any
    /// more.
    pub(super) fn write_all(&self) -> bool {
        let mut last = Instant::now();
        while self.wait_until_due(last) {
            if !self.write() {
                return false;
            }
            last = Instant::now();
        }
        self.wire().sink.take().is_some()
    }

    /// Writes what waits. False when nobody reads any more.
    fn write(&self) -> bool {
        self.write_some(EVENTS_A_PAUSE)
    }

    /// Writes the messages that wait and up to `events` events; all of them where a fence asks for it.
    fn write_some(&self, events: usize) -> bool {
        let mut wire = self.wire();
        let Outlet { sink, batch } = &mut *wire;
        self.lock().hand_over(batch, events);
        self.moved.notify_all();
        let Some(open) = sink else { return false };
        if batch.is_empty() || open.write(batch).is_ok() {
            return true;
        }
        *sink = None;
        self.close();
        false
    }

    /// Waits until there is something to write and it is time to. False when the outbox is closed and empty.
    fn wait_until_due(&self, last: Instant) -> bool {
        let mut state = self.lock();
        loop {
            state = self.wait_for_something(state, last);
            if state.begun {
                // Turning it comes back here with the page, so not under the lock; another may begin at once.
                state.begun = false;
                drop(state);
                self.turn_page();
                state = self.lock();
            }
            if !state.is_empty() || state.closed {
                return !state.is_empty();
            }
        }
    }

    /// Waits until it is time to write.
    fn wait_for_something<'a>(
        &'a self,
        mut state: MutexGuard<'a, OutboxState>,
        last: Instant,
    ) -> MutexGuard<'a, OutboxState> {
        while !state.is_urgent() {
            let pause = PAUSE.saturating_sub(last.elapsed());
            if state.is_empty() {
                state.writer = WriterState::Idle;
                state = self.ready.wait(state).unwrap_or_else(|e| e.into_inner());
            } else if pause.is_zero() {
                break;
            } else {
                state.writer = WriterState::Pausing;
                state = self.ready.wait_timeout(state, pause).unwrap_or_else(|e| e.into_inner()).0;
            }
        }
        state.writer = WriterState::Busy;
        state
    }

    /// Takes nothing more; what waits is still written. Nobody waits for room from now on.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.wake(state);
        self.moved.notify_all();
    }

    /// Nothing where the outbox is closed.
    fn wait_for_room(&self) -> Option<MutexGuard<'_, OutboxState>> {
        let state = self.lock();
        let full = |s: &mut OutboxState| s.bytes >= FULL && !s.closed;
        let state = self.moved.wait_while(state, full).unwrap_or_else(|e| e.into_inner());
        (!state.closed).then_some(state)
    }

    /// Writes what was said at once, if there is credit for it; events can wait.
    fn be_prompt(&self, mut state: MutexGuard<'_, OutboxState>) {
        if state.credit.spend() {
            drop(state);
            self.write_some(0);
        } else {
            self.wake(state);
        }
    }

    /// Wakes the writer if it waits and there is reason to.
    #[inline]
    fn wake(&self, mut state: MutexGuard<'_, OutboxState>) {
        let due = match state.writer {
            WriterState::Busy => false,
            WriterState::Idle => true,
            WriterState::Pausing => state.is_urgent(),
        };
        if due {
            state.writer = WriterState::Busy;
            drop(state);
            self.ready.notify_one();
        }
    }

    /// Fetches the events that the bus has kept back.
    fn turn_page(&self) {
        if let Some(bus) = self.bus.get() {
            bus.turn_page();
        }
    }

    fn wire(&self) -> MutexGuard<'_, Outlet> {
        self.wire.lock().unwrap_or_else(|e| e.into_inner())
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.events.is_empty() && self.digest.is_none()
    }
}

impl Reader for Outbox {
    fn on_begin(&self) {
        let mut state = self.lock();
        state.begun = true;
        self.wake(state);
    }

    fn on_page(&self, page: &Page) {
        let mut state = self.lock();
        state.begun = false;
        if !state.closed {
            state.push_page(page);
        }
        self.wake(state);
    }
}

impl Credit {
    fn spend(&mut self) -> bool {
        let now = Instant::now();
        let since = self.filled.map_or(Duration::ZERO, |filled| now.saturating_duration_since(filled));
        let earned = u32::try_from(since.as_nanos() / PAUSE.as_nanos()).unwrap_or(u32::MAX);
        if earned > 0 || self.filled.is_none() {
            self.filled = Some(now);
        }
        self.left = self.left.saturating_add(earned).min(self.most);
        let paid = self.left > 0;
        self.left = self.left.saturating_sub(1);
        paid
    }
}

impl OutboxState {
    fn is_urgent(&self) -> bool {
        self.hurry || self.closed || self.bytes >= MANY_BYTES
    }

    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.progress.is_empty() && self.waiting == 0 && !self.begun
    }

    fn push(&mut self, bytes: usize, message: Message, events_before: Option<u64>) {
        self.bytes += bytes + OVERHEAD;
        self.messages.push((message, events_before));
    }

    fn fence(&mut self, message: Message) {
        self.settle_progress();
        self.push(0, message, Some(self.pushed));
        self.hurry = true;
    }

    /// What waits to be shown under a name.
    fn displayed(&mut self, of: u64, name: &str) -> Option<&mut Display> {
        self.messages.iter_mut().rev().find_map(|(message, _)| match message {
            Message::Display { id, content, display_id }
                if *id == of && display_id.as_deref() == Some(name) =>
            {
                Some(content)
            }
            _ => None,
        })
    }

    fn print(&mut self, id: u64, stream: Stream, piece: &str) {
        if let Some((Message::Output { id: i, stream: s, text }, _)) = self.messages.last_mut()
            && (*i, *s) == (id, stream)
            && text.len() + piece.len() <= PIECE
        {
            text.push_str(piece);
            self.bytes += piece.len();
            return;
        }
        self.push(piece.len(), Message::Output { id, stream, text: piece.into() }, None);
    }

    fn push_page(&mut self, page: &Page) {
        self.pages.push_back(Arc::clone(page));
        self.waiting += page.len();
        self.pushed += page.len() as u64;
        while self.waiting > RING
            && let Some(oldest) = self.pages.pop_front()
        {
            let taken = std::mem::take(&mut self.taken);
            self.waiting -= oldest.len() - taken;
            oldest.iter().skip(taken).for_each(|event| self.dropped.take(event));
        }
    }

    fn take_events(&mut self, most: usize, to: &mut VecDeque<Event>) {
        while to.len() < most
            && let Some(page) = self.pages.front()
        {
            let count = (page.len() - self.taken).min(most - to.len());
            to.extend(page.iter().skip(self.taken).take(count).cloned());
            self.taken += count;
            self.waiting -= count;
            if self.taken == page.len() {
                self.pages.pop_front();
                self.taken = 0;
            }
        }
    }

    fn settle_progress(&mut self) {
        self.messages.extend(self.progress.drain(..).map(|m| (m, None)));
    }

    /// Hands over the messages and up to `events` events; all of them where a fence waits, or nothing comes after.
    fn hand_over(&mut self, batch: &mut Batch, events: usize) {
        self.settle_progress();
        batch.messages.clear();
        batch.events.clear();
        std::mem::swap(&mut batch.messages, &mut self.messages);
        batch.first = self.pushed.saturating_sub(self.waiting as u64);
        let most = if self.hurry || self.closed { usize::MAX } else { events };
        self.take_events(most, &mut batch.events);
        batch.digest = self.dropped.finish();
        self.bytes = 0;
        self.hurry = false;
    }
}

/// A text in parts that each fit one output message.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn is_progress(message: &Message, of: u64, called: &str) -> bool {
    matches!(message, Message::Progress { id, label, .. } if *id == of && label == called)
}

/// Bytes of what is shown: exact for text and tables.
pub(super) fn content_bytes(content: &Display) -> usize {
    match content {
        Display::Text { text } => text.len(),
        Display::Table { header, rows } => header.iter().chain(rows.iter().flatten()).map(String::len).sum(),
        Display::Figure { figure } => figure.series.len() * 4096,
    }
}

#[cfg(test)]
mod tests;
