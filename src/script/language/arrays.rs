//! Arrays, ranges and blobs.

use super::declare::language;

language! {
    Array {
        #[torch("len")]
        len() "How many items there are." "[1, 2, 3].len()" => "3";
        is_empty() "Whether there are no items." "[].is_empty()" => "true";
        #[changing] #[torch("list.append")]
        push(item: "what comes to the end") "Puts an item at the end." "let a = [1]; a.push(2); a" => "[1, 2]";
        #[changing] #[torch("list.pop")]
        pop() "Takes the last item out and gives it; () of an empty array." "let a = [1, 2]; a.pop()" => "2";
        #[changing]
        shift() "Takes the first item out and gives it; () of an empty array." "let a = [1, 2]; a.shift()" => "1";
        #[changing] #[torch("list.insert")]
        insert(index: "the place, from 0; -1 is the last", item: "what stands there from now on")
            "Puts an item before another." "let a = [1, 3]; a.insert(1, 2); a" => "[1, 2, 3]";
        #[changing] #[torch("list.pop")]
        remove(index: "the place, from 0; -1 is the last")
            "Takes an item out and gives it; () where there is none." "let a = [1, 2]; a.remove(0); a" => "[2]";
        #[changing] #[torch("list.extend")]
        append(array: "whose items come to the end") "Puts the items of another array at the end."
            "let a = [1]; a.append([2, 3]); a" => "[1, 2, 3]";
        get(index: "the place, from 0; -1 is the last") "The item at a place, or () where there is none."
            "[1, 2].get(5) == ()" => "true";
        #[changing]
        set(index: "the place, from 0; -1 is the last", value: "what stands there from now on")
            "Replaces the item at a place; nothing happens where there is none." "let a = [1, 2]; a.set(0, 7); a" => "[7, 2]";
        #[changing] #[torch("list.clear")]
        clear() "Takes every item out." "let a = [1, 2]; a.clear(); a" => "[]";
        #[changing]
        truncate(len: "how many of the first items stay") "Drops the items at the end."
            "let a = [1, 2, 3]; a.truncate(2); a" => "[1, 2]";
        #[changing]
        chop(len: "how many of the last items stay") "Drops the items at the beginning."
            "let a = [1, 2, 3]; a.chop(2); a" => "[2, 3]";
        #[changing]
        pad(len: "how many items there are then, at least", item: "what fills the end")
            "Fills an array up to a length." "let a = [1]; a.pad(3, 0); a" => "[1, 0, 0]",
            "LimitError: the array would grow beyond what a script may hold";
        #[changing] #[torch("list.reverse")]
        reverse() "Turns the order round, in place." "let a = [1, 2, 3]; a.reverse(); a" => "[3, 2, 1]";
        extract(start: "where it begins, or a range"; len: "how many; all that follow where it is not given")
            "A part, as a new array." "[1, 2, 3, 4].extract(1, 2)" => "[2, 3]";
        #[changing]
        splice(start: "where the replaced part begins, or a range", len: "how many items it has",
            replace: "the array that comes in its place")
            "Replaces a part by another array." "let a = [1, 2, 3]; a.splice(0, 2, [9]); a" => "[9, 3]";
        #[changing]
        split(index: "how many items stay")
            "Takes everything from a place on out, and gives it." "let a = [1, 2, 3]; a.split(1)" => "[2, 3]";
        #[changing]
        drain(filter: "a function of an item, a range, or where the part begins"; len: "how many items it has")
            "Takes out what the function picks, or a part, and gives it." "let a = [1, 2, 3]; a.drain(|x| x > 1)" => "[2, 3]";
        #[changing]
        retain(filter: "a function of an item, a range, or where the part begins"; len: "how many items it has")
            "Keeps what the function picks, or a part, and gives the rest."
            "let a = [1, 2, 3]; a.retain(|x| x > 1); a" => "[2, 3]";
        #[torch("map")]
        map(mapper: "a function of an item and, if it takes two, of its place")
            "What a function gives for each item, as a new array." "[1, 2].map(|x| x * 10)" => "[10, 20]";
        #[torch("filter")]
        filter(filter: "a function of an item that gives true or false") "The items that a function picks, as a new array."
            "[1, 2, 3].filter(|x| x > 1)" => "[2, 3]";
        #[changing]
        for_each(map: "a function that changes its item, which is `this`") "Calls a function with each item, which it may change."
            "let a = [1, 2]; a.for_each(|| this += 1); a" => "[2, 3]";
        #[torch("functools.reduce")]
        reduce(reducer: "a function of what came out so far and of an item"; initial: "what there is at first; () otherwise")
            "One value out of all items, from the first to the last." "[1, 2, 3].reduce(|sum, x| sum + x, 0)" => "6";
        reduce_rev(reducer: "a function of what came out so far and of an item"; initial: "what there is at first; () otherwise")
            "One value out of all items, from the last to the first." "[1, 2, 3].reduce_rev(|sum, x| sum * 10 + x, 0)" => "321";
        #[torch("zip")]
        zip(array: "whose items come second", mapper: "a function of an item of each")
            "What a function gives for items at the same place." "[1, 2].zip([10, 20], |x, y| x + y)" => "[11, 22]";
        contains(value: "what is looked for") "Whether an item is equal to a value." "[1, 2].contains(2)" => "true";
        #[torch("list.index")]
        index_of(value: "what is looked for, or a function that picks it"; start: "where the search begins")
            "The place of the first such item, or -1." "[5, 6].index_of(6)" => "1";
        find(filter: "a function of an item that gives true or false"; start: "where the search begins")
            "The first item that a function picks, or ()." "[1, 2, 3].find(|x| x > 1)" => "2";
        find_map(filter: "a function of an item that gives () to go on"; start: "where the search begins")
            "The first thing a function gives that is not ()." "[1, 2].find_map(|x| if x > 1 { x * 10 })" => "20";
        #[torch("any")]
        some(filter: "a function of an item that gives true or false") "Whether a function picks any item."
            "[1, 2].some(|x| x > 1)" => "true";
        #[torch("all")]
        all(filter: "a function of an item that gives true or false") "Whether a function picks every item."
            "[1, 2].all(|x| x > 1)" => "false";
        #[changing]
        dedup(; comparer: "a function of two neighbours that says whether they are the same")
            "Drops items that are equal to the one before, in place." "let a = [1, 1, 2]; a.dedup(); a" => "[1, 2]";
        #[changing] #[torch("list.sort")]
        sort(; comparer: "a function of two items that gives a number below, at or above 0")
            "Sorts in place, from the least on." "let a = [3, 1, 2]; a.sort(); a" => "[1, 2, 3]";
        #[changing]
        sort_by(comparer: "a function of two items that gives a number below, at or above 0")
            "Sorts in place, by a function." "let a = [1, 3, 2]; a.sort_by(|x, y| y - x); a" => "[3, 2, 1]";
        #[changing]
        sort_desc() "Sorts in place, from the greatest on." "let a = [3, 1, 2]; a.sort_desc(); a" => "[3, 2, 1]";
        #[torch("sorted")]
        order(; comparer: "a function of two items that gives a number below, at or above 0")
            "A sorted copy, from the least on." "[3, 1, 2].order()" => "[1, 2, 3]";
        order_by(comparer: "a function of two items that gives a number below, at or above 0")
            "A copy sorted by a function." "[1, 3, 2].order_by(|x, y| y - x)" => "[3, 2, 1]";
        order_desc() "A sorted copy, from the greatest on." "[3, 1, 2].order_desc()" => "[3, 2, 1]";
    }
    Blob {
        blob(; len: "how many bytes", value: "what each of them is, from 0 to 255")
            "Bytes, one after the other." "blob(2, 7).len()" => "2";
        to_array() "The bytes as an array of numbers." "blob(2, 7).to_array()" => "[7, 7]";
        as_string() "The text that the bytes are in UTF-8." "blob(2, 104).as_string()" => "\"hh\"";
        parse_le_int(start: "where the number begins, or a range"; len: "how many bytes it has, at most 8")
            "The integer in some bytes, the lowest first." "blob(2, 1).parse_le_int(0, 2)" => "257";
        parse_be_int(start: "where the number begins, or a range"; len: "how many bytes it has, at most 8")
            "The integer in some bytes, the highest first." "blob(8, 0).parse_be_int(0, 8)" => "0";
        parse_le_float(start: "where the number begins, or a range"; len: "how many bytes it has: 8")
            "The float in some bytes, the lowest first." "blob(8, 0).parse_le_float(0, 8)" => "0.0";
        parse_be_float(start: "where the number begins, or a range"; len: "how many bytes it has: 8")
            "The float in some bytes, the highest first." "blob(8, 0).parse_be_float(0, 8)" => "0.0";
        #[changing]
        write_le(start: "where the number begins, or a range", len: "how many bytes it takes, at most 8", value: "what is written")
            "Writes a number over some bytes, the lowest first." "let b = blob(2, 0); b.write_le(0, 2, 258); b.to_array()" => "[2, 1]";
        #[changing]
        write_be(start: "where the number begins, or a range", len: "how many bytes it takes, at most 8", value: "what is written")
            "Writes a number over some bytes, the highest first." "let b = blob(8, 0); b.write_be(0, 8, 258); b[7]" => "2";
        #[changing]
        write_utf8(start: "where the text begins, or a range", len: "how many bytes it takes", text: "what is written")
            "Writes a text over some bytes." "let b = blob(2, 0); b.write_utf8(0, 2, \"hi\"); b.as_string()" => "\"hi\"";
        #[changing]
        write_ascii(start: "where the text begins, or a range", len: "how many bytes it takes", text: "what is written, its ASCII characters")
            "Writes a text's ASCII characters over some bytes." "let b = blob(2, 0); b.write_ascii(0, 2, \"hi\"); b.as_string()" => "\"hi\"";
    }
    Span {
        #[torch("list")]
        to_array() "The numbers of a range as an array." "(2..5).to_array()" => "[2, 3, 4]";
        collect() "The numbers of a range as an array." "(2..5).collect()" => "[2, 3, 4]";
        #[torch("map")]
        map(mapper: "a function that each number is given to") "What a function gives for each number, as an array." "(0..3).map(|i| i * i)" => "[0, 1, 4]";
        #[torch("filter")]
        filter(filter: "a function that gives true or false") "The numbers that a function picks, as an array."
            "(0..5).filter(|i| i > 2)" => "[3, 4]";
        #[torch("functools.reduce")]
        reduce(reducer: "a function of what came out so far and of a number"; initial: "what there is at first; () otherwise")
            "One value out of all numbers." "(1..4).reduce(|all, i| all * i, 1)" => "6";
        start() "Where a range begins." "(2..5).start" => "2";
        end() "Where a range ends." "(2..5).end" => "5";
        is_inclusive() "Whether the end is a part of the range." "(2..=5).is_inclusive()" => "true";
        is_exclusive() "Whether the range stops before its end." "(2..=5).is_exclusive()" => "false";
    }
}
