//! Tests of all kernels together.

mod attended;
mod batches;
mod cells;
mod chosen;
mod host;
mod host_source;
mod named;
mod ordered;
mod packed;
mod plans;
mod scalars;
mod values;

use std::collections::HashMap;

use super::{Key, every};

#[test]
fn every_kernel_is_written() {
    let mut seen: HashMap<String, Key> = HashMap::new();
    let folder = std::env::var_os("TENSORLAB_KERNELS").map(std::path::PathBuf::from);
    for key in every() {
        let (entry, source) = (key.entry(), key.source());
        assert!(source.contains(&format!("#define ENTRY {entry}\n")), "{entry}");
        let recipe = key.form.recipe(&key.types);
        let prelude = Some(recipe.prelude).filter(|name| !name.is_empty());
        for part in recipe.parts.iter().copied().chain(prelude).chain(["types"]) {
            assert!(!super::recipe::text(part).is_empty(), "{entry} asks for {part}");
        }
        if let Some(other) = seen.insert(entry.clone(), key) {
            assert_eq!(other, key, "{entry} is the name of two kernels");
        }
        if let Some(folder) = &folder {
            std::fs::write(folder.join(format!("{entry}.cu")), source).unwrap();
        }
    }
    assert!(seen.len() > 1000, "{}", seen.len());
}
