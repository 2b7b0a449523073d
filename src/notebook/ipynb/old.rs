//! nbformat 3 as nbformat 4 has it: one list of cells, other names.

use serde_json::{Value, json};

use crate::notebook::ipynb::error::{IpynbError, fault};
use crate::notebook::output::{Fields, text_of};

/// Mimetypes by their names in nbformat 3.
const TYPES: [(&str, &str); 8] = [
    ("text", "text/plain"),
    ("html", "text/html"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpeg", "image/jpeg"),
    ("latex", "text/latex"),
    ("json", "application/json"),
    ("javascript", "application/javascript"),
];

/// The fields of a notebook of version 3 as those of version 4.
pub(crate) fn upgrade(mut fields: Fields) -> Result<Fields, IpynbError> {
    let worksheets = match fields.remove("worksheets") {
        Some(Value::Array(worksheets)) => worksheets,
        None => Vec::new(),
        Some(_) => return fault("its `worksheets` are no list"),
    };
    let mut cells = Vec::new();
    for mut sheet in worksheets {
        match sheet.get_mut("cells").map(Value::take) {
            Some(Value::Array(inner)) => cells.extend(inner.into_iter().map(cell)),
            None => {}
            Some(_) => return fault("the `cells` of a worksheet are no list"),
        }
    }
    fields.remove("orig_nbformat");
    fields.insert("cells".into(), cells.into());
    fields.insert("nbformat".into(), 4.into());
    // Their language was Python, whatever the metadata says.
    if let Some(metadata) = fields.entry("metadata").or_insert_with(|| json!({})).as_object_mut() {
        metadata.remove("name");
        metadata.entry("language_info").or_insert_with(|| json!({"name": "python"}));
    }
    Ok(fields)
}

fn cell(value: Value) -> Value {
    let Value::Object(mut fields) = value else { return value };
    let kind = fields.get("cell_type").and_then(Value::as_str).unwrap_or_default().to_string();
    match kind.as_str() {
        "code" => {
            rename(&mut fields, "input", "source");
            rename(&mut fields, "prompt_number", "execution_count");
            fields.remove("language");
            fields.remove("collapsed");
            if let Some(Value::Array(outputs)) = fields.get_mut("outputs") {
                for output in outputs {
                    *output = output_of(output.take());
                }
            }
        }
        "heading" => {
            let level = fields.remove("level").and_then(|level| level.as_u64()).unwrap_or(1).clamp(1, 6);
            let text = fields.remove("source").and_then(text_of).unwrap_or_default();
            let heading = format!("{} {}", "#".repeat(level as usize), text.replace('\n', " "));
            fields.insert("source".into(), heading.into());
            fields.insert("cell_type".into(), "markdown".into());
        }
        "html" => {
            fields.insert("cell_type".into(), "markdown".into());
        }
        _ => {}
    }
    fields.into()
}

fn output_of(value: Value) -> Value {
    let Value::Object(mut fields) = value else { return value };
    match fields.get("output_type").and_then(Value::as_str) {
        Some("stream") => {
            let name = fields.remove("stream").unwrap_or_else(|| "stdout".into());
            fields.insert("name".into(), name);
        }
        Some("pyerr") => {
            fields.insert("output_type".into(), "error".into());
        }
        Some(kind @ ("pyout" | "display_data")) => {
            let kind = if kind == "pyout" { "execute_result" } else { "display_data" };
            fields.insert("output_type".into(), kind.into());
            rename(&mut fields, "prompt_number", "execution_count");
            let mut data = Fields::new();
            for (old, new) in TYPES {
                let Some(value) = fields.remove(old) else { continue };
                // JSON stood as its text.
                let parsed = (old == "json").then(|| serde_json::from_str(value.as_str()?).ok()).flatten();
                data.insert(new.into(), parsed.unwrap_or(value));
            }
            fields.insert("data".into(), data.into());
        }
        _ => {}
    }
    fields.into()
}

fn rename(fields: &mut Fields, old: &str, new: &str) {
    if let Some(value) = fields.remove(old) {
        fields.insert(new.into(), value);
    }
}
