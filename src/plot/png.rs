//! RGB pixels as a PNG file: 8 bits a channel, not interlaced (PNG specification, third edition, W3C).

use std::io::Write;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

use super::PlotError;
use super::stop::asked;

const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
const TRUECOLOR: u8 = 2;
const NO_FILTER: u8 = 0;

/// Pixels as a PNG file. `rgb` holds `3 * width * height` bytes, row by row.
///
/// # Errors
/// The compression fails.
pub fn encode(width: u32, height: u32, rgb: &[u8]) -> Result<Vec<u8>, PlotError> {
    let failed = |error: std::io::Error| PlotError::Backend { reason: error.to_string() };
    let mut pixels = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in rgb.chunks_exact(3 * width.max(1) as usize).take_while(|_| !asked()) {
        // Figures are flat areas of colour, for which filters do not pay.
        pixels.write_all(&[NO_FILTER]).map_err(failed)?;
        pixels.write_all(row).map_err(failed)?;
    }
    let pixels = pixels.finish().map_err(failed)?;
    let sizes = width.to_be_bytes().into_iter().chain(height.to_be_bytes());
    let header: Vec<u8> = sizes.chain([8, TRUECOLOR, 0, 0, 0]).collect();
    let mut out = SIGNATURE.to_vec();
    chunk(&mut out, b"IHDR", &header);
    chunk(&mut out, b"IDAT", &pixels);
    chunk(&mut out, b"IEND", &[]);
    Ok(out)
}

fn chunk(out: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    // The size limits of a figure keep every chunk below 2^31 bytes.
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    let mut crc = Crc::new();
    crc.update(kind);
    crc.update(data);
    out.extend(length.to_be_bytes());
    out.extend(kind);
    out.extend(data);
    out.extend(crc.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_holds_the_size() {
        let png = encode(3, 2, &[7; 18]).unwrap();
        assert_eq!(&png[..8], &SIGNATURE);
        assert_eq!(&png[16..24], &[0, 0, 0, 3, 0, 0, 0, 2]);
        assert_eq!(&png[png.len() - 8..png.len() - 4], b"IEND");
    }
}
