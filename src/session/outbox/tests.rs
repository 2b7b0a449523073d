use super::*;
use crate::base::event::{Body, Source};

fn event(seq: u64) -> Event {
    Event { seq, source: Source::default(), body: Body::CellStart { cell: 1, at: seq } }
}

fn page(seq: u64) -> Page {
    Arc::new(vec![event(seq)])
}

/// Batches go to whoever takes them.
fn quiet() -> Outbox {
    Outbox::new(0, Kept::default())
}

fn take(outbox: &Outbox, batch: &mut Batch, last: Instant) -> bool {
    outbox.wait_until_due(last);
    outbox.lock().hand_over(batch, EVENTS_A_PAUSE);
    outbox.moved.notify_all();
    !batch.is_empty()
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<(Message, Option<u64>)>>>);

impl Sink for Kept {
    fn write(&mut self, batch: &mut Batch) -> io::Result<()> {
        self.0.lock().unwrap().append(&mut batch.messages);
        Ok(())
    }
}

fn long_ago() -> Instant {
    Instant::now().checked_sub(PAUSE).unwrap()
}

#[test]
fn output_is_joined_per_evaluation_and_stream_and_split_when_long() {
    let outbox = quiet();
    outbox.print(1, Stream::Stdout, "a\n");
    outbox.print(1, Stream::Stdout, "b\n");
    outbox.print(1, Stream::Stderr, "c\n");
    outbox.print(2, Stream::Stderr, "");
    outbox.print(2, Stream::Stderr, &"ä".repeat(PIECE));
    let mut batch = Batch::default();
    assert!(take(&outbox, &mut batch, Instant::now()));
    let seen: Vec<(u64, usize)> = batch
        .messages
        .iter()
        .map(|(m, _)| match m {
            Message::Output { id, text, .. } => (*id, text.len()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(seen, [(1, 4), (1, 2), (2, PIECE), (2, PIECE)]);
}

#[test]
fn progress_keeps_the_newest_of_each_label_and_comes_before_the_fence() {
    let outbox = quiet();
    for done in 0..1000 {
        outbox.progress(1, "epochs", done / 100, Some(10), "");
        outbox.progress(1, "batches", done, None, "loss");
    }
    outbox.print(1, Stream::Stdout, "text");
    outbox.fence(Message::Started { id: 2, cell: 2 });
    let mut batch = Batch::default();
    assert!(take(&outbox, &mut batch, Instant::now()));
    let messages: Vec<&Message> = batch.messages.iter().map(|(m, _)| m).collect();
    assert!(
        matches!(
            messages[..],
            [
                Message::Output { .. },
                Message::Progress { done: 9, .. },
                Message::Progress { done: 999, .. },
                Message::Started { .. }
            ]
        ),
        "{messages:?}"
    );
}

#[test]
fn a_full_ring_drops_the_oldest_and_sums_them_up() {
    let outbox = quiet();
    for seq in 0..RING as u64 + 10 {
        outbox.on_page(&page(seq));
    }
    outbox.fence(Message::Started { id: 1, cell: 1 });
    outbox.on_page(&page(RING as u64 + 10));
    let mut batch = Batch::default();
    assert!(take(&outbox, &mut batch, long_ago()));
    let missed = batch.digest.as_ref().unwrap().events;
    assert_eq!((missed, batch.first, batch.events.len()), (11, 11, RING));
    assert_eq!(batch.events.front().unwrap().seq, 11);
    assert_eq!(batch.messages[0].1, Some(RING as u64 + 10), "the fence comes before the last event");
    outbox.close();
    assert!(!take(&outbox, &mut batch, long_ago()));
}

#[test]
fn who_prints_waits_for_room_and_is_freed_by_closing() {
    let outbox = Arc::new(quiet());
    outbox.print(1, Stream::Stdout, &"x".repeat(FULL));
    let blocked = {
        let outbox = Arc::clone(&outbox);
        std::thread::spawn(move || {
            outbox.print(1, Stream::Stdout, "after room\n");
            outbox.print(1, Stream::Stdout, &"y".repeat(2 * FULL));
        })
    };
    std::thread::sleep(Duration::from_millis(30));
    assert!(!blocked.is_finished());
    let mut batch = Batch::default();
    assert!(take(&outbox, &mut batch, Instant::now()));
    std::thread::sleep(Duration::from_millis(30));
    assert!(!blocked.is_finished(), "it may run ahead by one bound only");
    outbox.close();
    blocked.join().unwrap();
    assert!(take(&outbox, &mut batch, Instant::now()));
    assert!(matches!(&batch.messages[0].0, Message::Output { text, .. } if text.starts_with("after room")));
}

#[test]
fn a_few_prints_are_written_before_they_return_and_a_flood_is_gathered() {
    let Kept(written) = Kept::default();
    let outbox = Arc::new(Outbox::new(PROMPT, Kept(Arc::clone(&written))));
    let writer = {
        let outbox = Arc::clone(&outbox);
        std::thread::spawn(move || outbox.write_all())
    };
    for i in 0..PROMPT as usize {
        outbox.print(1, Stream::Stdout, "line\n");
        assert_eq!(written.lock().unwrap().len(), i + 1, "a crash here would swallow it");
    }
    (0..10_000).for_each(|_| outbox.print(1, Stream::Stdout, "line\n"));
    outbox.written_fence(Message::Started { id: 2, cell: 2 });
    let written = written.lock().unwrap();
    assert!(matches!(written.last(), Some((Message::Started { .. }, Some(0)))));
    assert!(written.len() < 1000, "{} messages", written.len());
    drop(written);
    outbox.close();
    assert!(writer.join().unwrap());
}

#[test]
fn a_trickle_of_events_is_taken_once_per_pause() {
    let outbox = Arc::new(quiet());
    let taker = {
        let outbox = Arc::clone(&outbox);
        std::thread::spawn(move || {
            let (mut batch, mut sizes, mut last) = (Batch::default(), Vec::new(), long_ago());
            while take(&outbox, &mut batch, last) {
                last = Instant::now();
                sizes.push(batch.events.len());
            }
            sizes
        })
    };
    let start = Instant::now();
    let mut sent = 0;
    while start.elapsed() < Duration::from_millis(200) {
        outbox.on_page(&page(sent));
        sent += 1;
        std::thread::sleep(Duration::from_micros(200));
    }
    let pauses = start.elapsed().as_millis() / PAUSE.as_millis() + 2;
    outbox.close();
    let sizes = taker.join().unwrap();
    assert_eq!(sizes.iter().sum::<usize>() as u64, sent);
    assert!(sizes.len() as u128 <= pauses, "{} takes in {pauses} pauses", sizes.len());
}
