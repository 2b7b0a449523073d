//! What a cell has given: text of a stream, displays, a value, an error. Outputs are text and numbers, never tensors.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value, json};

use crate::base::{figures, table};
use crate::plot::Figure;
use crate::script::Fault;
use crate::session::protocol::{Display, Stream};

/// A figure as its description, from which every picture of it is drawn.
pub const FIGURE: &str = "application/vnd.tensorlab.figure+json";
/// A table: `{"header": […], "rows": [[…], …]}` of texts.
pub const TABLE: &str = "application/vnd.tensorlab.table+json";

/// Fields of the notebook, a cell or an output, by name.
pub(crate) type Fields = Map<String, Value>;

/// One output. Its JSON form is that of nbformat 4.
#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    Stream {
        stream: Stream,
        text: String,
        /// Fields that nbformat does not name.
        extra: Fields,
    },
    /// Something shown on the way, or the value of the last expression where there is an execution count.
    Data { data: Bundle, metadata: Fields, execution_count: Option<u64>, is_result: bool, extra: Fields },
    Error {
        name: String,
        message: String,
        /// Lines of the report.
        traceback: Vec<String>,
        extra: Fields,
    },
    /// An output of a kind that is not known here, kept as it is.
    Other(Fields),
}

/// The same thing in several forms, by mimetype. JSON types hold any value, all others text.
pub(crate) type Bundle = BTreeMap<String, Value>;

impl Output {
    /// What was printed.
    pub fn stream(stream: Stream, text: impl Into<String>) -> Output {
        Output::Stream { stream, text: text.into(), extra: Fields::new() }
    }

    /// The printed form of a cell's last expression.
    pub fn result(text: &str, execution_count: u64) -> Output {
        Output::Data {
            data: Bundle::from([("text/plain".into(), text.into())]),
            metadata: Fields::new(),
            execution_count: Some(execution_count),
            is_result: true,
            extra: Fields::new(),
        }
    }

    /// What was shown: text, a table, a figure.
    pub fn display(content: &Display) -> Output {
        let mut data = Bundle::new();
        match content {
            Display::Text { text } => {
                data.insert("text/plain".into(), text.as_str().into());
            }
            Display::Table { header, rows } => {
                data.insert(
                    "text/plain".into(),
                    table::aligned(header, rows, usize::MAX).lines.join("\n").into(),
                );
                data.insert(TABLE.into(), json!({"header": header, "rows": rows}));
            }
            Display::Figure { figure } => {
                let title = if figure.title.is_empty() { "figure" } else { &figure.title };
                data.insert("text/plain".into(), format!("<{title}>").into());
                // Plain data: it always has a JSON form.
                data.insert(FIGURE.into(), serde_json::to_value(figure).unwrap_or_default());
            }
        }
        let (metadata, extra) = (Fields::new(), Fields::new());
        Output::Data { data, metadata, execution_count: None, is_result: false, extra }
    }

    /// The error with which a cell ended.
    pub fn error(fault: &Fault) -> Output {
        let traceback = fault.report.lines().map(String::from).collect();
        Output::Error {
            name: fault.kind.clone(),
            message: fault.message.clone(),
            traceback,
            extra: Fields::new(),
        }
    }

    /// An error without a place: an interrupt, a limit of time, a session that died.
    pub fn stopped(name: &str, message: &str) -> Output {
        let traceback = vec![format!("{name}: {message}")];
        Output::Error { name: name.into(), message: message.into(), traceback, extra: Fields::new() }
    }

    /// As it was displayed: a figure or a table of this program's, or else its text.
    pub(crate) fn to_display(&self) -> Display {
        if let Some(figure) = self.figure() {
            return Display::Figure { figure: Box::new(figure) };
        }
        match self.table() {
            Some((header, rows)) => Display::Table { header, rows },
            None => Display::Text { text: self.told() },
        }
    }

    /// The figure that this output is, where it is one of this program's.
    pub fn figure(&self) -> Option<Figure> {
        let Output::Data { data, .. } = self else { return None };
        Figure::deserialize(data.get(FIGURE)?).ok()
    }

    /// The table that this output is: its header and its rows.
    pub fn table(&self) -> Option<(Vec<String>, Vec<Vec<String>>)> {
        let Output::Data { data, .. } = self else { return None };
        let table = data.get(TABLE)?;
        let header = Vec::<String>::deserialize(table.get("header")?).ok()?;
        Some((header, Vec::deserialize(table.get("rows")?).ok()?))
    }

    /// The output as text; of an error its report.
    pub fn text(&self) -> String {
        match self {
            Output::Stream { text, .. } => text.clone(),
            Output::Data { data, .. } => data.get("text/plain").and_then(Value::as_str).unwrap_or("").into(),
            Output::Error { traceback, name, message, .. } if traceback.is_empty() => {
                format!("{name}: {message}")
            }
            Output::Error { traceback, .. } => traceback.join("\n"),
            Output::Other(_) => String::new(),
        }
    }

    /// The output as text, and of what has none, such as a picture of another program's, what it is and how large.
    pub(crate) fn told(&self) -> String {
        let Output::Data { data, .. } = self else { return self.text() };
        if data.contains_key("text/plain") {
            return self.text();
        }
        let part = |(kind, value): (&String, &Value)| {
            let bytes = match value.as_str() {
                // Pictures but drawings are coded, three bytes in four letters.
                Some(coded) if kind.starts_with("image/") && !kind.contains("svg") => coded.len() / 4 * 3,
                Some(text) => text.len(),
                None => value.to_string().len(),
            };
            format!("[{kind}, {}]", figures::bytes(bytes as u64))
        };
        data.iter().map(part).collect::<Vec<_>>().join(" ")
    }

    /// Whether this is an error.
    pub fn is_error(&self) -> bool {
        matches!(self, Output::Error { .. })
    }

    /// The name of the error that this is.
    pub(crate) fn error_name(&self) -> Option<&str> {
        match self {
            Output::Error { name, .. } => Some(name),
            _ => None,
        }
    }

    /// As nbformat 4 has it, texts in one piece.
    pub fn to_json(&self) -> Value {
        let mut out = match self {
            Output::Stream { extra, .. } | Output::Data { extra, .. } | Output::Error { extra, .. } => {
                extra.clone()
            }
            Output::Other(fields) => return Value::Object(fields.clone()),
        };
        let mut put = |name: &str, value: Value| out.insert(name.into(), value);
        match self {
            Output::Stream { stream, text, .. } => {
                put("output_type", "stream".into());
                put("name", json!(stream));
                put("text", text.as_str().into());
            }
            Output::Data { data, metadata, execution_count, is_result, .. } => {
                put("output_type", if *is_result { "execute_result" } else { "display_data" }.into());
                put("data", json!(data));
                put("metadata", Value::Object(metadata.clone()));
                if *is_result {
                    put("execution_count", json!(execution_count));
                }
            }
            Output::Error { name, message, traceback, .. } => {
                put("output_type", "error".into());
                put("ename", name.as_str().into());
                put("evalue", message.as_str().into());
                put("traceback", json!(traceback));
            }
            Output::Other(_) => {}
        }
        Value::Object(out)
    }

    /// Reads what [`Output::to_json`] gives and what nbformat 4 allows: texts as lists of lines, too.
    ///
    /// # Errors
    /// Which field is missing or of the wrong type.
    pub(crate) fn from_json(value: Value) -> Result<Output, String> {
        let Value::Object(mut fields) = value else { return Err("an output is no object".into()) };
        let kind = match fields.get("output_type") {
            Some(Value::String(kind)) => kind.clone(),
            _ => return Err("an output has no `output_type`".into()),
        };
        let fields = &mut fields;
        let output = match kind.as_str() {
            "stream" => {
                let stream = match take_text(fields, "name")?.as_str() {
                    "stderr" => Stream::Stderr,
                    "stdout" => Stream::Stdout,
                    _ => return Err("a stream is neither stdout nor stderr".into()),
                };
                let text = take_text(fields, "text")?;
                Output::Stream { stream, text, extra: rest(fields) }
            }
            "execute_result" | "display_data" => Output::Data {
                data: bundle(take_fields(fields, "data")?)?,
                metadata: take_fields(fields, "metadata")?,
                execution_count: fields.remove("execution_count").and_then(|count| count.as_u64()),
                is_result: kind == "execute_result",
                extra: rest(fields),
            },
            "error" => Output::Error {
                name: take_text(fields, "ename")?,
                message: take_text(fields, "evalue")?,
                traceback: traceback(fields.remove("traceback"))?,
                extra: rest(fields),
            },
            _ => Output::Other(std::mem::take(fields)),
        };
        Ok(output)
    }
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Output {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Output, D::Error> {
        Output::from_json(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Appends an output; text of the stream that was written last continues it.
pub fn push(outputs: &mut Vec<Output>, output: Output) {
    if let (
        Some(Output::Stream { stream: last, text, extra }),
        Output::Stream { stream, text: more, extra: new },
    ) = (outputs.last_mut(), &output)
        && last == stream
        && extra.is_empty()
        && new.is_empty()
    {
        text.push_str(more);
        return;
    }
    outputs.push(output);
}

/// Whether the content of a mimetype is JSON and not text.
pub(crate) fn is_json(mimetype: &str) -> bool {
    mimetype == "application/json" || (mimetype.starts_with("application/") && mimetype.ends_with("+json"))
}

/// A text that may be given as a list of lines.
pub(crate) fn text_of(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(lines) => lines.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

fn take_text(fields: &mut Fields, name: &str) -> Result<String, String> {
    let value = fields.remove(name).ok_or_else(|| format!("an output has no `{name}`"))?;
    text_of(value).ok_or_else(|| format!("`{name}` of an output is no text"))
}

/// An object, empty where it is missing.
fn take_fields(fields: &mut Fields, name: &str) -> Result<Fields, String> {
    match fields.remove(name) {
        None => Ok(Fields::new()),
        Some(Value::Object(inner)) => Ok(inner),
        Some(_) => Err(format!("`{name}` of an output is no object")),
    }
}

fn bundle(fields: Fields) -> Result<Bundle, String> {
    let mut bundle = Bundle::new();
    for (mimetype, value) in fields {
        let value = match is_json(&mimetype) {
            true => value,
            false => {
                Value::String(text_of(value).ok_or_else(|| format!("`{mimetype}` of an output is no text"))?)
            }
        };
        bundle.insert(mimetype, value);
    }
    Ok(bundle)
}

fn traceback(value: Option<Value>) -> Result<Vec<String>, String> {
    match value {
        None => Ok(Vec::new()),
        Some(value) => {
            Vec::<String>::deserialize(value).map_err(|_| "`traceback` is no list of texts".into())
        }
    }
}

fn rest(fields: &mut Fields) -> Fields {
    fields.remove("output_type");
    std::mem::take(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_back_with_the_fields_that_are_not_known() {
        for value in [
            json!({"output_type": "stream", "name": "stdout", "text": "a\nb", "x": 1}),
            json!({"output_type": "display_data", "data": {"text/plain": "a", "application/json": [1, "b"]},
                "metadata": {"image/png": {"width": 3}}, "transient": {"display_id": "d"}}),
            json!({"output_type": "execute_result", "data": {}, "metadata": {}, "execution_count": 3}),
            json!({"output_type": "execute_result", "data": {}, "metadata": {}, "execution_count": null}),
            json!({"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["a", "b"], "x": null}),
            json!({"output_type": "update_display_data", "anything": [1]}),
        ] {
            assert_eq!(Output::from_json(value.clone()).unwrap().to_json(), value);
        }
        let lines = json!({"output_type": "stream", "name": "stderr", "text": ["a\n", "b"]});
        assert_eq!(Output::from_json(lines).unwrap(), Output::stream(Stream::Stderr, "a\nb"));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (value, want) in [
            (json!([]), "no object"),
            (json!({"data": {}}), "output_type"),
            (json!({"output_type": "stream", "name": "stdout"}), "`text`"),
            (json!({"output_type": "stream", "name": "out", "text": ""}), "stdout"),
            (json!({"output_type": "display_data", "data": {"text/plain": 1}}), "text/plain"),
            (json!({"output_type": "error", "ename": "e", "evalue": "", "traceback": "x"}), "traceback"),
        ] {
            let error = Output::from_json(value).unwrap_err();
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn what_has_no_text_is_told_by_its_kind_and_size() {
        let shown = |data: Value| {
            let json = json!({"output_type": "display_data", "data": data, "metadata": {}});
            Output::from_json(json).unwrap().told()
        };
        assert_eq!(shown(json!({"image/png": "A".repeat(16384)})), "[image/png, 12.0 KiB]");
        assert_eq!(
            shown(json!({"image/svg+xml": "<svg/>", "text/html": "<b>x</b>"})),
            "[image/svg+xml, 6 B] [text/html, 8 B]"
        );
        assert_eq!(shown(json!({"image/png": "AAAA", "text/plain": "<Figure>"})), "<Figure>");
    }

    #[test]
    fn a_stream_continues_until_something_else_comes() {
        let mut all = Vec::new();
        push(&mut all, Output::stream(Stream::Stdout, "a"));
        push(&mut all, Output::stream(Stream::Stdout, "b\n"));
        push(&mut all, Output::stream(Stream::Stderr, "w\n"));
        push(&mut all, Output::stream(Stream::Stdout, "c"));
        assert_eq!(all.iter().map(Output::text).collect::<Vec<_>>(), ["ab\n", "w\n", "c"]);
    }

    #[test]
    fn figures_and_tables_come_back_as_what_they_were() {
        let figure = Figure { title: "loss".into(), ..Figure::default() };
        let shown = Output::display(&Display::Figure { figure: Box::new(figure.clone()) });
        let back = Output::from_json(shown.to_json()).unwrap();
        assert_eq!((back.figure(), back.text()), (Some(figure), "<loss>".into()));
        let (header, rows) = (vec!["a".to_string(), "b".into()], vec![vec!["long".to_string(), "1".into()]]);
        let shown = Output::display(&Display::Table { header: header.clone(), rows: rows.clone() });
        assert_eq!(shown.text(), "a     b\nlong  1");
        assert_eq!(shown.table(), Some((header, rows)));
    }
}
