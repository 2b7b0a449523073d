//! Colours by role, from the Okabe-Ito palette; every role differs without colour as well.

use std::env;

use ratatui::style::{Color, Modifier, Style};

/// How many colours the terminal shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colour {
    None,
    /// The 256-colour palette.
    Indexed,
    /// 24-bit colours.
    True,
}

/// What a learner chose about the look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    pub colour: Colour,
    /// For a light background.
    pub light: bool,
    /// Draw with ASCII characters alone.
    pub ascii: bool,
}

impl Look {
    /// Colours as the environment allows: `NO_COLOR` (when not empty), `TERM=dumb`, `COLORTERM`.
    pub(crate) fn from_env(light: bool, ascii: bool) -> Look {
        let set = |name: &str| env::var(name).unwrap_or_default();
        let colour = if !set("NO_COLOR").is_empty() || set("TERM") == "dumb" {
            Colour::None
        } else if matches!(set("COLORTERM").as_str(), "truecolor" | "24bit") {
            Colour::True
        } else {
            Colour::Indexed
        };
        Look { colour, light, ascii }
    }
}

/// The style of each role.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Theme {
    pub look: Look,
    pub text: Style,
    pub dim: Style,
    pub strong: Style,
    pub accent: Style,
    /// The label of the selected item; visible without colour.
    pub selected: Style,
    /// A row that something else points at; visible without colour.
    pub pointed: Style,
    pub ok: Style,
    pub warn: Style,
    pub error: Style,
    pub allocated: Style,
    pub cached: Style,
    pub copies: Style,
    pub free: Style,
    pub peak: Style,
    pub badge: Style,
    pub border: Style,
    pub border_focus: Style,
    pub keyword: Style,
    pub string: Style,
    pub number: Style,
    pub comment: Style,
    pub function: Style,
    pub module: Style,
}

/// A colour as 24 bits and as the nearest of the 256.
struct Shade(u32, u8);

const ORANGE: Shade = Shade(0xe6_9f00, 178);
const SKY: Shade = Shade(0x56_b4e9, 74);
const GREEN: Shade = Shade(0x00_9e73, 36);
const BLUE: Shade = Shade(0x00_72b2, 25);
const VERMILLION: Shade = Shade(0xd5_5e00, 166);
const PURPLE: Shade = Shade(0xcc_79a7, 175);
const GREY_ON_DARK: Shade = Shade(0x8a_8a8a, 245);
const GREY_ON_LIGHT: Shade = Shade(0x62_6262, 241);
const FAINT_ON_DARK: Shade = Shade(0x4e_4e4e, 239);
const FAINT_ON_LIGHT: Shade = Shade(0xb2_b2b2, 249);

impl Theme {
    pub fn new(look: Look) -> Theme {
        let fg = |shade: &Shade| match look.colour {
            Colour::None => Style::new(),
            Colour::Indexed => Style::new().fg(Color::Indexed(shade.1)),
            Colour::True => Style::new().fg(Color::from_u32(shade.0)),
        };
        // Sky and orange are too pale for text on white; blue is too dark on black.
        let (accent, warm, grey, faint) = if look.light {
            (fg(&BLUE), fg(&VERMILLION), fg(&GREY_ON_LIGHT), fg(&FAINT_ON_LIGHT))
        } else {
            (fg(&SKY), fg(&ORANGE), fg(&GREY_ON_DARK), fg(&FAINT_ON_DARK))
        };
        let bold = Modifier::BOLD;
        let plain = Style::new();
        let none = look.colour == Colour::None;
        let dim = if none { plain.add_modifier(Modifier::DIM) } else { grey };
        let reversed = accent.add_modifier(bold | Modifier::REVERSED);
        Theme {
            look,
            text: plain,
            dim,
            strong: plain.add_modifier(bold),
            accent: accent.add_modifier(bold),
            selected: reversed,
            pointed: plain.add_modifier(Modifier::UNDERLINED),
            ok: fg(&GREEN),
            warn: warm.add_modifier(bold),
            error: fg(&VERMILLION).add_modifier(bold),
            allocated: accent,
            cached: fg(&ORANGE),
            copies: fg(&GREEN),
            free: if none { plain } else { faint },
            peak: fg(&PURPLE).add_modifier(bold),
            badge: warm.add_modifier(bold | Modifier::REVERSED),
            border: if none { plain } else { faint },
            border_focus: accent.add_modifier(bold),
            keyword: accent.add_modifier(bold),
            string: fg(&GREEN),
            number: fg(&PURPLE),
            comment: dim.add_modifier(Modifier::ITALIC),
            function: warm,
            module: accent,
        }
    }
}

impl Theme {
    /// A colour of a figure, as near as the terminal has it.
    pub fn colour(&self, [r, g, b]: [u8; 3]) -> Color {
        match self.look.colour {
            Colour::None => Color::Reset,
            Colour::True => Color::Rgb(r, g, b),
            Colour::Indexed => {
                // The 6 x 6 x 6 cube has the levels 0, 95, 135, … 255.
                let level = |c: u8| if c < 48 { 0 } else { (c.saturating_sub(35) / 40).clamp(1, 5) };
                Color::Indexed(16 + 36 * level(r) + 6 * level(g) + level(b))
            }
        }
    }
}

/// The one-column ASCII character that stands for `symbol`; itself where it is ASCII already.
pub(crate) fn ascii(symbol: &str) -> Option<&'static str> {
    if symbol.is_ascii() {
        return None;
    }
    Some(match symbol {
        "─" | "━" | "–" | "—" | "−" | "╌" => "-",
        "│" | "┃" | "▏" | "╎" => "|",
        "┌" | "┐" | "└" | "┘" | "┏" | "┓" | "┗" | "┛" | "├" | "┤" | "┬" | "┴" | "┼" => {
            "+"
        }
        "█" | "▉" | "▋" | "▍" | "▎" => "#",
        "▒" => "=",
        "░" => ".",
        "▓" => "%",
        "▚" => "o",
        "▊" => "#",
        "▁" | "▂" => "_",
        "▃" | "▄" => ":",
        "▅" | "▆" => "+",
        "┄" => "~",
        "╱" => "/",
        "═" => "c",
        "╞" => "[",
        "▇" => "#",
        "≠" => "!",
        "·" | "•" | "◦" => "-",
        "→" | "▸" | "▶" | "▷" | "›" | "▌" => ">",
        "←" | "◂" => "<",
        "↑" | "▴" => "^",
        "↓" | "▾" | "▼" => "v",
        "↪" | "↵" => "\\",
        "✓" => "+",
        "✗" | "×" => "x",
        "■" => "#",
        "○" => "o",
        "●" => "*",
        "▲" => "!",
        "…" | "⋯" => "~",
        "┆" => ":",
        "µ" => "u",
        "⠋" | "⠏" | "⠇" => "|",
        "⠙" | "⠸" => "/",
        "⠹" | "⠼" | "⠴" => "-",
        "⠦" | "⠧" => "\\",
        "“" | "”" => "\"",
        "‘" | "’" => "'",
        _ => "?",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_no_role_has_one_and_the_selection_still_differs() {
        let theme = Theme::new(Look { colour: Colour::None, light: false, ascii: false });
        for style in [theme.accent, theme.selected, theme.error, theme.allocated, theme.string, theme.badge] {
            assert_eq!((style.fg, style.bg), (None, None));
        }
        assert!(theme.selected.add_modifier.contains(Modifier::REVERSED));
    }

    #[test]
    fn colours_find_their_nearest() {
        let theme = |colour| Theme::new(Look { colour, light: false, ascii: false });
        let cube = theme(Colour::Indexed);
        assert_eq!(cube.colour([0, 0, 0]), Color::Indexed(16));
        assert_eq!(cube.colour([255, 255, 255]), Color::Indexed(231));
        assert_eq!(cube.colour([95, 135, 0]), Color::Indexed(16 + 36 + 12));
        assert_eq!(theme(Colour::True).colour([1, 2, 3]), Color::Rgb(1, 2, 3));
    }

    #[test]
    fn ascii_stands_for_one_column() {
        for symbol in ["─", "█", "→", "✓", "日"] {
            assert_eq!(ascii(symbol).map(str::len), Some(1));
        }
        assert_eq!(ascii("a"), None);
    }
}
