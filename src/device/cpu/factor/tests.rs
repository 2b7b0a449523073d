use super::*;

const DOUBLE: Precision = Precision { eps: f64::EPSILON / 2.0, tiny: f64::MIN_POSITIVE };

fn cancel() -> Cancel {
    Cancel::default()
}

/// `a [m, k] @ b [k, n]`.
fn product(a: &[f64], b: &[f64], (m, k, n): (usize, usize, usize)) -> Vec<f64> {
    (0..m * n).map(|i| (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum()).collect()
}

fn near(got: &[f64], want: &[f64]) {
    for (a, b) in got.iter().zip(want) {
        assert!((a - b).abs() < 1e-12, "{got:?}, not {want:?}");
    }
}

fn transposed(a: &[f64], (m, n): (usize, usize)) -> Vec<f64> {
    (0..m * n).map(|i| a[i % m * n + i / m]).collect()
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|i| f64::from(u8::from(i / n == i % n))).collect()
}

fn matrix(m: usize, n: usize) -> Vec<f64> {
    (0..m * n).map(|i| ((i * i * 7 + i * 3) % 11) as f64 - 4.5).collect()
}

#[test]
fn the_product_of_the_factors_is_the_matrix() {
    for (m, n) in [
        (1, 1),
        (3, 3),
        (5, 3),
        (3, 5),
        (4, 1),
        (1, 4),
        (0, 3),
        (3, 0),
        (60, 20),
        (20, 31),
        (90, 70),
        (70, 90),
        (65, 65),
    ] {
        let (a, small) = (matrix(m, n), m.min(n));
        for k in [small, m] {
            let (mut q, mut r) = (vec![0.0; m * k], vec![0.0; k * n]);
            qr(&a, (m, n, k), &mut q, &mut r, &cancel()).unwrap();
            near(&product(&q, &r, (m, k, n)), &a);
            near(&product(&transposed(&q, (m, k)), &q, (k, m, k)), &identity(k));
        }
        for (rows, columns) in [(small, small), (m, n)] {
            let (mut u, mut s, mut vh) = (vec![0.0; m * rows], vec![0.0; small], vec![0.0; columns * n]);
            svd(&a, (m, n), &mut s, Some(Vectors { u: &mut u, vh: &mut vh }), (DOUBLE, &cancel())).unwrap();
            assert!(s.is_sorted_by(|a, b| a >= b), "{s:?}");
            near(&product(&transposed(&u, (m, rows)), &u, (rows, m, rows)), &identity(rows));
            near(&product(&vh, &transposed(&vh, (columns, n)), (columns, n, columns)), &identity(columns));
            let scaled: Vec<f64> = (0..m * small)
                .map(|i| u[i / small.max(1) * rows + i % small.max(1)] * s[i % small.max(1)])
                .collect();
            near(&product(&scaled, &vh[..small * n], (m, small, n)), &a);
        }
    }
}

#[test]
fn eigenvectors_only_change_in_length() {
    for n in [0, 1, 2, 5, 8, 26, 60, 100] {
        let a = matrix(n, n);
        let a: Vec<f64> = (0..n * n).map(|i| a[i] + a[i % n * n + i / n]).collect();
        let (mut values, mut vectors) = (vec![0.0; n], vec![0.0; n * n]);
        eigh(&a, n, &mut values, Some(&mut vectors), (DOUBLE, &cancel())).unwrap();
        assert!(values.is_sorted(), "{values:?}");
        let scaled: Vec<f64> = (0..n * n).map(|i| vectors[i] * values[i % n]).collect();
        near(&product(&a, &vectors, (n, n, n)), &scaled);
        near(&product(&transposed(&vectors, (n, n)), &vectors, (n, n, n)), &identity(n));
    }
}

#[test]
fn a_matrix_of_lower_rank_still_has_orthogonal_vectors() {
    let a = [1.0, 2.0, 3.0, 2.0, 4.0, 6.0, -1.0, -2.0, -3.0, 0.0, 0.0, 0.0];
    let (mut u, mut s, mut vh) = (vec![0.0; 16], vec![0.0; 3], vec![0.0; 9]);
    svd(&a, (4, 3), &mut s, Some(Vectors { u: &mut u, vh: &mut vh }), (DOUBLE, &cancel())).unwrap();
    near(&s, &[84f64.sqrt(), 0.0, 0.0]);
    near(&product(&transposed(&u, (4, 4)), &u, (4, 4, 4)), &identity(4));
    let to = Vectors { u: &mut u[..4], vh: &mut vh };
    svd(&[0.0; 6], (2, 3), &mut s[..2], Some(to), (DOUBLE, &cancel())).unwrap();
    near(&u[..4], &identity(2));
}

/// The sign of each column's largest element.
fn signs(a: &[f64], (m, n): (usize, usize)) -> Vec<bool> {
    let column = |c: usize| (0..m).map(move |r| a[r * n + c]);
    (0..n)
        .map(|c| column(c).fold(0.0, |most: f64, v| if v.abs() > most.abs() { v } else { most }) > 0.0)
        .collect()
}

fn are(pattern: &str) -> Vec<bool> {
    pattern.chars().map(|c| c == '+').collect()
}

/// What `torch.linalg.eigh` (2.15, MKL) gives for these matrices, by halves from 26 on.
#[test]
fn eigenvectors_point_as_lapacks_do() {
    for (n, want) in [(3, "+++"), (6, "-+-+--"), (26, "-+--+++-+++++++--+-+----++")] {
        let a = matrix(n, n);
        let a: Vec<f64> = (0..n * n)
            .map(|i| a[i] + a[i % n * n + i / n] + if i % (n + 1) == 0 { (i / n) as f64 } else { 0.0 })
            .collect();
        let (mut values, mut vectors) = (vec![0.0; n], vec![0.0; n * n]);
        eigh(&a, n, &mut values, Some(&mut vectors), (DOUBLE, &cancel())).unwrap();
        assert_eq!(signs(&vectors, (n, n)), are(want), "{n}");
        let mut alone = vec![0.0; n];
        eigh(&a, n, &mut alone, None, (DOUBLE, &cancel())).unwrap();
        assert!(values.iter().zip(&alone).all(|(a, b)| (a - b).abs() < 1e-12), "{n}");
    }
}

/// As above, of `torch.linalg.svd`: upright, long, wide, and those that are brought to a triangle first.
#[test]
fn singular_vectors_point_as_lapacks_do() {
    let cases = [((3, 3), "--+"), ((6, 3), "-++"), ((3, 6), "+-+"), ((7, 6), "-+--++"), ((6, 7), "++-+++")];
    for ((m, n), want) in cases {
        let (a, k) = (matrix(m, n), m.min(n));
        let (mut u, mut s, mut vh) = (vec![0.0; m * k], vec![0.0; k], vec![0.0; k * n]);
        svd(&a, (m, n), &mut s, Some(Vectors { u: &mut u, vh: &mut vh }), (DOUBLE, &cancel())).unwrap();
        assert_eq!(signs(&u, (m, k)), are(want), "{m}x{n}");
        let mut alone = vec![0.0; k];
        svd(&a, (m, n), &mut alone, None, (DOUBLE, &cancel())).unwrap();
        assert!(s.iter().zip(&alone).all(|(a, b)| (a - b).abs() < 1e-12), "{m}x{n}");
    }
}

#[test]
fn sizes_at_the_ends_of_the_range_are_kept() {
    for by in [1e-200, 1e-300, 1e200, 1e300] {
        let a = [2.0 * by, by, by, 2.0 * by];
        let (mut values, mut vectors) = ([0.0; 2], [0.0; 4]);
        eigh(&a, 2, &mut values, Some(&mut vectors), (DOUBLE, &cancel())).unwrap();
        assert!((values[0] / by - 1.0).abs() < 1e-14 && (values[1] / by - 3.0).abs() < 1e-14, "{values:?}");
        svd(&a, (2, 2), &mut values, None, (DOUBLE, &cancel())).unwrap();
        assert!((values[0] / by - 3.0).abs() < 1e-14 && (values[1] / by - 1.0).abs() < 1e-14, "{values:?}");
    }
}

#[test]
fn what_is_no_number_has_no_factors() {
    for (n, bad) in [(1, f64::NAN), (3, f64::NAN), (3, f64::INFINITY), (30, f64::NAN)] {
        let mut a = matrix(n, n);
        a[n * n - 1] = bad;
        let (mut values, mut vectors) = (vec![0.0; n], vec![0.0; n * n]);
        eigh(&a, n, &mut values, Some(&mut vectors), (DOUBLE, &cancel())).unwrap();
        assert!(values.iter().all(|v| v.is_nan()), "{n} {bad}");
        eigh(&a, n, &mut values, None, (DOUBLE, &cancel())).unwrap();
        assert!(values.iter().all(|v| v.is_nan()), "{n} {bad}");
        svd(&a, (n, n), &mut values, None, (DOUBLE, &cancel())).unwrap();
        assert!(values.iter().all(|v| v.is_nan()), "{n} {bad}");
    }
}

#[test]
fn an_interrupt_stops_a_large_matrix() {
    let n = 64;
    let (a, stopped) = (matrix(n, n), cancel());
    stopped.interrupt();
    let mut values = vec![0.0; n];
    assert!(eigh(&a, n, &mut values, None, (DOUBLE, &stopped)).is_err());
    assert!(svd(&a, (n, n), &mut values, None, (DOUBLE, &stopped)).is_err());
}

/// Sizes below, at and above a half, upright and wide.
#[test]
fn elimination_gives_triangles_whose_product_is_the_matrix_in_the_order_of_its_pivots() {
    for (m, n) in [(1, 1), (5, 5), (16, 16), (17, 17), (40, 40), (70, 33), (33, 70), (3, 0), (0, 3)] {
        let (a, k) = (matrix(m, n), m.min(n));
        let (mut both, mut pivots, mut order) = (vec![0.0; m * n], vec![0.0; k], vec![0.0; m]);
        eliminate::lu(&a, (m, n), [&mut both, &mut pivots, &mut order], &cancel()).unwrap();
        let at = |r: usize, c: usize| both[r * n + c];
        let l: Vec<f64> = (0..m * k)
            .map(|i| (i / k, i % k))
            .map(|(r, c)| {
                if r == c {
                    1.0
                } else if r > c {
                    at(r, c)
                } else {
                    0.0
                }
            })
            .collect();
        let u: Vec<f64> = (0..k * n).map(|i| if i % n >= i / n { both[i] } else { 0.0 }).collect();
        assert!(l.iter().all(|v| v.abs() <= 1.0), "the largest element is the pivot");
        let ordered: Vec<f64> = order.iter().flat_map(|&r| a[r as usize * n..][..n].to_vec()).collect();
        near(&product(&l, &u, (m, k, n)), &ordered);
        let mut exchanged: Vec<f64> = (0..m).map(|r| r as f64).collect();
        pivots.iter().enumerate().for_each(|(step, &row)| exchanged.swap(step, row as usize - 1));
        assert_eq!(exchanged, order);
    }
}

#[test]
fn systems_are_solved_and_a_singular_one_has_a_pivot_of_zero() {
    for (n, p) in [(1, 1), (4, 3), (16, 1), (17, 20), (65, 65)] {
        let (mut a, x) = (matrix(n, n), matrix(n, p));
        // Alone it is singular; from the bottom up the largest elements lie off the diagonal.
        (0..n).for_each(|i| a[i * n + (n - 1 - i)] += 40.0 + i as f64);
        let (mut found, mut pivots) = (vec![0.0; n * p], vec![0.0; n]);
        let b = product(&a, &x, (n, n, p));
        eliminate::solve((&a, &b), (n, p), (&mut found, &mut pivots), &cancel()).unwrap();
        near(&found, &x);
        assert!(pivots.iter().all(|v| *v != 0.0));
    }
    let (mut x, mut pivots) = ([0.0; 2], [0.0; 2]);
    let singular = ([1.0, 2.0, 2.0, 4.0], [1.0, 1.0]);
    eliminate::solve((&singular.0, &singular.1), (2, 1), (&mut x, &mut pivots), &cancel()).unwrap();
    assert_eq!(pivots, [2.0, 0.0]);
}

#[test]
fn the_root_of_a_matrix_reads_its_lower_triangle_and_is_none_where_that_is_not_positive() {
    for n in [1, 3, 16, 17, 50, 100] {
        let b = matrix(n, n);
        let mut a = product(&b, &transposed(&b, (n, n)), (n, n, n));
        (0..n).for_each(|i| a[i * n + i] += 1.0);
        let whole = a.clone();
        (0..n * n).filter(|i| i % n > i / n).for_each(|i| a[i] = f64::NAN);
        let mut l = vec![0.0; n * n];
        cholesky::cholesky(&a, n, &mut l, &cancel()).unwrap();
        assert!((0..n * n).all(|i| i % n <= i / n || l[i] == 0.0));
        near(&product(&l, &transposed(&l, (n, n)), (n, n, n)), &whole);
    }
    let mut l = [0.0; 4];
    cholesky::cholesky(&[1.0, 0.0, 2.0, 4.0], 2, &mut l, &cancel()).unwrap();
    assert!(l[3].is_nan(), "{l:?}");
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (m, n) = (140, 136);
    let a: Vec<f64> = (0..m * n).map(|i| ((i * 37 + i * i * 11) % 101) as f64 / 7.0 - 6.0).collect();
    let taken_apart = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (mut q, mut r) = (vec![0.0; m * n], vec![0.0; n * n]);
            qr(&a, (m, n, n), &mut q, &mut r, &cancel()).unwrap();
            let (mut u, mut s, mut vh) = (vec![0.0; m * n], vec![0.0; n], vec![0.0; n * n]);
            svd(&a, (m, n), &mut s, Some(Vectors { u: &mut u, vh: &mut vh }), (DOUBLE, &cancel())).unwrap();
            [q, r, u, s, vh].map(|all| all.into_iter().map(f64::to_bits).collect::<Vec<_>>())
        })
    };
    let one = taken_apart(1);
    for threads in [2, 3, 8] {
        assert!(taken_apart(threads) == one, "{threads} threads");
    }
}
