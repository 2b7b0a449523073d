//! What a notebook says of the session that its code needs: a lesson's does.

use serde_json::{Value, json};

use super::Notebook;

/// The field of the metadata.
const OWN: &str = "tensorlab";

/// Devices and a folder to write to, where a notebook asks for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// As `--devices` takes them.
    pub devices: Option<String>,
    /// Bytes that the folder may hold which the code knows as SCRATCH.
    pub scratch: Option<u64>,
}

impl Notebook {
    /// What its metadata ask for.
    pub fn wants(&self) -> Wants {
        let own = self.metadata.get(OWN);
        let field = |name: &str| own?.get(name);
        Wants {
            devices: field("devices").and_then(Value::as_str).map(str::to_owned),
            scratch: field("scratch").and_then(Value::as_u64),
        }
    }

    /// Has its metadata ask for this.
    pub fn ask_for(&mut self, wants: &Wants) {
        let mut own = serde_json::Map::new();
        own.extend(wants.devices.as_ref().map(|devices| ("devices".into(), json!(devices))));
        own.extend(wants.scratch.map(|bytes| ("scratch".into(), json!(bytes))));
        if !own.is_empty() {
            self.metadata.insert(OWN.into(), own.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::ipynb;

    #[test]
    fn what_is_asked_for_is_kept_in_the_file_and_other_metadata_ask_for_nothing() {
        let mut notebook = Notebook::default();
        assert_eq!(notebook.wants(), Wants::default());
        let wants = Wants { devices: Some("sim:t4x2".into()), scratch: Some(65536) };
        notebook.ask_for(&wants);
        assert_eq!(ipynb::read(&ipynb::write(&notebook)).unwrap().0.wants(), wants);
        notebook.metadata.insert(OWN.into(), json!({"devices": 3, "scratch": "much"}));
        assert_eq!(notebook.wants(), Wants::default());
    }
}
