//! Jupyter's format: nbformat 4.5 is written, 4.0 to 4.5 and 3 are read. Fields that are not known are kept.

pub(crate) mod error;
mod folded;
mod old;

use serde::Serialize;
use serde_json::{Value, json};

use crate::base::base64;
use crate::notebook::ipynb::error::{IpynbError, fault};

use super::cell::{Cell, Kind};
use super::document::Notebook;
use super::html::table_html;
use super::output::{FIGURE, Fields, Output, TABLE, is_json, text_of};

/// The newest minor version of nbformat 4 that is known, and the one that is written.
const MINOR: u64 = 5;
/// Where a cell's metadata keep what its run took, and of which content it was.
const OWN: &str = "tensorlab";
const USAGE: &str = "usage";
const RAN: &str = "ran";

/// Reads a notebook, with notes on what was converted.
///
/// # Errors
/// What is wrong with the file, and in which cell.
pub fn read(bytes: &[u8]) -> Result<(Notebook, Vec<String>), IpynbError> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let value: Value =
        serde_json::from_slice(bytes).map_err(|e| IpynbError(format!("it is no JSON: {e}")))?;
    let Value::Object(mut fields) = value else { return fault("it is no JSON object") };
    let mut notes = Vec::new();
    let number = |name: &str| fields.get(name).and_then(Value::as_u64);
    let minor = number("nbformat_minor").unwrap_or(0);
    match number("nbformat") {
        Some(4) if minor > MINOR => notes.push(format!(
            "it has nbformat 4.{minor}, newer than the 4.{MINOR} that is known here; saving writes 4.{MINOR}"
        )),
        Some(4) => {}
        Some(3) => {
            fields = old::upgrade(fields)?;
            notes.push(format!("it has nbformat 3; it is read as 4.{MINOR}, which saving writes"));
        }
        Some(1 | 2) => {
            return fault("nbformat 1 and 2 are not read; `jupyter nbconvert --to notebook` converts them");
        }
        Some(other) => return fault(format!("it has nbformat {other}; 3 and 4 are known here")),
        None => return fault("it has no `nbformat`, so it is no notebook"),
    }
    let Some(Value::Array(cells)) = fields.remove("cells") else { return fault("it has no list of `cells`") };
    let metadata =
        take_object(&mut fields, "metadata").ok_or_else(|| IpynbError("`metadata` is no object".into()))?;
    fields.remove("nbformat");
    fields.remove("nbformat_minor");
    let mut notebook = Notebook { metadata, extra: fields, ..Notebook::default() };
    for (i, cell) in cells.into_iter().enumerate() {
        let cell = read_cell(cell).map_err(|text| IpynbError(format!("cell {}: {text}", i + 1)))?;
        notebook.cells.push(cell);
    }
    let replaced = notebook.identify();
    if replaced > 0 {
        notes.push(format!(
            "{replaced} cell ids were missing their form or not unique; these cells have new ones"
        ));
    }
    if notebook.language() != "rhai" {
        let language = notebook.language();
        notes.push(format!("its code is {language}: it is read and kept as it is, and runs in Jupyter; what is written here is Rhai"));
    }
    Ok((notebook, notes))
}

/// The file's content. Figures get a picture that any reader of notebooks can show.
pub fn write(notebook: &Notebook) -> Vec<u8> {
    let mut fields = notebook.extra.clone();
    let mut metadata = notebook.metadata.clone();
    if !metadata.contains_key("kernelspec") && !metadata.contains_key("language_info") {
        let kernel = json!({"name": "tensorlab", "display_name": "Rhai (tensorlab)", "language": "rhai"});
        let language = json!({"name": "rhai", "file_extension": ".rhai", "mimetype": "text/x-rhai"});
        metadata.insert("kernelspec".into(), kernel);
        metadata.insert("language_info".into(), language);
    }
    fields.insert("cells".into(), notebook.cells.iter().map(write_cell).collect());
    fields.insert("metadata".into(), metadata.into());
    fields.insert("nbformat".into(), 4.into());
    fields.insert("nbformat_minor".into(), MINOR.into());
    let mut out = Vec::new();
    // As Jupyter writes it, so that a version control system shows small differences.
    let form = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let written =
        Value::Object(fields).serialize(&mut serde_json::Serializer::with_formatter(&mut out, form));
    debug_assert!(written.is_ok(), "a value is always JSON");
    out.push(b'\n');
    out
}

fn read_cell(value: Value) -> Result<Cell, String> {
    let Value::Object(mut fields) = value else { return Err("it is no object".into()) };
    let kind = match fields.remove("cell_type") {
        Some(Value::String(kind)) => match kind.as_str() {
            "code" => Kind::Code,
            "markdown" => Kind::Markdown,
            "raw" => Kind::Raw,
            other => return Err(format!("`cell_type` is '{other}'; code, markdown and raw are known")),
        },
        _ => return Err("it has no `cell_type`".into()),
    };
    let source = fields.remove("source").ok_or("it has no `source`")?;
    let source = text_of(source).ok_or("its `source` is no text")?;
    let mut metadata = take_object(&mut fields, "metadata").ok_or("its `metadata` is no object")?;
    let id = match fields.remove("id") {
        Some(Value::String(id)) => id,
        Some(_) => return Err("its `id` is no text".into()),
        None => String::new(),
    };
    let source = folded::unfold(kind, source, &metadata);
    let mut cell = Cell { id, kind, source, ..Cell::default() };
    if kind == Kind::Code {
        cell.execution_count = fields.remove("execution_count").and_then(|count| count.as_u64());
        let outputs = match fields.remove("outputs") {
            Some(Value::Array(outputs)) => outputs,
            None => Vec::new(),
            Some(_) => return Err("its `outputs` are no list".into()),
        };
        cell.outputs = outputs.into_iter().map(Output::from_json).collect::<Result<_, _>>()?;
        let ran = !cell.outputs.is_empty() || cell.execution_count.is_some();
        let mut of = None;
        if let Some(own) = metadata.get_mut(OWN).and_then(Value::as_object_mut) {
            cell.usage = own.remove(USAGE).and_then(|usage| serde_json::from_value(usage).ok());
            of = own.remove(RAN).and_then(|ran| serde_json::from_value(ran).ok());
            if own.is_empty() {
                metadata.remove(OWN);
            }
        }
        // Other programs do not say of which content the outputs are.
        cell.ran = ran.then(|| of.unwrap_or_else(|| cell.hash()));
    }
    (cell.metadata, cell.extra) = (metadata, fields);
    Ok(cell)
}

fn write_cell(cell: &Cell) -> Value {
    let mut fields = cell.extra.clone();
    let mut metadata = cell.metadata.clone();
    if cell.kind == Kind::Code {
        let outputs: Vec<Value> = cell.outputs.iter().map(write_output).collect();
        fields.insert("outputs".into(), outputs.into());
        fields.insert("execution_count".into(), json!(cell.execution_count));
        // A run of another program is not told of.
        let ran = cell.ran.filter(|_| cell.usage.is_some() || cell.is_edited());
        let usage = cell.usage.as_ref().map(|usage| (USAGE, json!(usage)));
        for (name, value) in usage.into_iter().chain(ran.map(|ran| (RAN, json!(ran)))) {
            let own = metadata.entry(OWN).or_insert_with(|| json!({}));
            if let Some(own) = own.as_object_mut() {
                own.insert(name.into(), value);
            }
        }
    } else {
        fields.remove("outputs");
        fields.remove("execution_count");
    }
    fields.insert("id".into(), cell.id.as_str().into());
    fields.insert("cell_type".into(), cell.kind.name().into());
    fields.insert("source".into(), lines(&folded::fold(cell, &mut metadata)));
    fields.insert("metadata".into(), metadata.into());
    fields.into()
}

fn write_output(output: &Output) -> Value {
    let mut value = output.to_json();
    let Some(fields) = value.as_object_mut() else { return value };
    if let Some(text) = fields.get_mut("text").filter(|text| text.is_string()) {
        *text = lines(text.as_str().unwrap_or_default());
    }
    if let (Output::Data { .. }, Some(data)) = (output, fields.get_mut("data").and_then(Value::as_object_mut))
    {
        add_pictures(output, data);
        for (mimetype, value) in data.iter_mut().filter(|(mimetype, _)| splits(mimetype)) {
            debug_assert!(!is_json(mimetype));
            if let Some(text) = value.as_str() {
                *value = lines(text);
            }
        }
    }
    value
}

/// Forms of figures and tables that other readers show.
fn add_pictures(output: &Output, data: &mut Fields) {
    let has_picture = data.keys().any(|mimetype| mimetype.starts_with("image/"));
    if data.contains_key(FIGURE)
        && !has_picture
        && let Some(figure) = output.figure()
    {
        // A figure that can't be drawn has its description alone.
        if let Ok(svg) = figure.to_svg() {
            data.insert("image/svg+xml".into(), svg.into());
        }
        if let Ok(png) = figure.to_png() {
            data.insert("image/png".into(), base64::encode(&png).into());
        }
    }
    if data.contains_key(TABLE)
        && !data.contains_key("text/html")
        && let Some((header, rows)) = output.table()
    {
        data.insert("text/html".into(), table_html(&header, &rows).into());
    }
}

/// Types whose text stands as a list of lines.
fn splits(mimetype: &str) -> bool {
    mimetype.starts_with("text/") || matches!(mimetype, "application/javascript" | "image/svg+xml")
}

/// A text as a list of lines, each with its end.
fn lines(text: &str) -> Value {
    text.split_inclusive('\n').map(Value::from).collect()
}

/// An object, empty where it is missing; nothing where it is something else.
fn take_object(fields: &mut Fields, name: &str) -> Option<Fields> {
    match fields.remove(name) {
        None => Some(Fields::new()),
        Some(Value::Object(inner)) => Some(inner),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;
