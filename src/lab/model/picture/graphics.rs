//! What the terminal can show beside characters, as far as its environment says.

/// How pictures reach the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Graphics {
    /// As characters: half blocks and braille.
    Blocks,
    /// The protocol of kitty, with places of the picture as characters. Also Ghostty.
    Kitty,
    /// The inline images of iTerm2. Also WezTerm.
    Iterm2,
    /// The sixels of DEC's VT340. Also foot, mlterm, Konsole, contour.
    Sixel,
}

/// What is drawn on: the way to the screen, and the pixels of one character, across and down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Canvas {
    pub graphics: Graphics,
    pub cell: (u16, u16),
}

impl Default for Canvas {
    fn default() -> Canvas {
        Canvas { graphics: Graphics::Blocks, cell: USUAL_CELL }
    }
}

/// Pixels of a character where the terminal does not say.
const USUAL_CELL: (u16, u16) = (10, 20);
/// Sizes of characters that can be true.
const POSSIBLE: std::ops::RangeInclusive<u16> = 4..=64;

/// The variable that overrules what is found out.
pub(crate) const VARIABLE: &str = "TENSORLAB_GRAPHICS";

impl Graphics {
    /// The way that the environment names, by the terminals that say who they are. Inside of another program that draws
    /// its own screen, such as tmux, the terminal's graphics do not reach it.
    pub(crate) fn from_env(get: impl Fn(&str) -> Option<String>) -> Graphics {
        let value = |name: &str| get(name).unwrap_or_default();
        match value(VARIABLE).as_str() {
            "kitty" => return Graphics::Kitty,
            "iterm2" => return Graphics::Iterm2,
            "sixel" => return Graphics::Sixel,
            "blocks" => return Graphics::Blocks,
            _ => {}
        }
        let (term, program) = (value("TERM"), value("TERM_PROGRAM"));
        let is_set = |name: &str| !value(name).is_empty();
        if is_set("TMUX") || is_set("STY") || term.starts_with("screen") || term.starts_with("tmux") {
            return Graphics::Blocks;
        }
        if term == "xterm-kitty"
            || term == "xterm-ghostty"
            || is_set("KITTY_WINDOW_ID")
            || program == "ghostty"
        {
            return Graphics::Kitty;
        }
        if program == "iTerm.app" || program == "WezTerm" || value("LC_TERMINAL") == "iTerm2" {
            return Graphics::Iterm2;
        }
        let konsole = value("KONSOLE_VERSION").parse().is_ok_and(|version: u32| version >= 220_400);
        let sixel = ["foot", "mlterm", "contour", "yaft"].iter().any(|name| term.starts_with(name));
        if konsole || sixel || term.contains("sixel") || program == "contour" {
            return Graphics::Sixel;
        }
        Graphics::Blocks
    }
}

/// Whether the terminal is to be asked: it has not been named, by itself or by the learner.
pub(crate) fn is_unknown(get: impl Fn(&str) -> Option<String>) -> bool {
    let is_named = matches!(get(VARIABLE).as_deref(), Some("kitty" | "iterm2" | "sixel" | "blocks"));
    !is_named && Graphics::from_env(get) == Graphics::Blocks
}

impl Canvas {
    /// The canvas of a terminal of `(columns, rows)` characters and `(width, height)` pixels, which may be zero.
    pub fn new(graphics: Graphics, (columns, rows): (u16, u16), (width, height): (u16, u16)) -> Canvas {
        let cell = match (width.checked_div(columns), height.checked_div(rows)) {
            (Some(across), Some(down)) if POSSIBLE.contains(&across) && POSSIBLE.contains(&down) => {
                (across, down)
            }
            _ => USUAL_CELL,
        };
        Canvas { graphics, cell }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_known_by_their_environment() {
        let found = |pairs: &[(&str, &str)]| {
            Graphics::from_env(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_string()))
        };
        for (pairs, want) in [
            (&[("TERM", "xterm-256color")][..], Graphics::Blocks),
            (&[("TERM", "xterm-kitty")], Graphics::Kitty),
            (&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/x")], Graphics::Blocks),
            (&[("TERM", "screen-256color"), ("KITTY_WINDOW_ID", "1")], Graphics::Blocks),
            (&[("TERM_PROGRAM", "WezTerm")], Graphics::Iterm2),
            (&[("TERM", "foot-extra")], Graphics::Sixel),
            (&[("KONSOLE_VERSION", "210800")], Graphics::Blocks),
            (&[("KONSOLE_VERSION", "220801")], Graphics::Sixel),
            (&[("TERM", "xterm-kitty"), ("TENSORLAB_GRAPHICS", "sixel")], Graphics::Sixel),
            (&[("TERM", "xterm-kitty"), ("TENSORLAB_GRAPHICS", "blocks")], Graphics::Blocks),
        ] {
            assert_eq!(found(pairs), want, "{pairs:?}");
        }
    }

    #[test]
    fn a_character_has_a_size_even_where_the_terminal_does_not_say() {
        let cell = |chars, pixels| Canvas::new(Graphics::Sixel, chars, pixels).cell;
        assert_eq!(cell((80, 24), (720, 432)), (9, 18));
        assert_eq!(cell((80, 24), (0, 0)), USUAL_CELL);
        assert_eq!(cell((0, 0), (720, 432)), USUAL_CELL);
        assert_eq!(cell((80, 24), (80, 24)), USUAL_CELL);
    }
}
