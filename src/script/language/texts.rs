//! Strings and characters.

use super::declare::language;

language! {
    Str {
        #[torch("len")]
        len() "How many characters there are." "\"text\".len()" => "4";
        is_empty() "Whether there are no characters." "\"\".is_empty()" => "true";
        bytes() "How many bytes the text takes in UTF-8." "\"é\".bytes()" => "2";
        #[torch("str.upper")]
        to_upper() "The text in capitals." "\"text\".to_upper()" => "\"TEXT\"";
        #[torch("str.lower")]
        to_lower() "The text in small letters." "\"TEXT\".to_lower()" => "\"text\"";
        #[changing] #[torch("str.upper")]
        make_upper() "Turns the text into capitals, in place." "let s = \"a\"; s.make_upper(); s" => "\"A\"";
        #[changing] #[torch("str.lower")]
        make_lower() "Turns the text into small letters, in place." "let s = \"A\"; s.make_lower(); s" => "\"a\"";
        #[changing] #[torch("str.strip")]
        trim() "Drops white space at both ends, in place." "let s = \" a \"; s.trim(); s" => "\"a\"";
        contains(match: "the text or character that is looked for") "Whether another text is a part." "\"text\".contains(\"ex\")" => "true";
        #[torch("str.startswith")]
        starts_with(match: "what it may begin with") "Whether the text begins so." "\"text\".starts_with(\"te\")" => "true";
        #[torch("str.endswith")]
        ends_with(match: "what it may end with") "Whether the text ends so." "\"text\".ends_with(\"xt\")" => "true";
        #[torch("str.find")]
        index_of(find: "the text or character that is looked for"; start: "where the search begins")
            "The place of the first such part, or -1." "\"text\".index_of(\"x\")" => "2";
        sub_string(start: "where it begins, or a range"; len: "how many characters; all that follow where it is not given")
            "A part of the text." "\"text\".sub_string(1, 2)" => "\"ex\"";
        #[changing]
        crop(start: "where what stays begins, or a range"; len: "how many characters; all that follow where it is not given")
            "Drops what lies outside of a part, in place." "let s = \"text\"; s.crop(1, 2); s" => "\"ex\"";
        #[changing] #[torch("str.replace")]
        replace(find: "the text or character that is looked for", substitute: "what comes in its place")
            "Replaces a part wherever it stands, in place." "let s = \"text\"; s.replace(\"t\", \"n\"); s" => "\"nexn\"";
        #[torch("str.split")]
        split(; delimiter: "what stands between the pieces, or the place to cut at; white space where it is not given",
            segments: "how many pieces there are at most")
            "The pieces between separators." "\"a,b\".split(\",\")" => "[\"a\", \"b\"]";
        split_rev(delimiter: "what stands between the pieces"; segments: "how many pieces there are at most")
            "The pieces between separators, from the last to the first." "\"a,b\".split_rev(\",\")" => "[\"b\", \"a\"]";
        get(index: "the place, from 0; -1 is the last") "The character at a place, or () where there is none." "\"text\".get(0)" => "t";
        #[changing]
        set(index: "the place, from 0; -1 is the last", character: "what stands there from now on")
            "Replaces a character." "let s = \"text\"; s.set(0, 'n'); s" => "\"next\"";
        #[changing]
        pop(; len: "how many characters; one where it is not given") "Takes characters off the end and gives them."
            "let s = \"text\"; s.pop(2)" => "\"xt\"";
        #[changing]
        pad(len: "how many characters there are then, at least", character: "the text or character that fills the end")
            "Fills a text up to a length." "let s = \"a\"; s.pad(3, '.'); s" => "\"a..\"",
            "LimitError: the text would grow beyond what a script may hold",
            "ValueError: the text that fills is empty";
        #[changing]
        truncate(len: "how many of the first characters stay") "Drops the end." "let s = \"text\"; s.truncate(2); s" => "\"te\"";
        #[changing]
        remove(find: "the text or character that goes") "Drops a part wherever it stands, in place."
            "let s = \"text\"; s.remove(\"t\"); s" => "\"ex\"";
        #[changing]
        clear() "Drops every character." "let s = \"text\"; s.clear(); s" => "\"\"";
        #[changing]
        append(text: "what comes to the end") "Puts another text at the end." "let s = \"a\"; s.append(\"b\"); s" => "\"ab\"";
        chars(; start: "where it begins, or a range", len: "how many characters")
            "Goes through characters in a loop." "let n = 0; for c in \"text\".chars() { n += 1 } n" => "4";
        to_chars() "The characters as an array." "\"ab\".to_chars()" => "[a, b]";
        to_blob() "The bytes of the text in UTF-8." "\"hi\".to_blob().len()" => "2";
        #[torch("json.loads")]
        parse_json() "The value that the JSON text stands for." "\"{}\".parse_json().len()" => "0",
            "ValueError: the text is no JSON";
    }
    Char {
        to_int() "The number of the character in Unicode." "'a'.to_int()" => "97";
        to_upper() "The character as a capital." "'a'.to_upper()" => "A";
        to_lower() "The character as a small letter." "'A'.to_lower()" => "a";
    }
}
