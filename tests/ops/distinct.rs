//! Distinct rows: what a plain sort of them gives.

use std::collections::BTreeMap;

use crate::nn::Lab;

#[test]
fn distinct_rows_come_in_the_order_of_their_first_difference() {
    let mut state = 7u64;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((state >> 33) % n) as i64
    };
    let mut lab = Lab::new();
    for (rows, columns, values) in
        [(1, 1, 3), (6, 1, 3), (9, 2, 2), (40, 3, 2), (60, 7, 2), (33, 16, 2), (200, 5, 3), (5, 33, 2)]
    {
        for dtype in ["int64", "float32", "bool", "int8"] {
            let all: Vec<Vec<i64>> = (0..rows)
                .map(|_| (0..columns).map(|_| below(if dtype == "bool" { 2 } else { values })).collect())
                .collect();
            let mut counts: BTreeMap<&Vec<i64>, i64> = BTreeMap::new();
            all.iter().for_each(|row| *counts.entry(row).or_default() += 1);
            let places: Vec<usize> =
                all.iter().map(|row| counts.keys().position(|other| *other == row).unwrap()).collect();
            let code = format!(
                "let x = tensor({all:?}, #{{dtype: {dtype}}});
                 let r = x.unique(#{{dim: 0, return_inverse: true, return_counts: true}});
                 `${{r[0].long().tolist()}} ${{r[1].tolist()}} ${{r[2].tolist()}}`"
            );
            let want = format!(
                "{:?} {places:?} {:?}",
                counts.keys().collect::<Vec<_>>(),
                counts.values().collect::<Vec<_>>()
            );
            assert_eq!(lab.value(&code).to_string(), want, "{rows} by {columns} {dtype}");
        }
    }
}

#[test]
fn no_number_is_the_largest_and_no_two_of_them_are_one() {
    let mut lab = Lab::new();
    let code = "let x = tensor([[nan, 2.0], [1.0, nan], [nan, 1.0], [0.0, 1.0], [-0.0, 1.0], [1.0, 5.0]]);
                let r = x.unique(#{dim: 0, return_inverse: true}); `${r[0].tolist()} ${r[1].tolist()}`";
    let want = "[[0.0, 1.0], [1.0, 5.0], [1.0, nan], [nan, 1.0], [nan, 2.0]] [4, 2, 3, 0, 0, 1]";
    assert_eq!(lab.value(code).to_string(), want);
}
