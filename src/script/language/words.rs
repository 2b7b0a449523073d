//! The words of the language itself.

use super::declare::words;

words! {
    let "Makes a variable; of the same name as often as one likes." "let x = 2; x * 3" => "6";
    const "Makes a variable that keeps its value." "const K = 3; K + 1" => "4";
    if "Does what follows where a condition holds; with `else` it has a value. A tensor with one element holds where it is not 0, for which the host waits; `!` before it is Python's `not`." "if 1 < 2 { \"yes\" } else { \"no\" }" => "\"yes\"";
    else "What is done where the condition of an `if` does not hold." "if 1 > 2 { \"yes\" } else { \"no\" }" => "\"no\"";
    switch "Chooses by a value; `_` stands for all others." "switch 2 { 1 => \"one\", 2 => \"two\", _ => \"many\" }" => "\"two\"";
    while "Repeats as long as a condition holds." "let n = 1; while n < 100 { n *= 2 } n" => "128";
    loop "Repeats until a `break`, which may give a value." "let n = 1; loop { n *= 2; if n > 100 { break n } }" => "128";
    do "Does something once and then again: `do { … } while …` or `do { … } until …`." "let n = 1; do { n *= 2 } while n < 100; n" => "128";
    until "Ends a `do` once a condition holds." "let n = 1; do { n *= 2 } until n > 100; n" => "128";
    for "Repeats for each of some values: of a range, an array, a tensor, a loader." "let sum = 0; for i in 0..4 { sum += i } sum" => "6";
    in "Between the variable and the values of a `for`; elsewhere, whether something holds a value." "3 in [1, 2, 3]" => "true";
    fn "Makes a function; it sees its parameters alone." "fn twice(x) { x * 2 } twice(4)" => "8";
    return "Ends a function with a value." "fn sign(x) { if x < 0 { return -1; } 1 } sign(-5)" => "-1";
    throw "Raises an error with a value." "let got = 0; try { throw 5 } catch (e) { got = e } got" => "5";
    try "Does something that may raise an error, which `catch` takes." "let got = \"\"; try { ones(-1) } catch (e) { got = e.kind } got" => "\"RuntimeError\"";
    catch "Takes the error of a `try`: its `kind`, `message`, `hint` and `line`." "let got = \"\"; try { ones(2).cuda(9) } catch (e) { got = e.kind } got" => "\"DeviceError\"";
    break "Leaves a loop." "let n = 0; while true { n += 1; if n == 3 { break } } n" => "3";
    continue "Goes on with the next turn of a loop." "let sum = 0; for i in 0..5 { if i == 2 { continue } sum += i } sum" => "8";
    true "It holds." "1 < 2 == true" => "true";
    false "It does not hold." "1 > 2 == false" => "true";
    with "Does something under a mode, which ends with the block however that ends." "let x = ones(1, #{requires_grad: true}); let y = (); with no_grad() { y = x * 2; } y.requires_grad" => "false";
    is "Whether two names mean one thing, as Python's `is`: one tensor, network or optimiser, or equal dtypes, devices, numbers and texts. Arrays and maps are copied where they go, and `==` compares them." "let x = ones(2); let y = x; x is y" => "true";
    this "In a function that is called as a method: what it is called on." "fn twice() { this * 2 } let n = 4; n.twice()" => "8";
}
