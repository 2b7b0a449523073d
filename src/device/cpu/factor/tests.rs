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
    for (m, n) in [(1, 1), (3, 3), (5, 3), (3, 5), (4, 1), (1, 4), (0, 3), (3, 0), (60, 20), (20, 31)] {
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
    for n in [0, 1, 2, 5, 8, 26, 60] {
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
