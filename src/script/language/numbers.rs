//! Functions of numbers; those that tensors have too are pages of the operations.

use super::declare::language;

language! {
    Number {
        to_int() "The number without its fraction." "7.9.to_int()" => "7",
            "RuntimeError: the number is too large for an integer";
        to_float() "The number as a float." "7.to_float()" => "7.0";
        to_hex() "The integer in hexadecimal digits." "255.to_hex()" => "\"ff\"";
        to_octal() "The integer in octal digits." "8.to_octal()" => "\"10\"";
        to_binary() "The integer in binary digits." "5.to_binary()" => "\"101\"";
        to_degrees() "Degrees of an angle in radians." "0.0.to_degrees()" => "0.0";
        to_radians() "Radians of an angle in degrees." "0.0.to_radians()" => "0.0";
        is_even() "Whether the integer is a multiple of 2." "4.is_even()" => "true";
        is_odd() "Whether the integer is no multiple of 2." "4.is_odd()" => "false";
        is_zero() "Whether the number is 0." "0.is_zero()" => "true";
        is_nan() "Whether the float is no number." "(0.0 / 0.0).is_nan()" => "true";
        is_finite() "Whether the float is neither infinite nor NaN." "1.5.is_finite()" => "true";
        is_infinite() "Whether the float is infinite." "(1.0 / 0.0).is_infinite()" => "true";
        ceiling() "The least whole float that is not below." "1.2.ceiling()" => "2.0";
        fraction() "What stands after the point." "1.5.fraction()" => "0.5";
        ln() "The natural logarithm." "1.0.ln()" => "0.0";
        get_bit(bit: "which one, from the lowest on; -1 is the highest") "Whether a bit of the integer is set." "5.get_bit(2)" => "true",
            "RuntimeError: the integer has no such bit";
        #[changing]
        set_bit(bit: "which one, from the lowest on; -1 is the highest", on: "whether it is set from now on")
            "Sets or clears a bit of the integer, in place." "let n = 1; n.set_bit(1, true); n" => "3",
            "RuntimeError: the integer has no such bit";
        get_bits(start: "the lowest bit, or a range", count: "how many bits")
            "Some bits of the integer, as an integer." "12.get_bits(2, 2)" => "3",
            "RuntimeError: the integer has no such bit";
        #[changing]
        set_bits(start: "the lowest bit, or a range", count: "how many bits", value: "what they are from now on")
            "Writes some bits of the integer, in place." "let n = 0; n.set_bits(1, 2, 3); n" => "6",
            "RuntimeError: the integer has no such bit";
        bits(; start: "the lowest bit, or a range", count: "how many bits")
            "Goes through the bits of the integer in a loop." "let n = 0; for b in bits(7, 0, 3) { if b { n += 1 } } n" => "3",
            "RuntimeError: the integer has no such bit";
    }
}
