//! What a learner has done, in a log that only grows.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::file;

use crate::session::verdict::Verdict;

/// The step that a record speaks of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    pub pack: String,
    pub lesson: String,
    pub step: String,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    #[serde(flatten)]
    pub key: Key,
    /// The pack's version at the time.
    pub version: String,
    /// Milliseconds since 1970, UTC.
    pub at_ms: u64,
    #[serde(flatten)]
    pub entry: Entry,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Entry {
    /// A run cell was run; false where it ended with an error.
    Ran { ok: bool },
    /// A number was committed before the cell ran.
    Prediction { typed: String, value: f64 },
    /// The committed number was compared with the answer.
    Answer {
        answer: f64,
        hit: bool,
        /// It is a time of a virtual clock.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        modelled: bool,
    },
    /// Choices of a quiz were taken, by their places from 0.
    Quiz { taken: Vec<usize>, right: bool },
    /// An exercise was tried; `trace` is the hash of its run's events.
    Attempt {
        #[serde(flatten)]
        verdict: Verdict,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace: Option<String>,
        /// What passed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
    /// The answer of a prediction that was passed over, as it was told.
    Told { answer: String },
    /// The hint of that number, from 1, was shown.
    Hint { number: usize },
    /// The solution was shown.
    Solution,
    /// The step was skipped.
    Skipped,
    /// The learner was at the step: began to type there, or left off there.
    Left,
    /// The step is to be done anew.
    Reset,
}

/// What the log says of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StepProgress {
    /// Ran without error, answered right or predicted and compared, passed.
    pub done: bool,
    pub skipped: bool,
    /// Attempts that say something about the learner's code.
    pub attempts: u32,
    /// The highest hint shown.
    pub hints: usize,
    /// The last number committed.
    pub prediction: Option<f64>,
    /// Whether the last prediction held.
    pub hit: Option<bool>,
    pub verdict: Option<Verdict>,
    /// The solution was shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub solution: bool,
    /// The last that is known is that the learner was there.
    #[serde(skip)]
    pub left: bool,
    /// The pack's version of the last record.
    pub version: String,
    /// Milliseconds since 1970 of the last record.
    pub at_ms: u64,
}

/// The state of all steps, made from the records in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    steps: BTreeMap<Key, StepProgress>,
}

/// The open log and what it adds up to.
#[derive(Debug)]
pub struct ProgressLog {
    file: File,
    path: PathBuf,
    progress: Progress,
}

/// What was found damaged when the log was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Bytes of a last record that was not written in full, and was dropped.
    pub torn_bytes: usize,
    /// Numbers, from 1, of lines that could not be read. They stay in the file.
    pub unread_lines: Vec<usize>,
}

impl Progress {
    /// What is known of a step; none where nothing happened, or it was reset.
    pub fn step(&self, key: &Key) -> Option<&StepProgress> {
        self.steps.get(key)
    }

    /// All steps with a record, by pack, lesson and step.
    pub fn steps(&self) -> impl Iterator<Item = (&Key, &StepProgress)> {
        self.steps.iter()
    }

    /// Takes one more record into account.
    pub fn apply(&mut self, record: &Record) {
        if record.entry == Entry::Reset {
            self.steps.remove(&record.key);
            return;
        }
        let step = self.steps.entry(record.key.clone()).or_default();
        step.version.clone_from(&record.version);
        step.at_ms = record.at_ms;
        step.left = record.entry == Entry::Left;
        match &record.entry {
            Entry::Ran { ok } => step.done |= ok,
            Entry::Prediction { value, .. } => step.prediction = Some(*value),
            Entry::Answer { hit, .. } => {
                step.hit = Some(*hit);
                step.done = true;
            }
            Entry::Quiz { right, .. } => {
                step.attempts = step.attempts.saturating_add(1);
                step.done |= right;
            }
            Entry::Told { .. } | Entry::Left => {}
            Entry::Solution => step.solution = true,
            Entry::Attempt { verdict, .. } => {
                let counts = u32::from(verdict.counts_as_attempt());
                step.attempts = step.attempts.saturating_add(counts);
                step.done |= verdict.is_pass();
                step.verdict = Some(verdict.clone());
            }
            Entry::Hint { number } => step.hints = step.hints.max(*number),
            Entry::Skipped => step.skipped = true,
            Entry::Reset => {}
        }
        step.skipped &= !step.done;
    }
}

impl ProgressLog {
    /// Opens the log at `path`, or begins it there, folders included, and reads every record.
    ///
    /// A last record that was not written in full is cut off, so that the next one begins a line of its
    /// own. Lines that can't be read, such as those of a later version or of another program, are skipped and left in
    /// place.
    /// Errors are those of the file system.
    pub fn open(path: &Path) -> io::Result<(ProgressLog, Recovery)> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            file::make_folder(folder)?;
        }
        let is_new = !path.exists();
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let (progress, recovery) = locked(&mut file, recover)?;
        if let Some(folder) = folder.filter(|_| is_new) {
            file::sync(folder)?;
        }
        let log = ProgressLog { file, path: path.to_owned(), progress };
        Ok((log, recovery))
    }

    /// Appends a record. When this returns without an error the record is on the disk; with one, the file
    /// is as it was, as far as the file system allows, and so is the progress.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        locked(&mut self.file, |file| append_line(file, &line))?;
        self.progress.apply(record);
        Ok(())
    }

    /// What the file said, with what was recorded since.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Where it is kept.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// All records of a log in their order; lines that can't be read are passed over. There are none where there is no log.
///
/// # Errors
/// Those of the file system.
pub fn records(path: &Path) -> io::Result<Vec<Record>> {
    unread_and_records(path).map(|(_, records)| records)
}

/// The same, behind the number of lines that can't be read.
///
/// # Errors
/// Those of the file system.
pub fn unread_and_records(path: &Path) -> io::Result<(usize, Vec<Record>)> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let lines = bytes.split_inclusive(|&b| b == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let (mut unread, mut records) = (0, Vec::new());
    let mut lines = lines.peekable();
    while let Some(line) = lines.next() {
        match serde_json::from_slice(line) {
            Ok(record) => records.push(record),
            // What another process is about to write is no damage.
            Err(_) if lines.peek().is_none() && is_torn(line) => {}
            Err(_) => unread += 1,
        }
    }
    Ok((unread, records))
}

/// Acts on the file while no other process does, where the file system knows locks.
fn locked<T>(file: &mut File, act: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
    match file.lock() {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return act(file),
        other => other?,
    }
    let done = act(file);
    file.unlock()?;
    done
}

/// Reads all records and cuts off a torn last one.
fn recover(file: &mut File) -> io::Result<(Progress, Recovery)> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    let mut progress = Progress::default();
    let mut recovery = Recovery::default();
    let mut whole = 0;
    let mut lines = bytes.split_inclusive(|&b| b == b'\n').enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let is_last = lines.peek().is_none();
        match serde_json::from_slice::<Record>(line) {
            Ok(record) => progress.apply(&record),
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(_) if is_last && is_torn(line) => {
                recovery.torn_bytes = line.len();
                break;
            }
            Err(_) => recovery.unread_lines.push(index + 1),
        }
        whole += line.len();
    }
    if recovery.torn_bytes > 0 {
        file.set_len(whole as u64)?;
        file.sync_data()?;
    }
    Ok((progress, recovery))
}

/// What every record begins with.
const RECORD: &[u8] = br#"{"pack":"#;

/// Whether a last line that can't be read was never written in full: it begins as a record does, or is a block that the
/// file system had not filled yet, and is not JSON. A line of JSON that says something unknown comes from a later
/// version, and anything else from another program: neither is torn.
fn is_torn(line: &[u8]) -> bool {
    let begin = line.get(..RECORD.len().min(line.len())).unwrap_or_default();
    let is_ours = RECORD.starts_with(begin) || line.iter().all(|&byte| byte == 0);
    is_ours && serde_json::from_slice::<serde_json::Value>(line).is_err()
}

/// Writes one line at the end and waits until it is on the disk. A part of a line is taken back.
fn append_line(file: &mut File, line: &[u8]) -> io::Result<()> {
    let end = file.seek(SeekFrom::End(0))?;
    let mut whole = Vec::with_capacity(line.len() + 1);
    if end > 0 && !ends_with_break(file, end)? {
        whole.push(b'\n');
    }
    whole.extend_from_slice(line);
    let written = file.write_all(&whole).and_then(|()| file.sync_data());
    if written.is_err() {
        // The write's error is the one to report, whether or not this succeeds.
        let _ = file.set_len(end);
    }
    written
}

fn ends_with_break(file: &mut File, end: u64) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::Start(end.saturating_sub(1)))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test's own, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("tensorlab-progress-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn key(step: &str) -> Key {
        Key { pack: "course".to_owned(), lesson: "moving".to_owned(), step: step.to_owned() }
    }

    fn record(step: &str, entry: Entry) -> Record {
        Record { key: key(step), version: "1.0.0".to_owned(), at_ms: 1_700_000_000_000, entry }
    }

    /// One record of each kind, with text that JSON has to escape.
    fn records() -> Vec<Record> {
        let fail = Verdict::Fail { reason: "copied \"3\"\ntimes – é".to_owned(), line: Some(2) };
        let attempt = |verdict, trace| Entry::Attempt { verdict, trace, code: None };
        vec![
            record("run-1", Entry::Ran { ok: true }),
            record("guess", Entry::Prediction { typed: "4 MiB".to_owned(), value: 4_194_304.0 }),
            record("guess", Entry::Answer { answer: 0.1, hit: false, modelled: false }),
            record("quiz", Entry::Quiz { taken: vec![0, 2], right: true }),
            record("task", attempt(fail, None)),
            record("task", Entry::Hint { number: 1 }),
            record("task", attempt(Verdict::Timeout { limit_ms: 20_000 }, None)),
            record("task", attempt(Verdict::Pass, Some("ab12".to_owned()))),
            record("other", Entry::Skipped),
            record("quiz", Entry::Reset),
        ]
    }

    fn sum(records: &[Record]) -> Progress {
        let mut progress = Progress::default();
        records.iter().for_each(|record| progress.apply(record));
        progress
    }

    #[test]
    fn every_record_survives_json() {
        for record in records() {
            let line = serde_json::to_string(&record).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record, "{line}");
        }
        let line = serde_json::to_string(&records()[4]).unwrap();
        assert!(line.contains(r#""what":"attempt","verdict":"fail""#), "{line}");
    }

    #[test]
    fn progress_adds_up() {
        let progress = sum(&records());
        let task = progress.step(&key("task")).unwrap();
        assert_eq!((task.attempts, task.hints, task.done), (3, 1, true));
        assert_eq!(task.verdict, Some(Verdict::Pass));
        let guess = progress.step(&key("guess")).unwrap();
        assert_eq!((guess.prediction, guess.hit, guess.done), (Some(4_194_304.0), Some(false), true));
        assert!(progress.step(&key("other")).unwrap().skipped);
        assert_eq!(progress.step(&key("quiz")), None);
        let fault = Verdict::CheckerFault { message: "x".to_owned(), line: None };
        let faulty = record("a", Entry::Attempt { verdict: fault, trace: None, code: None });
        let step = sum(&[faulty]);
        let step = step.step(&key("a")).unwrap();
        assert_eq!((step.attempts, step.done), (0, false));
        let passed_later = sum(&[record("a", Entry::Skipped), record("a", Entry::Ran { ok: true })]);
        assert!(!passed_later.step(&key("a")).unwrap().skipped);
    }

    #[test]
    fn a_log_is_read_again_as_it_was_written() {
        let folder = Folder::new("again");
        let path = folder.0.join("deep").join("progress.jsonl");
        let (mut log, recovery) = ProgressLog::open(&path).unwrap();
        assert_eq!(recovery, Recovery::default());
        records().iter().for_each(|record| log.append(record).unwrap());
        assert_eq!(log.progress(), &sum(&records()));
        let (again, recovery) = ProgressLog::open(&path).unwrap();
        assert_eq!(recovery, Recovery::default());
        assert_eq!(again.progress(), log.progress());
    }

    #[test]
    fn a_log_cut_at_any_byte_keeps_every_whole_record_and_goes_on() {
        let folder = Folder::new("cut");
        let path = folder.0.join("progress.jsonl");
        let (mut log, _) = ProgressLog::open(&path).unwrap();
        records().iter().for_each(|record| log.append(record).unwrap());
        drop(log);
        let whole = std::fs::read(&path).unwrap();
        let extra = record("later", Entry::Ran { ok: true });
        for cut in 0..=whole.len() {
            let kept = &whole[..cut];
            std::fs::write(&path, kept).unwrap();
            let breaks = kept.iter().filter(|&&b| b == b'\n').count();
            // A record that lacks only its line break is whole.
            let lacks_break = whole.get(cut) == Some(&b'\n') && cut > 0;
            let count = breaks + usize::from(lacks_break);
            let (mut log, recovery) = ProgressLog::open(&path).unwrap();
            assert_eq!(log.progress(), &sum(&records()[..count]), "cut at {cut}");
            let last_break = kept.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
            let torn = if lacks_break { 0 } else { cut - last_break };
            assert_eq!(recovery.torn_bytes, torn, "cut at {cut}");
            assert_eq!(recovery.unread_lines, Vec::<usize>::new());
            log.append(&extra).unwrap();
            let (again, recovery) = ProgressLog::open(&path).unwrap();
            assert_eq!(recovery, Recovery::default(), "cut at {cut}");
            let mut expected = records()[..count].to_vec();
            expected.push(extra.clone());
            assert_eq!(again.progress(), &sum(&expected), "cut at {cut}");
        }
    }

    #[test]
    fn damaged_and_unknown_lines_are_skipped_and_kept() {
        let folder = Folder::new("damaged");
        let path = folder.0.join("progress.jsonl");
        let line = |record: &Record| format!("{}\n", serde_json::to_string(record).unwrap());
        let all = records();
        let later = r#"{"pack":"p","lesson":"l","step":"s","version":"9","at_ms":1,"what":"sung"}"#;
        let text = format!("{}\u{0}garbage\n{}\n{}{later}\n", line(&all[0]), later, line(&all[8]));
        std::fs::write(&path, &text).unwrap();
        let (log, recovery) = ProgressLog::open(&path).unwrap();
        assert_eq!(recovery.unread_lines, [2, 3, 5]);
        assert_eq!(recovery.torn_bytes, 0);
        assert_eq!(log.progress(), &sum(&[all[0].clone(), all[8].clone()]));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn a_last_block_of_zeros_is_dropped() {
        let folder = Folder::new("zeros");
        let path = folder.0.join("progress.jsonl");
        let (mut log, _) = ProgressLog::open(&path).unwrap();
        log.append(&records()[0]).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend([0; 4096]);
        std::fs::write(&path, &bytes).unwrap();
        let (log, recovery) = ProgressLog::open(&path).unwrap();
        assert_eq!(recovery.torn_bytes, 4096);
        assert_eq!(log.progress(), &sum(&records()[..1]));
    }

    #[test]
    fn two_open_logs_do_not_cut_each_others_records() {
        let folder = Folder::new("two");
        let path = folder.0.join("progress.jsonl");
        let mut logs: Vec<ProgressLog> = (0..2).map(|_| ProgressLog::open(&path).unwrap().0).collect();
        std::thread::scope(|scope| {
            for (number, log) in logs.iter_mut().enumerate() {
                scope.spawn(move || {
                    for step in 0..20 {
                        let name = format!("s{number}-{step}");
                        log.append(&record(&name, Entry::Ran { ok: true })).unwrap();
                    }
                });
            }
        });
        let (log, recovery) = ProgressLog::open(&path).unwrap();
        assert_eq!(recovery, Recovery::default());
        assert_eq!(log.progress().steps().count(), 40);
    }
}
