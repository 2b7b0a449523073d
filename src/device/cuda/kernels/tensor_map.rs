//! Tensors as a device's copy engine finds them.

use crate::base::DType;

/// A matrix of halves in each place of up to three dimensions, whose rows are copied in panels. Drivers make the 128
/// bytes of it that a kernel takes.
#[derive(Clone, Debug)]
pub struct TensorMap {
    pub dtype: DType,
    pub address: u64,
    /// Halves of a row, rows, and the other dimensions, innermost first.
    pub sizes: [u64; 5],
    /// Bytes from one to the next, of all but the halves of a row.
    pub strides: [u64; 4],
    /// Rows that are copied at once.
    pub rows: u32,
}

/// The words of an encoded map.
pub type EncodedMap = [u64; 16];

impl TensorMap {
    /// Halves of a row that are copied at once: 128 bytes.
    pub const PANEL: u32 = 64;

    /// A map of a matrix, with sizes and steps in elements: of its rows, and of the dimensions that it stands in.
    /// `None` where a map has no such form: a step must be some whole 16 bytes forward.
    pub(super) fn new(
        dtype: DType,
        address: u64,
        width: usize,
        dims: [(usize, isize); 4],
        rows: u32,
    ) -> Option<TensorMap> {
        const ALIGNED: u64 = 16;
        let mut sizes = [width as u64; 5];
        let mut strides = [ALIGNED; 4];
        for ((size, stride), (count, step)) in sizes.iter_mut().skip(1).zip(&mut strides).zip(dims) {
            *size = u64::from(u32::try_from(count).ok()?);
            if count > 1 {
                let bytes = u64::try_from(step).ok()?.checked_mul(dtype.size() as u64)?;
                *stride = Some(bytes).filter(|b| *b > 0 && b.is_multiple_of(ALIGNED) && b >> 40 == 0)?;
            }
        }
        let whole = address.is_multiple_of(ALIGNED) && sizes.iter().all(|&size| size > 0);
        whole.then_some(TensorMap { dtype, address, sizes, strides, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_a_map_are_whole_and_forward() {
        let of = |address, dims| TensorMap::new(DType::Float16, address, 64, dims, 128);
        let plain = [(100, 64), (3, 6400), (1, 0), (1, 0)];
        let map = of(4096, plain).unwrap();
        assert_eq!((map.sizes, map.strides), ([64, 100, 3, 1, 1], [128, 12_800, 16, 16]));
        assert!(of(4104, plain).is_none(), "an address that is not aligned");
        for step in [0, -64, 68, 1 << 40] {
            assert!(of(4096, [(100, 64), (3, step), (1, 0), (1, 0)]).is_none(), "{step}");
        }
        assert!(of(4096, [(0, 64), (3, 6400), (1, 0), (1, 0)]).is_none(), "no rows");
    }
}
