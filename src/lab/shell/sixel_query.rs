//! Asks the terminal whether it draws sixels, where the environment does not say: primary device attributes (DA1,
//! `CSI c`), whose answer has a 4 among them (ECMA-48; DEC VT340; xterm's ctlseqs).
//!
//! The answer is heard on the thread that reads the terminal, so the first frame waits for nothing. The answer is taken out of
//! the input here; keys that come before it are passed on. An answer that comes later is passed over by crossterm.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::lab::model::message::Msg;

/// How long the answer is waited for.
const PATIENCE: Duration = Duration::from_millis(200);
/// The longest input that is kept until it is whole; a paste goes on until its end.
const LONGEST: usize = 1 << 20;

/// Something that the terminal sent.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::large_enum_variant, reason = "one is held at a time, and taken apart where it arrives")]
pub(crate) enum Sent {
    /// The answer: whether it draws sixels.
    Answer(bool),
    Msg(Msg),
    /// A sequence that means nothing here.
    Other,
}

/// Waits for the answer, byte by byte, so that nothing behind it is taken from who reads next. `read` gives a byte,
/// or none after a moment, a short one where it is told so: an Escape alone is a key. `pass` takes what is no answer
/// and says whether to go on, as does `wanted`, which is asked all the time.
pub(crate) fn listen(
    mut read: impl FnMut(bool) -> Option<u8>,
    mut pass: impl FnMut(Msg) -> bool,
    wanted: impl Fn() -> bool,
) -> Option<bool> {
    let start = Instant::now();
    let mut held = Vec::new();
    while wanted() && (start.elapsed() < PATIENCE || !held.is_empty()) {
        let byte = read(held == [0x1b]);
        held.extend(byte);
        while let Some((sent, length)) = first(&held, byte.is_none() || held.len() > LONGEST) {
            held.drain(..length);
            match sent {
                Sent::Answer(sixel) => return Some(sixel),
                Sent::Msg(msg) => {
                    if !pass(msg) {
                        return None;
                    }
                }
                Sent::Other => {}
            }
        }
    }
    None
}

/// The first thing among bytes and its length; `None` where more has to come. With `end`, none comes.
fn first(bytes: &[u8], end: bool) -> Option<(Sent, usize)> {
    let whole = match bytes {
        [] => return None,
        [0x1b, b'[', rest @ ..] => csi(rest).map(|(sent, length)| (sent, length + 2)),
        [0x1b, b'O'] if !end => None,
        [0x1b, b'O', letter, ..] => Some((key(ss3(*letter), KeyModifiers::NONE), 3)),
        [0x1b, rest @ ..] => character(rest)
            .map(|(code, modifiers, length)| (key(Some(code), modifiers | KeyModifiers::ALT), length + 1)),
        _ => character(bytes).map(|(code, modifiers, length)| (key(Some(code), modifiers), length)),
    };
    whole.or_else(|| match bytes {
        [0x1b] if end => Some((key(Some(KeyCode::Esc), KeyModifiers::NONE), 1)),
        _ if end => Some((Sent::Other, bytes.len())),
        _ => None,
    })
}

fn key(code: Option<KeyCode>, modifiers: KeyModifiers) -> Sent {
    code.map_or(Sent::Other, |code| Sent::Msg(Msg::Key(KeyEvent::new(code, modifiers))))
}

/// A sequence behind `CSI`.
fn csi(bytes: &[u8]) -> Option<(Sent, usize)> {
    const PASTE_END: &[u8] = b"\x1b[201~";
    let end = bytes.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
    let (inner, last) = (bytes.get(..end)?, *bytes.get(end)?);
    let text = std::str::from_utf8(inner).unwrap_or_default();
    if let (Some(attributes), b'c') = (text.strip_prefix('?'), last) {
        return Some((Sent::Answer(attributes.split(';').any(|attribute| attribute == "4")), end + 1));
    }
    if text == "200" && last == b'~' {
        let rest = bytes.get(end + 1..)?;
        let length = rest.windows(PASTE_END.len()).position(|window| window == PASTE_END)?;
        let pasted = String::from_utf8_lossy(rest.get(..length)?).into_owned();
        return Some((Sent::Msg(Msg::Paste(pasted)), end + 1 + length + PASTE_END.len()));
    }
    let mut numbers = text.split(';').map(|number| number.parse::<u32>().unwrap_or(1));
    let (number, held) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(1));
    let code = match last {
        b'~' => tilde(number),
        b'u' => char::from_u32(number).map(control),
        b'Z' => Some(KeyCode::BackTab),
        letter => ss3(letter),
    };
    let bits = held.saturating_sub(1);
    let named = [KeyModifiers::SHIFT, KeyModifiers::ALT, KeyModifiers::CONTROL];
    let set = named.into_iter().enumerate().filter(|(place, _)| bits >> place & 1 == 1);
    let modifiers = set.fold(KeyModifiers::NONE, |all, (_, one)| all | one);
    // A mouse's report ends in a letter as well.
    Some((key(code.filter(|_| !text.starts_with('<')), modifiers), end + 1))
}

fn ss3(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'P'..=b'S' => KeyCode::F(letter - b'P' + 1),
        _ => return None,
    })
}

fn tilde(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        // The numbers of F1 to F12 have gaps.
        11..=15 => KeyCode::F(u8::try_from(number).ok()? - 10),
        17..=21 => KeyCode::F(u8::try_from(number).ok()? - 11),
        23 | 24 => KeyCode::F(u8::try_from(number).ok()? - 12),
        _ => return None,
    })
}

/// The key of a character that has one of its own.
fn control(character: char) -> KeyCode {
    match character {
        '\r' => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        '\u{7f}' => KeyCode::Backspace,
        '\u{1b}' => KeyCode::Esc,
        other => KeyCode::Char(other),
    }
}

/// A character, as the key that sends it, and its length.
fn character(bytes: &[u8]) -> Option<(KeyCode, KeyModifiers, usize)> {
    let first = *bytes.first()?;
    let ctrl =
        |base: u8, from: u8| (KeyCode::Char(char::from(first - from + base)), KeyModifiers::CONTROL, 1);
    match first {
        b'\r' | b'\t' | 0x1b | 0x7f => return Some((control(char::from(first)), KeyModifiers::NONE, 1)),
        0 => return Some((KeyCode::Char(' '), KeyModifiers::CONTROL, 1)),
        0x01..=0x1a => return Some(ctrl(b'a', 1)),
        0x1c..=0x1f => return Some(ctrl(b'4', 0x1c)),
        _ => {}
    }
    let length = match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xff => 4,
        _ => 1,
    };
    let text = String::from_utf8_lossy(bytes.get(..length)?).into_owned();
    let letter = text.chars().next()?;
    let shift = if letter.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
    Some((KeyCode::Char(letter), shift, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(bytes: &[u8]) -> (Option<bool>, Vec<Msg>, usize) {
        let mut left = bytes.iter().copied();
        let mut passed = Vec::new();
        let answer = listen(
            |_| left.next(),
            |msg| {
                passed.push(msg);
                true
            },
            || true,
        );
        (answer, passed, left.count())
    }

    fn keys(text: &str) -> Vec<Msg> {
        let code = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
        text.chars().map(|c| Msg::Key(code(c))).collect()
    }

    #[test]
    fn the_answer_is_found_and_nothing_else_is_lost() {
        assert_eq!(heard(b"\x1b[?62;4;22cxyz"), (Some(true), vec![], 3));
        assert_eq!(heard(b"\x1b[?1;2c"), (Some(false), vec![], 0));
        assert_eq!(heard(b"\x1b[?64;14c"), (Some(false), vec![], 0));
        assert_eq!(heard("aé\x1b[?4c".as_bytes()), (Some(true), keys("aé"), 0));
        let paste = b"\x1b[200~a \xff\x1b[?62;4c b\x1b[201~c\x1b[?62;4c";
        let (answer, passed, _) = heard(paste);
        assert_eq!(answer, Some(true));
        assert_eq!(passed[0], Msg::Paste("a \u{fffd}\u{1b}[?62;4c b".into()), "what is pasted is no answer");
        assert_eq!(passed[1..], keys("c"));
    }

    #[test]
    fn keys_before_the_answer_are_the_keys_they_are() {
        for (bytes, code, modifiers) in [
            (&b"\x1b"[..], KeyCode::Esc, KeyModifiers::NONE),
            (b"\r", KeyCode::Enter, KeyModifiers::NONE),
            (b"\x03", KeyCode::Char('c'), KeyModifiers::CONTROL),
            (b"\x1b[A", KeyCode::Up, KeyModifiers::NONE),
            (b"\x1b[1;5C", KeyCode::Right, KeyModifiers::CONTROL),
            (b"\x1b[15~", KeyCode::F(5), KeyModifiers::NONE),
            (b"\x1b[17~", KeyCode::F(6), KeyModifiers::NONE),
            (b"\x1b[24~", KeyCode::F(12), KeyModifiers::NONE),
            (b"\x1bOP", KeyCode::F(1), KeyModifiers::NONE),
            (b"\x1b[99;5u", KeyCode::Char('c'), KeyModifiers::CONTROL),
            (b"\x1b[13;2u", KeyCode::Enter, KeyModifiers::SHIFT),
            (b"\x1bp", KeyCode::Char('p'), KeyModifiers::ALT),
            (b"\x1b[Z", KeyCode::BackTab, KeyModifiers::NONE),
            (b"A", KeyCode::Char('A'), KeyModifiers::SHIFT),
        ] {
            let (answer, passed, _) = heard(bytes);
            assert_eq!((answer, passed), (None, vec![Msg::Key(KeyEvent::new(code, modifiers))]), "{bytes:?}");
        }
        assert_eq!(
            heard(b"\x1b[<0;3;4M\x1b[?1;2\xc3").1,
            [],
            "reports of a mouse and torn sequences are none"
        );
    }
}
