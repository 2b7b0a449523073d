//! Matrices column by column, and what is found of them by textbook loops.

#[derive(Clone)]
pub struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<f64>,
}

impl Matrix {
    pub fn new(rows: usize, columns: usize) -> Matrix {
        Matrix { rows, columns, values: vec![0.0; rows * columns] }
    }

    pub fn identity(size: usize) -> Matrix {
        let mut all = Matrix::new(size, size);
        (0..size).for_each(|i| *all.at(i, i) = 1.0);
        all
    }

    fn at(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.values[column * self.rows + row]
    }

    fn get(&self, row: usize, column: usize) -> f64 {
        self.values[column * self.rows + row]
    }

    fn column(&self, column: usize) -> &[f64] {
        &self.values[column * self.rows..(column + 1) * self.rows]
    }

    pub fn transposed(&self) -> Matrix {
        let mut all = Matrix::new(self.columns, self.rows);
        for column in 0..self.columns {
            for row in 0..self.rows {
                *all.at(column, row) = self.get(row, column);
            }
        }
        all
    }

    /// Turns two columns into one another.
    fn rotate(&mut self, (p, q): (usize, usize), (c, s): (f64, f64)) {
        for row in 0..self.rows {
            let (x, y) = (self.get(row, p), self.get(row, q));
            *self.at(row, p) = c * x - s * y;
            *self.at(row, q) = s * x + c * y;
        }
    }

    fn rotate_rows(&mut self, (p, q): (usize, usize), (c, s): (f64, f64)) {
        for column in 0..self.columns {
            let (x, y) = (self.get(p, column), self.get(q, column));
            *self.at(p, column) = c * x - s * y;
            *self.at(q, column) = s * x + c * y;
        }
    }

    fn select(&self, columns: &[usize]) -> Matrix {
        let values = columns.iter().flat_map(|&column| self.column(column).iter().copied()).collect();
        Matrix { rows: self.rows, columns: columns.len(), values }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The rotation that makes `[[a, b], [b, d]]` diagonal.
fn rotation(a: f64, b: f64, d: f64) -> (f64, f64) {
    let zeta = (d - a) / (2.0 * b);
    let t = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
    let c = 1.0 / (1.0 + t * t).sqrt();
    (c, c * t)
}

/// Elimination in a matrix's place: the row that each step chose, from 1, and the first step without a pivot, from 1, or 0.
pub fn eliminate(a: &mut Matrix) -> (Vec<usize>, usize) {
    let steps = a.rows.min(a.columns);
    let (mut pivots, mut failed) = (Vec::new(), 0);
    for k in 0..steps {
        let best = (k..a.rows)
            .fold(k, |best, row| if a.get(row, k).abs() > a.get(best, k).abs() { row } else { best });
        pivots.push(best + 1);
        for column in 0..a.columns {
            let (x, y) = (a.get(k, column), a.get(best, column));
            (*a.at(k, column), *a.at(best, column)) = (y, x);
        }
        let pivot = a.get(k, k);
        if pivot == 0.0 {
            failed = if failed == 0 { k + 1 } else { failed };
            continue;
        }
        for row in k + 1..a.rows {
            *a.at(row, k) /= pivot;
        }
        for column in k + 1..a.columns {
            let factor = a.get(k, column);
            for row in k + 1..a.rows {
                *a.at(row, column) -= a.get(row, k) * factor;
            }
        }
    }
    (pivots, failed)
}

/// Solutions of `a x = b` in the place of `b`.
pub fn substitute(a: &Matrix, b: &mut Matrix, pivots: &[usize]) {
    let n = a.rows;
    for column in 0..b.columns {
        for row in 0..n {
            let other = pivots[row] - 1;
            let (x, y) = (b.get(row, column), b.get(other, column));
            (*b.at(row, column), *b.at(other, column)) = (y, x);
        }
        for k in 0..n {
            let known = b.get(k, column);
            for row in k + 1..n {
                *b.at(row, column) -= a.get(row, k) * known;
            }
        }
        for k in (0..n).rev() {
            *b.at(k, column) /= a.get(k, k);
            let known = b.get(k, column);
            for row in 0..k {
                *b.at(row, column) -= a.get(row, k) * known;
            }
        }
    }
}

/// `r` with `rᵀ r = a` in the upper triangle; the number of the first column that has none.
pub fn roots(a: &mut Matrix) -> usize {
    for j in 0..a.rows {
        for i in 0..=j {
            let rest = a.get(i, j) - (0..i).map(|k| a.get(k, i) * a.get(k, j)).sum::<f64>();
            if i < j {
                *a.at(i, j) = rest / a.get(i, i);
            } else if rest > 0.0 {
                *a.at(j, j) = rest.sqrt();
            } else {
                return j + 1;
            }
        }
    }
    0
}

pub fn reflect(a: &mut Matrix) -> Vec<f64> {
    let steps = a.rows.min(a.columns);
    let mut scales = vec![0.0; steps];
    for k in 0..steps {
        let below = &a.column(k)[k + 1..];
        let (head, rest) = (a.get(k, k), dot(below, below));
        if rest == 0.0 {
            continue;
        }
        let new = -(head * head + rest).sqrt().copysign(head);
        scales[k] = (new - head) / new;
        for row in k + 1..a.rows {
            *a.at(row, k) /= head - new;
        }
        *a.at(k, k) = new;
        for column in k + 1..a.columns {
            let along = a.get(k, column) + dot(&a.column(k)[k + 1..], &a.column(column)[k + 1..]);
            let by = scales[k] * along;
            *a.at(k, column) -= by;
            for row in k + 1..a.rows {
                *a.at(row, column) -= by * a.get(row, k);
            }
        }
    }
    scales
}

/// The first `columns` of the product of reflections.
pub fn orthogonal(a: &Matrix, scales: &[f64], columns: usize) -> Matrix {
    let mut q = Matrix::new(a.rows, columns);
    (0..columns).for_each(|i| *q.at(i, i) = 1.0);
    for (k, scale) in scales.iter().enumerate().rev() {
        for column in 0..columns {
            let along = q.get(k, column) + dot(&a.column(k)[k + 1..], &q.column(column)[k + 1..]);
            let by = scale * along;
            *q.at(k, column) -= by;
            for row in k + 1..a.rows {
                *q.at(row, column) -= by * a.get(row, k);
            }
        }
    }
    q
}

const SWEEPS: usize = 60;

/// Values ascending with their vectors, by Jacobi's rotations; nothing where there is no end to them.
pub fn symmetric(a: &Matrix, upper: bool) -> Option<(Vec<f64>, Matrix)> {
    let n = a.rows;
    let mut a = a.clone();
    for column in 0..n {
        for row in 0..column {
            let (low, high) = (a.get(column, row), a.get(row, column));
            (*a.at(column, row), *a.at(row, column)) = if upper { (high, high) } else { (low, low) };
        }
    }
    let mut vectors = Matrix::identity(n);
    let size = dot(&a.values, &a.values);
    for _ in 0..SWEEPS {
        let mut off = 0.0;
        for p in 0..n {
            for q in p + 1..n {
                let b = a.get(p, q);
                off += b * b;
                if b == 0.0 {
                    continue;
                }
                let turn = rotation(a.get(p, p), b, a.get(q, q));
                a.rotate((p, q), turn);
                a.rotate_rows((p, q), turn);
                vectors.rotate((p, q), turn);
            }
        }
        if !size.is_finite() {
            return None;
        }
        if off <= 1e-30 * size {
            let values: Vec<f64> = (0..n).map(|i| a.get(i, i)).collect();
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
            return Some((order.iter().map(|&i| values[i]).collect(), vectors.select(&order)));
        }
    }
    None
}

/// `u`, values descending and `v` of a matrix at least as long as wide, by rotations of its columns.
pub fn singular(a: &Matrix) -> Option<(Matrix, Vec<f64>, Matrix)> {
    let (mut u, mut v) = (a.clone(), Matrix::identity(a.columns));
    if a.values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    for _ in 0..SWEEPS {
        let mut done = true;
        for p in 0..a.columns {
            for q in p + 1..a.columns {
                let (x, y) = (u.column(p), u.column(q));
                let (a, b, d) = (dot(x, x), dot(x, y), dot(y, y));
                if b == 0.0 || b.abs() <= 1e-15 * (a * d).sqrt() {
                    continue;
                }
                done = false;
                let turn = rotation(a, b, d);
                u.rotate((p, q), turn);
                v.rotate((p, q), turn);
            }
        }
        if done {
            let sizes: Vec<f64> = (0..a.columns).map(|i| dot(u.column(i), u.column(i)).sqrt()).collect();
            let mut order: Vec<usize> = (0..a.columns).collect();
            order.sort_by(|&i, &j| sizes[j].total_cmp(&sizes[i]));
            let mut u = u.select(&order);
            let values: Vec<f64> = order.iter().map(|&i| sizes[i]).collect();
            for (column, value) in values.iter().enumerate() {
                (0..u.rows).for_each(|row| *u.at(row, column) /= value);
            }
            return Some((u, values, v.select(&order)));
        }
    }
    None
}

/// More columns, each at right angles to those before it.
pub fn completed(u: Matrix, columns: usize) -> Matrix {
    let mut all = u;
    for unit in 0..all.rows {
        if all.columns == columns {
            break;
        }
        let mut next = vec![0.0; all.rows];
        next[unit] = 1.0;
        // Twice is enough.
        for _ in 0..2 {
            for column in 0..all.columns {
                let along = dot(all.column(column), &next);
                next.iter_mut().zip(all.column(column)).for_each(|(to, from)| *to -= along * from);
            }
        }
        let size = dot(&next, &next).sqrt();
        if size > 1e-6 {
            all.values.extend(next.iter().map(|value| value / size));
            all.columns += 1;
        }
    }
    all
}
