//! Colours of the terminal, from the Okabe-Ito palette, or none.

use std::env;

use crate::plot::Cell;
use crate::script::tokens::Token;

/// Whether and for which background there are colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paint {
    pub on: bool,
    /// 24-bit colours rather than 256.
    pub full: bool,
    /// For a light background.
    pub light: bool,
}

/// What a piece of text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ink {
    Code(Token),
    /// The prompt of what goes in.
    In,
    /// The prompt of what comes out.
    Out,
    Error,
    Warning,
    Dim,
    /// A bracket and its partner.
    Pair,
}

impl Paint {
    /// As the environment allows: `NO_COLOR` (when not empty), `TERM=dumb`, `COLORTERM`.
    pub(crate) fn from_env(light: bool) -> Paint {
        let set = |name: &str| env::var(name).unwrap_or_default();
        Paint {
            on: set("NO_COLOR").is_empty() && set("TERM") != "dumb",
            full: matches!(set("COLORTERM").as_str(), "truecolor" | "24bit"),
            light,
        }
    }

    /// The same without colours where `there` is false.
    pub fn only(self, there: bool) -> Paint {
        Paint { on: self.on && there, ..self }
    }

    /// `text` in the ink's colour. Its width on the screen stays.
    pub fn with(self, ink: Ink, text: &str) -> String {
        match self.code(ink).filter(|_| self.on && !text.is_empty()) {
            Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
            None => text.to_string(),
        }
    }

    fn code(self, ink: Ink) -> Option<&'static str> {
        let on = |dark, light| Some(if self.light { light } else { dark });
        match ink {
            Ink::Code(Token::Plain) => None,
            Ink::Code(Token::Keyword) => on("1;38;5;74", "1;38;5;25"),
            Ink::Code(Token::Module) => on("38;5;74", "38;5;25"),
            Ink::Code(Token::Function) => on("38;5;178", "38;5;166"),
            Ink::Code(Token::Text) => Some("38;5;36"),
            Ink::Code(Token::Number) => Some("38;5;175"),
            Ink::Code(Token::Comment) => on("3;38;5;245", "3;38;5;241"),
            Ink::In => Some("1;38;5;36"),
            Ink::Out | Ink::Error => Some("1;38;5;166"),
            Ink::Warning => on("38;5;178", "38;5;166"),
            Ink::Dim => on("38;5;245", "38;5;241"),
            Ink::Pair => Some("1;7"),
        }
    }

    /// A row of a figure.
    pub fn cells(self, row: &[Cell]) -> String {
        let mut out = String::new();
        for run in row.chunk_by(|a, b| (a.fg, a.bg) == (b.fg, b.bg)) {
            // Behind a wide character stands an empty place.
            let text: String = run.iter().map(|cell| cell.symbol).filter(|c| *c != '\0').collect();
            let colours = run.first().map(|cell| (cell.fg, cell.bg)).unwrap_or_default();
            let codes = [(38, colours.0), (48, colours.1)].into_iter().filter_map(|(place, rgb)| {
                let rgb = rgb?;
                Some(self.rgb(place, rgb))
            });
            let codes: Vec<String> = codes.collect();
            if codes.is_empty() {
                out.push_str(&text);
            } else {
                out += &format!("\x1b[{}m{text}\x1b[0m", codes.join(";"));
            }
        }
        out
    }

    fn rgb(self, place: u8, [r, g, b]: [u8; 3]) -> String {
        if self.full {
            return format!("{place};2;{r};{g};{b}");
        }
        // The 6 x 6 x 6 cube has the levels 0, 95, 135, … 255.
        let level = |c: u8| u32::from(if c < 48 { 0 } else { (c.saturating_sub(35) / 40).clamp(1, 5) });
        format!("{place};5;{}", 16 + 36 * level(r) + 6 * level(g) + level(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_come_only_where_they_are_wanted() {
        let paint = Paint { on: true, full: false, light: false };
        assert_eq!(paint.with(Ink::Error, "x"), "\x1b[1;38;5;166mx\x1b[0m");
        assert_eq!(paint.with(Ink::Error, ""), "");
        assert_eq!(paint.only(false).with(Ink::Error, "x"), "x");
        let cell = |symbol, fg| Cell { symbol, fg, bg: None };
        let row = [cell('a', None), cell('b', Some([95, 135, 0])), cell('c', Some([95, 135, 0]))];
        assert_eq!(paint.cells(&row), "a\x1b[38;5;64mbc\x1b[0m");
        assert_eq!(Paint { full: true, ..paint }.cells(&row), "a\x1b[38;2;95;135;0mbc\x1b[0m");
    }
}
