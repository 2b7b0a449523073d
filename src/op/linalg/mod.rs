//! Products and linear algebra.

pub mod added;
mod batches;
pub mod bilinear;
pub mod by_factor;
pub mod cholesky;
pub mod condition;
pub mod covariance;
pub mod determinant;
pub mod distance;
pub mod eigen;
pub mod einsum;
pub mod linear;
pub mod lstm;
pub mod matmul;
pub mod norms;
pub mod products;
pub mod qr;
pub mod solve;
pub mod svd;
pub mod triangular;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([
    matmul::ROWS,
    added::ROWS,
    products::ROWS,
    einsum::ROWS,
    solve::ROWS,
    determinant::ROWS,
    cholesky::ROWS,
    by_factor::ROWS,
    eigen::ROWS,
    svd::ROWS,
    qr::ROWS,
    norms::ROWS,
    triangular::ROWS,
    condition::ROWS,
    distance::ROWS,
    covariance::ROWS,
    linear::ROWS,
    bilinear::ROWS,
]);

/// Rows whose names other rows of the table have too.
pub(crate) static HOMONYMS: &[&[OpDef]] =
    &documented([products::HOMONYMS, norms::HOMONYMS, by_factor::HOMONYMS, svd::HOMONYMS]);
