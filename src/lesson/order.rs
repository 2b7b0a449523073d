//! The order in which a quiz shows its choices: another one for each learner, and always the same for one.

/// Places in the file in the order in which they are shown. With seed 0 it is the file's own.
pub fn order(choices: usize, id: &str, seed: u64) -> Vec<usize> {
    let mut places: Vec<usize> = (0..choices).collect();
    if seed == 0 {
        return places;
    }
    let mut state = id.bytes().fold(mixed(seed), |state, byte| mixed(state ^ u64::from(byte)));
    for left in (1..choices).rev() {
        state = mixed(state);
        let other = usize::try_from(state % (left as u64 + 1)).unwrap_or(0);
        places.swap(left, other);
    }
    places
}

/// A seed made of where a learner's things are kept; never 0.
pub fn seed(folder: &str) -> u64 {
    folder.bytes().fold(1, |state, byte| mixed(state ^ u64::from(byte))).max(1)
}

/// Spreads a number over all bits, after splitmix64.
fn mixed(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_each_place_once_and_is_the_same_each_time() {
        for (id, learner) in [("a", "/home/a"), ("a", "/home/b"), ("long-id", "/x"), ("", "")] {
            for choices in 0..9 {
                let shown = order(choices, id, seed(learner));
                assert_eq!(shown, order(choices, id, seed(learner)));
                let mut all = shown.clone();
                all.sort_unstable();
                assert_eq!(all, (0..choices).collect::<Vec<_>>());
            }
        }
        assert_eq!(order(4, "a", 0), [0, 1, 2, 3]);
    }

    #[test]
    fn no_place_is_favoured_over_learners_and_steps() {
        let mut first = [0; 3];
        for learner in 0..30 {
            for id in 0..20 {
                let seed = seed(&format!("/home/learner-{learner}"));
                first[order(3, &format!("step-{id}"), seed)[0]] += 1;
            }
        }
        assert!(first.iter().all(|count| (150..250).contains(count)), "{first:?}");
    }
}
