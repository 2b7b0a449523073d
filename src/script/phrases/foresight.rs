//! What is known of a program's functions and classes before they are read: it is read again with what was learnt.

use std::collections::BTreeSet;

use crate::base::name_map::NameMap;

use super::lex::Tok;
use super::writer::{Holds, Writer};

/// How often a program is read: what calls what is below it, and that what is below again.
pub(super) const READINGS: usize = 4;

#[derive(Clone, Default, PartialEq)]
pub(super) struct Foresight {
    gives_back: NameMap<Vec<usize>>,
    gives_itself: BTreeSet<String>,
    changing: NameMap<String>,
    own_fields: BTreeSet<String>,
    /// What functions, fields and lists are given.
    met: NameMap<Holds>,
}

impl Foresight {
    /// What a reading has learnt; of functions that share a name nothing is known before they are read.
    pub(super) fn learnt(writer: &Writer, tokens: &[Tok]) -> Foresight {
        let is_one = |name: &str| {
            let defines = |pair: &&[Tok]| matches!(pair, [def, own] if def.text == "def" && own.text == name);
            tokens.windows(2).filter(defines).count() == 1
        };
        let gives_back = writer.gives_back.iter().filter(|(name, _)| is_one(name));
        Foresight {
            gives_back: gives_back.map(|(name, places)| (name.clone(), places.clone())).collect(),
            gives_itself: writer.gives_itself.iter().filter(|name| is_one(name)).cloned().collect(),
            changing: writer.changing.clone(),
            own_fields: writer.own_fields.clone(),
            met: writer.met.clone(),
        }
    }

    /// Tells it to what reads the program again.
    pub(super) fn tell(&self, writer: &mut Writer) {
        writer.gives_back.clone_from(&self.gives_back);
        writer.gives_itself.clone_from(&self.gives_itself);
        writer.changing.clone_from(&self.changing);
        writer.own_fields.clone_from(&self.own_fields);
        writer.seen.clone_from(&self.met);
    }
}
