//! Writing plain data in Python's pickle format, protocol 2, as far as PyTorch's memory viewer reads it.
//!
//! Format: the opcodes of CPython's `pickletools`. Texts are written once and referred to afterwards.

use std::collections::HashMap;

/// Plain data of Python.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    Bool(bool),
    Int(i64),
    Text(String),
    Pair(Box<Data>, Box<Data>),
    List(Vec<Data>),
    /// A dict, in this order.
    Dict(Vec<(&'static str, Data)>),
}

impl From<&str> for Data {
    fn from(text: &str) -> Data {
        Data::Text(text.to_string())
    }
}

impl From<u64> for Data {
    fn from(n: u64) -> Data {
        Data::Int(i64::try_from(n).unwrap_or(i64::MAX))
    }
}

/// The bytes that `pickle.load` reads.
pub fn dump(data: &Data) -> Vec<u8> {
    let mut writer = PickleWriter { out: vec![0x80, 2], known: HashMap::new() };
    writer.write(data);
    writer.out.push(b'.');
    writer.out
}

struct PickleWriter<'d> {
    out: Vec<u8>,
    /// Texts by their place in the unpickler's memo.
    known: HashMap<&'d str, u32>,
}

impl<'d> PickleWriter<'d> {
    fn write(&mut self, data: &'d Data) {
        match data {
            Data::Bool(on) => self.out.push(if *on { 0x88 } else { 0x89 }),
            Data::Int(n) => self.int(*n),
            Data::Text(text) => self.text(text),
            Data::Pair(a, b) => {
                self.write(a);
                self.write(b);
                self.out.push(0x86);
            }
            Data::List(items) => {
                self.out.extend(b"](");
                items.iter().for_each(|item| self.write(item));
                self.out.push(b'e');
            }
            Data::Dict(items) => {
                self.out.extend(b"}(");
                for (key, value) in items {
                    self.text(key);
                    self.write(value);
                }
                self.out.push(b'u');
            }
        }
    }

    fn int(&mut self, n: i64) {
        if let Ok(byte) = u8::try_from(n) {
            self.out.extend([b'K', byte]);
        } else if let Ok(short) = u16::try_from(n) {
            self.out.push(b'M');
            self.out.extend(short.to_le_bytes());
        } else if let Ok(word) = i32::try_from(n) {
            self.out.push(b'J');
            self.out.extend(word.to_le_bytes());
        } else {
            // LONG1: little-endian two's complement.
            self.out.extend([0x8a, 8]);
            self.out.extend(n.to_le_bytes());
        }
    }

    fn text(&mut self, text: &'d str) {
        if let Some(place) = self.known.get(text) {
            self.out.push(b'j');
            self.out.extend(place.to_le_bytes());
            return;
        }
        self.out.push(b'X');
        self.out.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.out.extend(text.as_bytes());
        if let Ok(place) = u32::try_from(self.known.len()) {
            self.known.insert(text, place);
            self.out.push(b'r');
            self.out.extend(place.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `pickletools.dis` of these bytes was checked by hand against CPython 3.12.
    #[test]
    fn bytes_are_those_of_protocol_2() {
        let data = Data::Dict(vec![
            ("a", Data::List(vec![Data::Int(1), Data::Int(300), Data::Int(-5)])),
            ("b", Data::Pair(Box::new(Data::from("a")), Box::new(Data::Bool(true)))),
            ("c", Data::Int(1 << 40)),
        ]);
        let mut want = b"\x80\x02}(".to_vec();
        want.extend(b"X\x01\0\0\0ar\0\0\0\0](K\x01M\x2c\x01J\xfb\xff\xff\xffe");
        want.extend(b"X\x01\0\0\0br\x01\0\0\0j\0\0\0\0\x88\x86");
        want.extend(b"X\x01\0\0\0cr\x02\0\0\0\x8a\x08\0\0\0\0\0\x01\0\0u.");
        assert_eq!(dump(&data), want);
    }

    #[test]
    fn empty_lists_and_dicts_are_marked_too() {
        assert_eq!(dump(&Data::List(Vec::new())), b"\x80\x02](e.");
        assert_eq!(dump(&Data::Dict(Vec::new())), b"\x80\x02}(u.");
    }
}
