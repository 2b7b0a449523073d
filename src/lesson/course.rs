//! The course that is part of the program, as `scripts/pack.rs` packed it.

use crate::base::packed::Pack;

static COURSE: Pack = Pack::new(include_bytes!(concat!(env!("OUT_DIR"), "/course.gz")));

/// The built-in lessons in their order: file name and text.
pub fn built_in() -> &'static [(String, String)] {
    COURSE.files().get(1..).unwrap_or_default()
}

/// The manifest of the pack that they are.
pub(super) fn manifest() -> &'static str {
    COURSE.files().first().map_or("", |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_has_the_files_that_the_course_is() {
        let course = concat!(env!("CARGO_MANIFEST_DIR"), "/lessons/course");
        let read = |name: &str| std::fs::read_to_string(format!("{course}/{name}")).unwrap();
        assert_eq!(manifest(), read("pack.toml"));
        assert!(built_in().iter().all(|(name, text)| *text == read(&format!("lessons/{name}"))));
        assert_eq!(built_in().len(), std::fs::read_dir(format!("{course}/lessons")).unwrap().count());
    }
}
