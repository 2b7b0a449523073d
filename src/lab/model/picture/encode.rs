//! The sequences of kitty and iTerm2.
//!
//! kitty: "Terminal graphics protocol", sw.kovidgoyal.net/kitty/graphics-protocol, with Unicode placeholders. iTerm2:
//! "Inline Images Protocol", iterm2.com/documentation-images.html.

use crate::base::base64;
use crate::lab::model::picture::size::Size;

/// Base 64 of one piece of a transmission, at most.
const PIECE: usize = 4096;
/// The character that stands for a place of a picture.
const PLACE: char = '\u{10EEEE}';
/// Marks that name rows and columns, in their order (kitty's `rowcolumn-diacritics.txt`).
const MARKS: [char; 30] = [
    '\u{0305}', '\u{030D}', '\u{030E}', '\u{0310}', '\u{0312}', '\u{033D}', '\u{033E}', '\u{033F}',
    '\u{0346}', '\u{034A}', '\u{034B}', '\u{034C}', '\u{0350}', '\u{0351}', '\u{0352}', '\u{0357}',
    '\u{035B}', '\u{0363}', '\u{0364}', '\u{0365}', '\u{0366}', '\u{0367}', '\u{0368}', '\u{0369}',
    '\u{036A}', '\u{036B}', '\u{036C}', '\u{036D}', '\u{036E}', '\u{036F}',
];

/// The number that kitty knows a version's picture by: 24 bits, as many as a colour has, and not zero.
pub(crate) fn number(version: u64) -> u32 {
    // Programs in other windows of the terminal number their pictures, too.
    let own = u64::from(std::process::id()) << 12;
    u32::try_from((own ^ version) & 0x00ff_ffff).unwrap_or(1).max(1)
}

/// Hands a picture over, to be shown at its placeholders. The terminal says nothing of it.
pub(crate) fn kitty(number: u32, png: &[u8], size: Size) -> String {
    let data = base64::encode(png);
    let mut out = String::with_capacity(data.len() + 200);
    let mut rest = data.as_str();
    let mut first = true;
    while first || !rest.is_empty() {
        let (piece, after) = rest.split_at_checked(PIECE).unwrap_or((rest, ""));
        rest = after;
        let more = u8::from(!rest.is_empty());
        out += "\x1b_G";
        if std::mem::take(&mut first) {
            out += &format!("a=T,U=1,f=100,q=2,i={number},c={},r={},", size.columns, size.rows);
        }
        out += &format!("m={more};{piece}\x1b\\");
    }
    out
}

/// Takes a picture back, and its places.
pub(crate) fn forget(number: u32) -> String {
    format!("\x1b_Ga=d,d=I,i={number},q=2\x1b\\")
}

/// The character for one place; the first of a row says which, the others follow it.
pub(crate) fn placeholder(row: u16, column: u16) -> String {
    let mut out = String::from(PLACE);
    if column == 0 {
        out.extend(MARKS.get(usize::from(row)));
        out.extend(MARKS.first());
    }
    out
}

/// A picture of one row of characters, at the cursor.
pub(crate) fn iterm2(png: &[u8], columns: u16) -> String {
    let (size, data) = (png.len(), base64::encode(png));
    format!(
        "\x1b]1337;File=inline=1;size={size};width={columns};height=1;preserveAspectRatio=0;doNotMoveCursor=1:{data}\x07"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_picture_goes_in_pieces_and_says_where_it_ends() {
        let size = Size { columns: 30, rows: 10 };
        let sent = kitty(7, &[0; 9000], size);
        let pieces: Vec<&str> = sent.split("\x1b\\").filter(|piece| !piece.is_empty()).collect();
        assert_eq!(pieces.len(), 3);
        assert!(pieces[0].starts_with("\x1b_Ga=T,U=1,f=100,q=2,i=7,c=30,r=10,m=1;AAAA"));
        assert!(pieces[1].starts_with("\x1b_Gm=1;") && pieces[2].starts_with("\x1b_Gm=0;"));
        assert!(kitty(7, &[], size).contains("m=0;"));
    }

    #[test]
    fn numbers_fit_a_colour_and_differ() {
        assert!((0..5000).all(|version| (1..1 << 24).contains(&number(version))));
        assert_ne!(number(1), number(2));
    }

    #[test]
    fn each_place_is_one_column_wide() {
        use unicode_width::UnicodeWidthStr;
        for row in *super::super::size::ART_ROWS.start()..=*super::super::size::ART_ROWS.end() {
            assert_eq!(placeholder(row - 1, 0).chars().count(), 3);
            assert_eq!(placeholder(row - 1, 0).width(), 1);
        }
        assert_eq!(placeholder(3, 1), "\u{10EEEE}");
    }
}
