//! The quantile of the normal distribution, by the rational approximations of Cephes, in double precision.
//! `kernels/scalar.cuh` has the same.

/// `exp(-2)`: farther out the tails have their own approximations.
const TAIL: f64 = 0.135_335_283_236_612_7;
const ROOT_OF_TWO_PI: f64 = 2.506_628_274_631_000_7;

const MIDDLE: [&[f64]; 2] = [
    &[
        -59.963_350_101_410_79,
        98.001_075_418_599_97,
        -56.676_285_746_907_03,
        13.931_260_938_727_968,
        -1.239_165_838_673_812_5,
    ],
    &[
        1.0,
        1.954_488_583_381_417_6,
        4.676_279_128_988_815,
        86.360_242_139_089_05,
        -225.462_687_854_119_37,
        200.260_212_380_060_66,
        -82.037_225_616_833_34,
        15.905_622_512_621_17,
        -1.183_316_211_213_3,
    ],
];
/// For probabilities down to `exp(-32)`.
const NEAR: [&[f64]; 2] = [
    &[
        4.055_448_923_059_624_5,
        31.525_109_459_989_388,
        57.162_819_224_642_13,
        44.080_507_389_320_08,
        14.684_956_192_885_803,
        2.186_633_068_507_902_5,
        -0.140_256_079_171_354_5,
        -0.035_042_462_682_784_82,
        -0.000_857_456_785_154_685_4,
    ],
    &[
        1.0,
        15.779_988_325_646_675,
        45.390_763_512_887_92,
        41.317_203_825_467_2,
        15.042_538_569_290_75,
        2.504_649_462_083_094,
        -0.142_182_922_854_787_79,
        -0.038_080_640_769_157_83,
        -0.000_933_259_480_895_457_4,
    ],
];
const FAR: [&[f64]; 2] = [
    &[
        3.237_748_917_769_460_3,
        6.915_228_890_689_842,
        3.938_810_252_924_744_4,
        1.333_034_608_158_075_5,
        0.201_485_389_549_179_08,
        0.012_371_663_481_782_003,
        0.000_301_581_553_508_235_43,
        2.658_069_746_867_375_5e-06,
        6.239_745_391_849_833e-09,
    ],
    &[
        1.0,
        6.024_270_393_647_42,
        3.679_835_638_561_608_7,
        1.377_020_994_890_813_2,
        0.216_236_993_594_496_63,
        0.013_420_400_608_854_318,
        0.000_328_014_464_682_127_74,
        2.892_478_647_453_806_8e-06,
        6.790_194_080_099_813e-09,
    ],
];

/// Where the share below is `p`.
pub(crate) fn ndtri(p: f64) -> f64 {
    if p == 0.0 || p == 1.0 {
        return if p == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let upper = p > 1.0 - TAIL;
    let tail = if upper { 1.0 - p } else { p };
    if tail > TAIL {
        let y = tail - 0.5;
        return (y + y * (y * y * quotient(y * y, MIDDLE))) * ROOT_OF_TWO_PI;
    }
    let x = (-2.0 * tail.ln()).sqrt();
    let by = if x < 8.0 { NEAR } else { FAR };
    let size = x - x.ln() / x - quotient(1.0 / x, by) / x;
    if upper { size } else { -size }
}

fn quotient(x: f64, [above, below]: [&[f64]; 2]) -> f64 {
    let at = |terms: &[f64]| terms.iter().fold(0.0, |sum, term| sum * x + term);
    at(above) / at(below)
}

/// A number as a fraction from a half up to 1 and a power of 2.
pub(crate) fn split(x: f64) -> (f64, f64) {
    const FIELD: u64 = 0x7ff << 52;
    const HALF: u64 = 1022 << 52;
    if x == 0.0 || !x.is_finite() {
        return (x, 0.0);
    }
    // Those below the normal ones are moved up first.
    let (x, moved) = if x.abs() < f64::MIN_POSITIVE { (x * 2f64.powi(64), 64.0) } else { (x, 0.0) };
    let bits = x.to_bits();
    let exponent = ((bits & FIELD) >> 52) as f64 - 1022.0 - moved;
    (f64::from_bits((bits & !FIELD) | HALF), exponent)
}

/// The fraction of [`split`].
pub(crate) fn mantissa(x: f64) -> f64 {
    split(x).0
}

/// The power of [`split`].
pub(crate) fn exponent(x: f64) -> f64 {
    split(x).1
}
