//! Elements as they lie in memory, as numbers.

/// The types that libraries multiply.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    Float,
    Double,
    Half,
    BFloat,
}

impl Kind {
    pub fn bytes(self) -> usize {
        match self {
            Kind::Double => 8,
            Kind::Float => 4,
            Kind::Half | Kind::BFloat => 2,
        }
    }

    /// Element `at` of what begins at an address.
    pub fn read(self, base: u64, at: i64) -> f64 {
        let place = base.wrapping_add_signed(at * self.bytes() as i64);
        unsafe {
            match self {
                Kind::Double => *(place as *const f64),
                Kind::Float => f64::from(*(place as *const f32)),
                Kind::Half => f64::from(of_half(*(place as *const u16))),
                Kind::BFloat => f64::from(f32::from_bits(u32::from(*(place as *const u16)) << 16)),
            }
        }
    }

    pub fn write(self, base: u64, at: i64, value: f64) {
        let place = base.wrapping_add_signed(at * self.bytes() as i64);
        unsafe {
            match self {
                Kind::Double => *(place as *mut f64) = value,
                Kind::Float => *(place as *mut f32) = value as f32,
                Kind::Half => *(place as *mut u16) = half_of(value as f32),
                Kind::BFloat => *(place as *mut u16) = bfloat_of(value as f32),
            }
        }
    }
}

/// As tensor cores read a float: 10 bits of its fraction.
pub fn tf32(value: f64) -> f64 {
    let bits = (value as f32).to_bits();
    if !(value as f32).is_finite() { value } else { f64::from(f32::from_bits((bits + 0x1000) & !0x1fff)) }
}

/// A power of two that is a normal number.
fn power(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

fn of_half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let size = match exponent {
        0 => fraction * power(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * power(exponent - 25),
    };
    if sign == 1 { -size } else { size }
}

/// The nearest, of two as near the even one.
fn half_of(value: f32) -> u16 {
    let sign = ((value.to_bits() >> 16) & 0x8000) as u16;
    let size = f64::from(value.abs());
    if value.is_nan() {
        return sign | 0x7e00;
    }
    // The step between neighbours there; none is finer than the smallest.
    let exponent = ((value.to_bits() >> 23 & 255) as i32 - 127).clamp(-14, 16);
    let steps = (size / f64::from(power(exponent - 10))).round_ties_even();
    let bits = (i64::from(exponent + 14) << 10) + steps as i64;
    sign | if value.is_infinite() || bits > 0x7c00 { 0x7c00 } else { bits as u16 }
}

fn bfloat_of(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}
