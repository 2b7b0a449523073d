//! "Did you mean": the closest known word to a misspelt one.

/// The candidate closest to `word`, if few enough edits lie between them for a slip of the hand:
/// one for up to three letters, a third of the word's length beyond.
pub(super) fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word: Vec<char> = word.to_lowercase().chars().take(64).collect();
    let allowed = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &candidate.chars().collect::<Vec<_>>()), candidate))
        .filter(|(edits, _)| *edits <= allowed)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance: insertions, deletions and replacements.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        let mut left = i + 1;
        next.push(left);
        for ((above_left, above), b) in row.iter().zip(row.iter().skip(1)).zip(to) {
            left = (above_left + usize::from(a != b)).min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_refuses_strangers() {
        let known = ["t4", "h100", "rtx3060"];
        assert_eq!(nearest("h10", known), Some("h100"));
        assert_eq!(nearest("T5", known), Some("t4"));
        assert_eq!(nearest("rtx360", known), Some("rtx3060"));
        assert_eq!(nearest("banana", known), None);
        assert_eq!(nearest("", known), None);
    }

    #[test]
    fn counts_edits() {
        let edits =
            |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("abc", ""), 3);
        assert_eq!(edits("same", "same"), 0);
    }
}
