//! "Did you mean": the known name that a misspelt one is nearest to.

/// Longer names are no typing mistakes, and take long to compare.
const LONGEST: usize = 100;

/// Letters that a name has at least of which the end is missing, and what the end has at most.
const WITHOUT_END: usize = 8;
const LONGEST_END: usize = 4;

/// The nearest of `names` to a misspelt one, if few enough edits lie between them for a slip of the hand: one for up to
/// four letters, two for up to eight, three beyond. Case counts among equally near names alone. One letter is near to
/// every other, and so to none. A long name without its end, as `CrossEntropy`, is that of which it is the beginning.
pub fn nearest<'n>(wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let length = wrong.chars().count();
    let allowed = match length {
        2..=4 => 1,
        5..=8 => 2,
        9..=LONGEST => 3,
        _ => return None,
    };
    let letters: Vec<char> = wrong.to_lowercase().chars().collect();
    let cased: Vec<char> = wrong.chars().collect();
    let near = |name: &'n str| {
        let long = name.chars().count();
        // Names of other lengths are far, however long it takes to find out how far.
        if name == wrong || long.abs_diff(length) > allowed.max(LONGEST_END) {
            return None;
        }
        let apart = match edits(&letters, &name.to_lowercase(), allowed) {
            Some(apart) => apart,
            None if length >= WITHOUT_END && name.starts_with(wrong) => LONGEST_END,
            None => return None,
        };
        Some(((apart, edits(&cased, name, LONGEST)), name))
    };
    names.into_iter().filter_map(near).min_by_key(|(apart, _)| *apart).map(|(_, name)| name)
}

/// "did you mean `x`?", where a name is near enough.
pub fn did_you_mean<'n>(wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    nearest(wrong, names).map(|name| format!("did you mean `{name}`?"))
}

/// "did you mean `x`?", or the list of what is known.
pub(crate) fn suggestion(wrong: &str, known: &[&str], what: &str) -> String {
    did_you_mean(wrong, known.iter().copied()).unwrap_or_else(|| format!("{what}: {}", known.join(", ")))
}

/// Optimal string alignment distance, up to `most`: letters put in, taken out or replaced, and a swap of neighbours
/// counts once.
fn edits(a: &[char], b: &str, most: usize) -> Option<usize> {
    let b: Vec<char> = b.chars().collect();
    // What both begin or end with costs nothing.
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(head..).unwrap_or_default(), b.get(head..).unwrap_or_default());
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(..a.len() - tail).unwrap_or_default(), b.get(..b.len() - tail).unwrap_or_default());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let at = |r: &[usize], k: usize| r.get(k).copied().unwrap_or(usize::MAX - 1);
            let change = at(&row, j) + usize::from(x != y);
            let mut best = change.min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(&y) && b.get(j - 1) == Some(&x);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            next.push(best);
        }
        // Rows grow from their least but for a swap, which reaches back two.
        let least = |row: &[usize]| row.iter().min().is_some_and(|least| *least <= most);
        if !least(&next) && !least(&row) {
            return None;
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().filter(|edits| *edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        for (wrong, names, near) in [
            ("keepdmi", &["keepdim", "dim", "dtype"][..], Some("keepdim")),
            ("dtyp", &["keepdim", "dim", "dtype"], Some("dtype")),
            ("banana", &["keepdim", "dim", "dtype"], None),
            ("h10", &["t4", "h100", "rtx3060"], Some("h100")),
            ("T5", &["t4", "h100", "rtx3060"], Some("t4")),
            ("rtx360", &["t4", "h100", "rtx3060"], Some("rtx3060")),
            ("anwser", &["answer", "unit"], Some("answer")),
            ("Unti", &["answer", "unit"], Some("unit")),
            ("linear", &["Linear", "bilinear"], Some("Linear")),
            ("Lineer", &["linear", "Linear"], Some("Linear")),
            ("colour", &["answer", "unit"], None),
            ("", &["t"], None),
            ("_", &["t", "F"], None),
            ("same", &["same"], None),
            ("ide", &["kind", "id"], Some("id")),
            ("CrossEntropy", &["CrossEntropyLoss", "Linear"], Some("CrossEntropyLoss")),
            ("Cross", &["CrossLoss"], None),
        ] {
            assert_eq!(nearest(wrong, names.iter().copied()), near, "{wrong}");
        }
        assert_eq!(nearest(&"x".repeat(101), [&*"x".repeat(100)]), None);
        assert_eq!(suggestion("dtyp", &["dim", "dtype"], "there are"), "did you mean `dtype`?");
        assert_eq!(suggestion("banana", &["dim", "dtype"], "there are"), "there are: dim, dtype");
    }

    #[test]
    fn edits_are_counted() {
        for (a, b, count) in [
            ("kitten", "sitting", 3),
            ("ca", "abc", 3),
            ("abcd", "acbd", 1),
            ("", "abc", 3),
            ("abc", "", 3),
            ("same", "same", 0),
        ] {
            let letters: Vec<char> = a.chars().collect();
            assert_eq!(edits(&letters, b, count), Some(count), "{a} {b}");
            assert_eq!(count.checked_sub(1).and_then(|less| edits(&letters, b, less)), None, "{a} {b}");
        }
    }
}
