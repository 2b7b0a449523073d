//! Functions of any value, of functions and of time.

use super::declare::language;

language! {
    None {
        print(; value: "what is written; its text is that of `to_string`", more: "further values, each behind a space; a map at the end may say what stands between them and what ends the line, `#{sep: \", \", end: \"\"}`")
            "Writes a line." "print(\"sum:\", 1 + 1); 1" => "1";
        debug(value: "what is written; its text is that of `to_debug`") "Writes a line that names the place in the code."
            "debug(\"here\"); 1" => "1";
        to_string(value: "what is put into words") "A value as text; also a method: `x.to_string()`." "to_string(1.5)" => "\"1.5\"";
        to_debug(value: "what is put into words") "A value as text, strings with quotes; also a method: `x.to_debug()`."
            "to_debug(\"a\")" => "\"\\\"a\\\"\"";
        repr(value: "what is put into words") "A value as Python writes it." "repr([\"a\", (), true])" => "\"['a', None, True]\"";
        Fn(name: "what the script has called the function") "A value that stands for a function, to be called with `call`."
            "fn twice(x) { x * 2 } let f = Fn(\"twice\"); f.call(4)" => "8",
            "NameError: when it is called, the script has no such function";
        is_def_fn(name: "what the function would be called", params: "how many parameters it has") "Whether the script has such a function."
            "fn twice(x) { x * 2 } is_def_fn(\"twice\", 1)" => "true";
        is_def_var(name: "the variable's name") "Whether there is such a variable here." "let x = 1; is_def_var(\"x\")" => "true";
        is_shared(value: "what a closure may have captured") "Whether a closure holds the variable too." "let x = 1; let f = || x; is_shared(x)" => "true";
        int(value: "what is cast: a number, or digits perhaps with a sign")
            "The number without its fraction, or the integer that a text is, as Python's; of a tensor the number in it, where `x.int()` casts." "int(3.7)" => "3",
            "ValueError: the text is no integer, or the number is NaN or has more than 64 bits";
        float(value: "what is cast: a number, or digits with or without a point") "The number as a float, or the float that a text is, as Python's; of a tensor the number in it, where `x.float()` casts."
            "float(\"-1e3\")" => "-1000.0", "ValueError: the text is no number";
        bool(value: "what is looked at: a number or a text") "Whether a number is not 0, or a text not empty, as Python's; of a tensor whether its number is, where `x.bool()` casts." "bool(0.0)" => "false";
        parse_int(text: "what has the digits, perhaps with a sign"; radix: "the base, from 2 to 36; 10 where it is not given")
            "The integer that a text is." "parse_int(\"12\")" => "12",
            "ValueError: the text is no integer of 64 bits", "RuntimeError: the radix is not in 2 to 36";
        parse_float(text: "the digits, with or without a point") "The float that a text is." "parse_float(\"1.5\")" => "1.5",
            "ValueError: the text is no number";
        parse_json(text: "an object, an array or another value") "What a JSON text stands for: objects are maps, null is ()." "parse_json(`{\"a\": 1}`).a" => "1",
            "ValueError: the text is no JSON";
        range(from: "where the loop begins, or the end of one from 0"; to: "the end, which is left out", step: "from each number to the next; 1 where it is not given")
            "Numbers for a loop; `list(range(3))` is an array of them." "let sum = 0; for i in range(0, 6, 2) { sum += i } sum" => "6",
            "ValueError: the step is 0";
        timestamp() "The time now; two of them have a difference." "type_of(timestamp())" => "\"timestamp\"";
        E() "Euler's number." "E() > 2.71" => "true";
        PI() "The ratio of a circle's circumference to its diameter." "PI() > 3.14" => "true";
        exit(; value: "what the code gives; () otherwise") "Ends the code here. Of a script that is run a whole number is the exit status, from 0 to 255; anything else is told on standard error, and the status is 1." "exit(7); 8" => "7";
        tag(value: "what carries the number; also a property: `x.tag`") "A number that a value carries beside what it is; 0 at first."
            "let x = 5; x.tag" => "0";
        set_tag(value: "what carries the number", tag: "the number, of 32 bits")
            "Has a value carry a number beside what it is." "let x = 5; set_tag(x, 3); x.tag" => "3",
            "RuntimeError: the number has more than 32 bits";
        get_fn_metadata_list(; name: "of which functions; all where it is not given", params: "with how many parameters")
            "The functions of the script, as an array of maps." "type_of(get_fn_metadata_list())" => "\"array\"";
    }
    Closure {
        name() "The name of the function that it is; of a closure one that the language made up." "Fn(\"f\").name" => "\"f\"";
        is_anonymous() "Whether it is a closure." "(|x| x).is_anonymous" => "true";
        curry(args: "the first of what the function takes") "The function with its first arguments given."
            "let add = |a, b| a + b; let five = add.curry(5); five.call(2)" => "7";
        call(; args: "what the function takes, one after the other") "Calls the function. In the check of a lesson, `call(f, [2])` calls a function, a closure or a module of the learner, within the limits of the lesson." "let f = |x| x + 1; f.call(2)" => "3",
            "NameError: the script has no function of that name that takes as many arguments";
        forward(; args: "what the function takes, one after the other") "The same, by the name that modules are called by: what is given a module takes a function as well."
            "let f = |x| x + 1; f.forward(2)" => "3",
            "NameError: the script has no function of that name that takes as many arguments";
    }
    Time {
        elapsed() "Seconds since then." "timestamp().elapsed < 60.0" => "true";
    }
}
