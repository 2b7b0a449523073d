//! The sections of the machine, one file and one entry of the table each: how many rows there are and fit, what they
//! show, what is at a place, where the keys lead, where the section stands, what the figures mean.

pub(crate) mod bars;
pub(crate) mod curves;
pub(crate) mod entry;
pub(crate) mod lanes;
pub(crate) mod marks;
pub(crate) mod memory;
pub(crate) mod memory_terms;
pub(crate) mod segments;
pub(crate) mod tensors;
pub(crate) mod timeline;
pub(crate) mod transfers;

use crate::lab::layout::sections::entry::SectionEntry;
use crate::lab::model::machine::Section;

/// Every section, in the order of [`Section::ALL`].
pub(crate) const SECTIONS: [&SectionEntry; Section::ALL.len()] =
    [&memory::ENTRY, &tensors::ENTRY, &transfers::ENTRY, &timeline::ENTRY];

/// A section's entry.
pub(crate) fn entry_of(section: Section) -> &'static SectionEntry {
    SECTIONS.into_iter().find(|entry| entry.section == section).unwrap_or(&tensors::ENTRY)
}
