//! Maps.

use super::declare::language;

language! {
    Map {
        #[torch("len")]
        len() "How many entries there are." "#{a: 1, b: 2}.len()" => "2";
        is_empty() "Whether there are no entries." "#{}.is_empty()" => "true";
        #[torch("dict.keys")]
        keys() "The names, in the order of the alphabet." "#{b: 1, a: 2}.keys()" => "[\"a\", \"b\"]";
        #[torch("dict.items")]
        items() "The entries, each as [name, value]; `for (k, v) in m.items() { … }` takes them apart." "#{b: 1}.items()" => "[[\"b\", 1]]";
        #[torch("dict.values")]
        values() "The values, in the order of their names." "#{b: 1, a: 2}.values()" => "[2, 1]";
        contains(name: "what an entry may be called") "Whether there is an entry of a name." "#{a: 1}.contains(\"a\")" => "true";
        #[torch("dict.get")]
        get(name: "what the entry is called") "The value of a name, or () where there is none." "#{a: 1}.get(\"a\")" => "1";
        #[changing]
        set(name: "what the entry is called", value: "what stands there from now on")
            "Puts a value under a name." "let m = #{}; m.set(\"a\", 1); m.a" => "1";
        #[changing] #[torch("dict.pop")]
        remove(name: "what the entry is called") "Takes an entry out and gives its value; () where there is none."
            "let m = #{a: 1}; m.remove(\"a\")" => "1";
        #[changing] #[torch("dict.clear")]
        clear() "Takes every entry out." "let m = #{a: 1}; m.clear(); m.len()" => "0";
        #[changing] #[torch("dict.update")]
        mixin(map: "whose entries come in; of the same name they replace what was there")
            "Takes over the entries of another map." "let m = #{a: 1}; m.mixin(#{a: 2, b: 3}); m.values()" => "[2, 3]";
        #[changing]
        fill_with(map: "whose entries come in where the name is free")
            "Takes over those entries of another map that are missing." "let m = #{a: 1}; m.fill_with(#{a: 2, b: 3}); m.values()" => "[1, 3]";
        map(mapper: "a function of a name and, if it takes two, of its value")
            "What a function gives for each entry, as a new map." "#{a: 1}.map(|name, value| value * 10).a" => "10";
        filter(filter: "a function of a name and, if it takes two, of its value")
            "The entries that a function picks, as a new map." "#{a: 1, b: 2}.filter(|name, value| value > 1).keys()" => "[\"b\"]";
        #[changing]
        drain(filter: "a function of a name and, if it takes two, of its value")
            "Takes out what a function picks, and gives it." "let m = #{a: 1, b: 2}; m.drain(|name| name == \"a\"); m.keys()" => "[\"b\"]";
        #[changing]
        retain(filter: "a function of a name and, if it takes two, of its value")
            "Keeps what a function picks, and gives the rest." "let m = #{a: 1, b: 2}; m.retain(|name| name == \"a\"); m.keys()" => "[\"a\"]";
        #[torch("json.dumps")]
        to_json() "The map as JSON text." "#{a: 1}.to_json()" => "\"{\\\"a\\\":1}\"";
    }
}
