//! Figures: every output, every kind of series, and figures that mean harm.

use proptest::prelude::*;
use tensorlab::plot::{Bins, Cell, ColorMap, Figure, PlotError, Scale, Series};

const BLUE: [u8; 3] = [0x00, 0x72, 0xb2];
const VERMILLION: [u8; 3] = [0xd5, 0x5e, 0x00];

fn line(y: &[f64], label: &str) -> Series {
    Series::Line { x: Vec::new(), y: y.to_vec(), label: label.to_string() }
}

fn scatter(x: &[f64], y: &[f64]) -> Series {
    Series::Scatter { x: x.to_vec(), y: y.to_vec(), label: "points".to_string() }
}

fn bar(labels: &[&str], values: &[f64], label: &str) -> Series {
    Series::Bar {
        labels: labels.iter().map(|label| label.to_string()).collect(),
        values: values.to_vec(),
        label: label.to_string(),
    }
}

fn hist(values: Vec<f64>, bins: Bins) -> Series {
    Series::Hist { values, weights: Vec::new(), bins, label: String::new() }
}

fn image(height: usize, width: usize, channels: usize, data: Vec<f32>) -> Series {
    Series::Image { height, width, channels, data, color_map: ColorMap::Gray, range: None }
}

fn heatmap(rows: usize, columns: usize, data: Vec<f32>) -> Series {
    Series::Heatmap {
        rows,
        columns,
        data,
        row_labels: Vec::new(),
        column_labels: Vec::new(),
        color_map: ColorMap::Viridis,
        range: None,
    }
}

fn spans(rows: &[&str], starts: &[f64], lengths: &[f64], texts: &[&str], label: &str) -> Series {
    let names = |all: &[&str]| all.iter().map(|name| name.to_string()).collect();
    Series::Spans {
        rows: names(rows),
        starts: starts.to_vec(),
        lengths: lengths.to_vec(),
        texts: names(texts),
        label: label.to_string(),
    }
}

fn losses() -> Figure {
    let train: Vec<f64> = (0..60).map(|i| 2.3 * (-f64::from(i) / 12.0).exp() + 0.1).collect();
    let validation: Vec<f64> =
        (0..60).map(|i| 2.3 * (-f64::from(i) / 15.0).exp() + 0.3 + 0.004 * f64::from(i)).collect();
    Figure {
        title: "Training on digits".to_string(),
        x_label: "step".to_string(),
        y_label: "loss".to_string(),
        series: vec![line(&train, "train"), line(&validation, "validation")],
        ..Figure::default()
    }
}

fn times() -> Figure {
    let names = ["matmul", "softmax", "layer_norm"];
    Figure {
        title: "Time per operation".to_string(),
        y_label: "ms".to_string(),
        series: vec![
            bar(&names, &[12.5, 3.25, 4.0], "float32"),
            bar(&names, &[4.5, 2.0, f64::NAN], "float16"),
        ],
        ..Figure::default()
    }
}

fn bell() -> Figure {
    let values = (0..1000).map(|i| (f64::from(i) / 1000.0 - 0.5).powi(3) * 8.0);
    Figure {
        x_label: "weight".to_string(),
        series: vec![hist(values.collect(), Bins::Count(20))],
        ..Figure::default()
    }
}

fn confusion() -> Figure {
    let mut figure = Figure::from(Series::Heatmap {
        rows: 2,
        columns: 3,
        data: vec![50.0, 2.0, 0.25, 1.0, 47.0, f32::NAN],
        row_labels: vec!["cat".to_string(), "dog".to_string()],
        column_labels: ["cat", "dog", "bird"].map(String::from).to_vec(),
        color_map: ColorMap::Viridis,
        range: None,
    });
    figure.title = "Confusion".to_string();
    figure.x_label = "predicted".to_string();
    figure
}

fn ring() -> Figure {
    let pixel = |i: usize| {
        let (x, y) = ((i % 8) as f32 - 3.5, (i / 8) as f32 - 3.5);
        (4.0 - (x.hypot(y) - 2.5).abs() * 2.0).max(0.0)
    };
    Figure::from(image(8, 8, 1, (0..64).map(pixel).collect()))
}

fn has_color(rgb: &[u8], color: [u8; 3]) -> usize {
    rgb.chunks(3).filter(|pixel| **pixel == color).count()
}

#[test]
fn png_decodes_to_the_pixels_of_the_figure() {
    for (width, height) in [(800, 500), (333, 217), (1, 1), (2000, 1300)] {
        let figure = Figure { width, height, ..losses() };
        let bytes = figure.to_png().unwrap();
        let mut reader = png::Decoder::new(&bytes[..]).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (width, height));
        assert_eq!(info.color_type, png::ColorType::Rgb);
        assert_eq!(pixels, figure.to_rgb(width, height).unwrap());
    }
}

#[test]
fn pixels_show_each_series_in_its_colour() {
    let rgb = losses().to_rgb(800, 500).unwrap();
    assert!(has_color(&rgb, BLUE) > 300);
    assert!(has_color(&rgb, VERMILLION) > 300);
    assert!(has_color(&rgb, [0xff; 3]) > 300_000, "the background is white");
    let bars = times().to_rgb(800, 500).unwrap();
    // 12.5 and 4.5 of a little more than 13 units: areas in proportion.
    let (blue, vermillion) = (has_color(&bars, BLUE), has_color(&bars, VERMILLION));
    let ratio = blue as f64 / vermillion as f64;
    assert!((ratio - 19.75 / 6.5).abs() < 0.1, "{blue} to {vermillion}: {ratio}");
}

#[test]
fn a_spike_among_ten_million_points_is_seen() {
    let mut y = vec![0.0; 10_000_000];
    y[7_654_321] = 1.0;
    y[1_234_567] = f64::NAN;
    let figure = Figure::from(line(&y, ""));
    let (width, height) = (400, 250);
    let rgb = figure.to_rgb(width, height).unwrap();
    let upper = &rgb[..3 * width as usize * (height as usize / 3)];
    let blue = upper.chunks(3).filter(|pixel| pixel[2] > pixel[0].saturating_add(60));
    assert!(blue.count() > 30, "the spike reaches the upper third");
    let text = figure.to_text(60, 12, true);
    assert!(text[1].chars().any(|c| c > '\u{2800}'), "{text:#?}");
    let note = "1 value not drawn: NaN or infinite";
    assert_eq!(text.last().map(String::as_str), Some(note));
    let compact = figure.clone().compact().unwrap();
    assert_eq!(compact.to_text(60, 12, true), text);
    assert!(serde_json::to_string(&compact).unwrap().len() < 200_000);
}

#[test]
fn svg_is_well_formed_and_has_the_words() {
    let mut figure = losses();
    figure.title = "a < b && \"c\" > d\u{0}\u{1b}[31m\u{ffff}".to_string();
    figure.y_scale = Scale::Log;
    let figures = [figure, times(), bell(), confusion(), ring(), Figure::default()];
    for figure in &figures {
        let svg = figure.to_svg().unwrap();
        check_xml(&svg);
        for word in [&figure.x_label, &figure.y_label] {
            assert!(svg.contains(&**word), "{word}");
        }
    }
    let svg = figures[0].to_svg().unwrap();
    assert!(svg.contains("a &lt; b &amp;&amp; &quot;c&quot; &gt; d  [31m"));
    assert!(svg.contains("validation") && svg.contains(">\n0.2</text>"));
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\""));
    let times = figures[1].to_svg().unwrap();
    assert!(times.contains("layer_norm") && times.contains("1 value not drawn: NaN or infinite"));
    assert!(figures[4].to_svg().unwrap().contains("data:image/png;base64,iVBORw0KGgo"));
}

/// Fails unless tags nest, attributes are quoted, and text has no bare or control characters.
fn check_xml(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let legal = |c: char| c == '\n' || (c >= ' ' && c != '\u{fffe}' && c != '\u{ffff}');
    assert!(text.chars().all(legal), "a character that XML has not");
    let mut parts = text.split('<');
    assert_eq!(parts.next(), Some(""), "the document begins with a tag");
    for part in parts {
        let (inside, after) = part.split_once('>').unwrap_or(("", ">"));
        assert!(!after.contains('>'), "a tag is not closed: {part}");
        for entity in after.split('&').skip(1) {
            let name = entity.split_once(';').map(|(name, _)| name);
            assert!(matches!(name, Some("lt" | "gt" | "amp" | "quot" | "apos")), "{part}");
        }
        assert_eq!(inside.matches('"').count() % 2, 0, "{inside}");
        let name = inside.trim_start_matches('/').split([' ', '/']).next().unwrap_or("");
        if inside.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !inside.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
}

#[test]
fn text_charts_read_well() {
    let mut out = String::new();
    for (name, figure) in [
        ("losses", losses()),
        ("bars", times()),
        ("histogram", bell()),
        ("heat map", confusion()),
        ("image", ring()),
        ("empty", Figure::default()),
    ] {
        for (style, unicode) in [("unicode", true), ("ascii", false)] {
            let lines = figure.to_text(64, 16, unicode);
            assert!(lines.iter().all(|line| line.chars().count() <= 64));
            if !unicode {
                assert!(lines.iter().all(|line| line.is_ascii()), "{name}");
            }
            out.push_str(&format!("== {name}, {style}\n{}\n\n", lines.join("\n")));
        }
    }
    insta::assert_snapshot!("text_charts", out);
}

#[test]
fn few_points_have_each_a_sign_and_many_are_dots() {
    let count = |figure: &Figure, sign: char| {
        figure.to_text(64, 16, true).iter().flat_map(|line| line.chars()).filter(|c| *c == sign).count()
    };
    // The first of a line as well, whichever line it is, on axes of powers. One more is in the legend.
    let x = [1.0, 10.0, 100.0, 1000.0];
    let named = |y: &[f64], name: &str| Series::Line { x: x.to_vec(), y: y.to_vec(), label: name.into() };
    let mut figure = Figure::from(named(&[1.0, 2.0, 3.0, 4.0], "a"));
    figure.series.push(named(&[5.0, 6.0, 7.0, 8.0], "b"));
    figure.x_scale = Scale::Log;
    assert_eq!((count(&figure, '●'), count(&figure, '▲')), (5, 5));
    let some: Vec<f64> = (0..20).map(f64::from).collect();
    let figure = Figure::from(scatter(&some, &some));
    assert_eq!(count(&figure, '●'), 21);
    let many: Vec<f64> = (0..5_000).map(|i| f64::from(i % 71)).collect();
    let other: Vec<f64> = (0..5_000).map(|i| f64::from(i % 67)).collect();
    assert_eq!(count(&Figure::from(scatter(&many, &other)), '●'), 1);
}

#[test]
fn cells_hold_two_pixels_each() {
    let figure =
        Figure::from(image(2, 2, 3, vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]));
    let cells = figure.to_cells(2, 1);
    let (red, green, blue, white) = ([255, 0, 0], [0, 255, 0], [0, 0, 255], [255; 3]);
    let cell = |fg, bg| Cell { symbol: '▀', fg: Some(fg), bg: Some(bg) };
    assert_eq!(cells, [[cell(red, blue), cell(green, white)]]);
}

#[test]
fn cells_colour_lines_and_numbers() {
    let cells = losses().to_cells(80, 24);
    assert!(cells.len() == 24 && cells.iter().all(|row| row.len() == 80));
    let colored = |color| {
        let all = cells.iter().flatten();
        all.filter(|cell| cell.fg == Some(color)).count()
    };
    assert!(colored(BLUE) > 40 && colored(VERMILLION) > 40);
    let table = confusion().to_cells(40, 8);
    let fifty = table.iter().flatten().find(|cell| cell.symbol == '5');
    let fifty = fifty.expect("the number 50 is in its cell");
    assert_eq!((fifty.fg, fifty.bg), (Some([0; 3]), Some([0xfd, 0xe7, 0x25])));
}

#[test]
fn json_keeps_every_figure_and_every_number() {
    let mut figure = losses();
    figure.x_scale = Scale::Log;
    figure.left_out.outside = 3;
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324];
    figure.series.push(scatter(&odd, &odd));
    figure.series.push(bar(&["a"], &[1.0], "b"));
    figure.series.push(hist(vec![1.5], Bins::Edges(vec![0.0, 0.1, 2.0])));
    figure.series.push(image(1, 1, 1, vec![f32::NAN]));
    figure.series.push(heatmap(1, 2, vec![1e-45, f32::MAX]));
    let json = serde_json::to_string(&figure).unwrap();
    assert!(json.contains("[\"NaN\",\"Infinity\",\"-Infinity\",-0.0,5e-324]"));
    let back: Figure = serde_json::from_str(&json).unwrap();
    // NaN is not equal to itself; its text is.
    assert_eq!(serde_json::to_string(&back).unwrap(), json);
    assert_eq!(format!("{back:?}"), format!("{figure:?}"));
    let sparse: Figure = serde_json::from_str(r#"{"series":[{"line":{"y":[1,null,2]}}]}"#).unwrap();
    assert_eq!((sparse.width, sparse.height), (800, 500));
    assert!(sparse.to_text(40, 10, true).join("\n").contains("1 value not drawn"));
    assert!(serde_json::from_str::<Figure>(r#"{"series":[{"line":{"y":["x"]}}]}"#).is_err());
}

#[test]
fn compact_figures_look_the_same() {
    let noisy = |i: u32| (f64::from(i) / 40_000.0).sin() + f64::from(i * 7919 % 1000) / 2000.0;
    let mut long: Vec<f64> = (0..300_000).map(noisy).collect();
    long[1000..1500].fill(f64::INFINITY);
    let x: Vec<f64> = (0..300_000u32).map(|i| f64::from(i * 31 % 9973)).collect();
    let mut values = long.clone();
    values.truncate(50_000);
    let big: Vec<f32> = (0..1500 * 1500).map(|i| (i % 1500) as f32 + (i / 1500) as f32).collect();
    for (series, limit) in [
        (line(&long, "l"), 300_000),
        (scatter(&x, &long), 20_000_000),
        (hist(values, Bins::Count(30)), 5_000),
        (heatmap(1500, 1500, big), 20_000_000),
    ] {
        let figure = Figure::from(series);
        let compact = figure.clone().compact().unwrap();
        assert!(serde_json::to_string(&compact).unwrap().len() < limit);
        let (before, after) = (figure.to_rgb(640, 400).unwrap(), compact.to_rgb(640, 400).unwrap());
        let changed = before.iter().zip(&after).filter(|(a, b)| a.abs_diff(**b) > 40).count();
        let kind = &format!("{:?}", figure.series[0])[..4];
        assert!(changed * 50 < before.len(), "{kind}: {changed} of {}", before.len());
        let note = |figure: &Figure| figure.to_text(80, 20, true).last().cloned();
        if kind != "Heat" {
            let text = note(&figure).unwrap();
            assert!(text.contains("500 values not drawn"), "{kind}: {text}");
            assert_eq!(note(&compact), note(&figure));
        }
    }
    assert_eq!(losses().compact().unwrap(), losses());
}

#[test]
fn spans_lie_in_their_rows_with_their_texts_and_kinds_keep_their_colours() {
    let figure = Figure {
        x_label: "ms".to_string(),
        series: vec![
            // Rows have their places before a span is in them, a kind its colour without one.
            spans(&["cpu", "bus", "gpu"], &[], &[], &[], ""),
            spans(&[], &[], &[], &[], "wait"),
            spans(&["gpu"], &[2.0, 5.0], &[3.0, 5.0], &["mm", "add"], "kernel"),
            spans(&["bus"], &[0.0], &[2.0], &["copy"], "copy"),
            spans(&["bus"], &[f64::NAN], &[1.0], &[], "copy"),
        ],
        ..Figure::default()
    };
    let drawn = figure.to_text(26, 9, true);
    let want = [
        "▒ kernel   ░ copy",
        "cpu │",
        "bus │░a░░",
        "gpu │    ▒▒mm▒▒▊▒▒▒add▒▒▒▒",
        "    └┬───┬───┬───┬───┬───┬",
        "     0   2   4   6   8  10",
        "              ms",
        // What has no room in its span stands below.
        "a copy",
        "1 value not drawn: NaN or~",
    ];
    assert_eq!(drawn, want);
    let rgb = figure.to_rgb(400, 200).unwrap();
    let has = |color: [u8; 3]| rgb.chunks(3).filter(|pixel| *pixel == color).count() > 500;
    assert!(!has(BLUE) && has(VERMILLION), "no wait is drawn, and kernels have the second colour");
    let many: Vec<f64> = (0..10_000).map(f64::from).collect();
    let small = Figure::from(spans(&["r"], &many, &many, &[], "")).compact().unwrap();
    let Series::Spans { starts, .. } = &small.series[0] else { panic!() };
    assert!(starts.len() == 4096 && starts.contains(&9999.0), "the longest are kept");
    assert_eq!(small.left_out.short, 5904);
}

#[test]
fn mistakes_are_named_with_their_values() {
    let mut two = Figure::from(image(1, 1, 1, vec![0.0]));
    two.series.push(line(&[1.0], ""));
    let mut timed = Figure::from(spans(&["a"], &[1.0], &[1.0], &[], ""));
    timed.series.push(line(&[1.0], ""));
    let cases: [(Figure, &str); 14] = [
        (spans(&["a", "b"], &[1.0], &[1.0], &[], "").into(), "spans: rows has 2 values and starts has 1"),
        (spans(&["a"], &[1.0], &[1.0, 2.0], &[], "").into(), "spans: lengths has 2 values and starts has 1"),
        (timed, "spans and line cannot share one figure"),
        (scatter(&[1.0, 2.0], &[1.0]).into(), "scatter: x has 2 values and y has 1"),
        (bar(&["a"], &[1.0, 2.0], "").into(), "bar: labels has 1 values and values has 2"),
        (hist(vec![1.0], Bins::Count(-4)).into(), "-4 bins"),
        (hist(vec![1.0], Bins::Edges(vec![0.0, 3.0, 2.0])).into(), "edge 1 is 3 and edge 2 is 2"),
        (image(2, 2, 2, vec![0.0; 8]).into(), "2 channels"),
        (image(2, 2, 3, vec![0.0; 11]).into(), "2 x 2 x 3 needs 12 values, 11 were given"),
        (heatmap(usize::MAX, 2, vec![]).into(), "0 were given"),
        (two, "image and line cannot share one figure"),
        (Figure { width: 0, ..losses() }, "0 x 500 pixels"),
        (Figure { width: u32::MAX, height: u32::MAX, ..losses() }, "4294967295 x 4294967295 pixels"),
        (Figure { width: 16_000, height: 16_000, ..losses() }, "16000 x 16000 pixels"),
    ];
    for (figure, part) in cases {
        let text = figure.check().unwrap_err().to_string();
        assert!(text.contains(part), "{text}");
        assert_eq!(figure.to_png().unwrap_err().to_string(), text);
        assert_eq!(figure.to_svg().unwrap_err().to_string(), text);
    }
    let reversed = Figure::from(Series::Heatmap {
        rows: 1,
        columns: 1,
        data: vec![1.0],
        row_labels: Vec::new(),
        column_labels: Vec::new(),
        color_map: ColorMap::Viridis,
        range: Some((2.0, 1.0)),
    });
    assert_eq!(reversed.check(), Err(PlotError::Range { low: 2.0, high: 1.0 }));
    let text = reversed.to_text(30, 5, true).join(" ");
    assert!(text.contains("the colour range 2 .. 1"), "{text}");
}

/// Draws everything and checks the sizes of the results.
fn draw_all(figure: &Figure, (width, height): (u32, u32)) {
    if let Ok(rgb) = figure.to_rgb(width, height) {
        assert_eq!(rgb.len() as u64, u64::from(width) * u64::from(height) * 3);
    }
    if let Ok(svg) = figure.to_svg() {
        check_xml(&svg);
    }
    let (columns, rows) = (width as usize / 8, height as usize / 16);
    for unicode in [true, false] {
        let lines = figure.to_text(columns, rows, unicode);
        assert!(lines.len() <= rows);
    }
    let cells = figure.to_cells(columns, rows);
    assert!(cells.len() <= rows && cells.iter().all(|row| row.len() == columns));
    if let Ok(compact) = figure.clone().compact() {
        // What compacting left out is not counted again.
        let again = compact.clone().compact().map(|again| again.left_out);
        assert_eq!(again, Ok(compact.left_out));
    }
}

#[test]
fn hostile_figures_are_drawn_or_refused() {
    let extremes = [f64::MAX, f64::MIN, 1e308, -1e308, 5e-324, -5e-324, 0.0, f64::NAN, f64::INFINITY];
    let many: Vec<String> = (0..100_000).map(|i| format!("label {i}")).collect();
    let numbers: Vec<f64> = (0..100_000).map(|i| f64::from(i % 17) - 8.0).collect();
    let all: Vec<Series> = vec![
        line(&[], ""),
        line(&[f64::NAN; 5], "nan"),
        line(&[3.0], "one"),
        line(&extremes, "extremes"),
        line(&[1e308, -1e308], ""),
        line(&[5e-324, 1e-323, 0.0], "subnormal"),
        scatter(&extremes, &extremes),
        bar(&[], &extremes, "extremes"),
        bar(&["", "", "\u{0}", "\u{1F600}"], &[1.0, 2.0, 3.0, f64::NAN], ""),
        Series::Bar { labels: many, values: numbers, label: "x".repeat(100_000) },
        hist(extremes.to_vec(), Bins::Count(100_000)),
        hist(vec![], Bins::Auto),
        hist(extremes.to_vec(), Bins::Auto),
        hist(vec![1.0], Bins::Count(i64::MIN)),
        hist(vec![1.0, 2.0], Bins::Edges(vec![1.0, 1.0, 1.0])),
        image(1, 1, 1, vec![f32::NAN]),
        image(0, 0, 3, vec![]),
        image(0, 7, 1, vec![]),
        image(1, 5000, 1, vec![f32::MAX; 5000]),
        heatmap(5000, 1, vec![-f32::MAX; 5000]),
        heatmap(2, 2, vec![f32::MIN, f32::MAX, 1e-45, f32::INFINITY]),
        spans(
            &["\u{1F600}", "", "\u{0}", "d", "e", "f", "g", "", "h"],
            &extremes,
            &extremes,
            &["損失"; 9],
            "x",
        ),
        spans(&[], &[], &[], &[], ""),
    ];
    for series in &all {
        for scale in [Scale::Linear, Scale::Log] {
            let figure = Figure {
                title: "t\u{202e}\n".repeat(1000),
                x_label: "x".repeat(5000),
                x_scale: scale,
                y_scale: scale,
                series: vec![series.clone()],
                width: 300,
                height: 200,
                ..Figure::default()
            };
            for size in [(300, 200), (1, 1), (7, 900), (900, 7)] {
                draw_all(&figure, size);
            }
        }
    }
    let is_chart = |series: &Series| {
        !matches!(series, Series::Image { .. } | Series::Heatmap { .. } | Series::Spans { .. })
    };
    let charts = all.into_iter().filter(is_chart);
    let together = Figure {
        series: charts.filter(|series| Figure::from(series.clone()).check().is_ok()).collect(),
        ..Figure::default()
    };
    draw_all(&together, (640, 400));
    assert!(together.to_rgb(0, 5).is_err() && together.to_rgb(5, 0).is_err());
    assert!(together.to_text(0, 0, true).is_empty());
    assert_eq!(together.to_cells(0, 2), [vec![], vec![]]);
    let wide = together.to_text(usize::MAX, usize::MAX, false);
    assert!(wide.len() <= 1000);
}

#[test]
fn a_large_picture_is_drawn_whole() {
    let side = 4096;
    let data = (0..side * side).map(|i| ((i / side + i % side) % 2) as f32);
    let figure = Figure::from(image(side, side, 1, data.collect()));
    let rgb = figure.to_rgb(300, 300).unwrap();
    let middle = &rgb[3 * (150 * 300 + 140)..][..3];
    // A fine chequerboard is an even grey.
    assert!(middle.iter().all(|&v| v.abs_diff(128) <= 2), "{middle:?}");
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -10.0..10.0f64,
        2 => any::<f64>(),
        1 => prop::sample::select(vec![0.0, -0.0, 1.0, f64::NAN, f64::INFINITY, f64::MAX, f64::MIN, 5e-324]),
    ]
}

fn numbers() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(number(), 0..40)
}

fn series() -> impl Strategy<Value = Series> {
    let label = "\\PC{0,12}|.{0,12}";
    prop_oneof![
        (numbers(), numbers(), any::<bool>(), label).prop_map(|(x, y, implicit, label)| {
            let pairs = x.into_iter().zip(y.clone());
            let (x, y) = if implicit { (Vec::new(), y) } else { pairs.unzip() };
            Series::Line { x, y, label }
        }),
        (numbers(), numbers(), label).prop_map(|(x, y, label)| Series::Scatter { x, y, label }),
        (numbers(), prop::collection::vec(label, 0..40), label).prop_map(
            |(mut values, mut labels, label)| {
                values.truncate(labels.len());
                labels.truncate(values.len());
                Series::Bar { labels, values, label }
            }
        ),
        (numbers(), -2..50i64, numbers()).prop_map(|(values, count, mut edges)| {
            edges.sort_by(f64::total_cmp);
            let bins = match count {
                40.. => Bins::Auto,
                30.. => Bins::Edges(edges),
                count => Bins::Count(count),
            };
            hist(values, bins)
        }),
    ]
}

fn picture() -> impl Strategy<Value = Series> {
    let data = prop::collection::vec(number().prop_map(|v| v as f32), 0..60);
    (data, 1..8usize, 0..4usize).prop_map(|(mut data, width, kind)| match kind {
        0 => heatmap(data.len() / width, width, data.split_off(data.len() % width)),
        1 => image(data.len() / width, width, 1, data.split_off(data.len() % width)),
        2 => image(data.len() / width / 3, width, 3, data.split_off(data.len() % (3 * width))),
        _ => image(width, width, width, data),
    })
}

fn figure() -> impl Strategy<Value = Figure> {
    let series = prop_oneof![
        4 => prop::collection::vec(series(), 0..5),
        1 => prop::collection::vec(picture(), 1..2),
    ];
    let scale = || prop::sample::select(vec![Scale::Linear, Scale::Log]);
    (series, scale(), scale(), ".{0,30}", ".{0,30}", 1..500u32, 1..400u32).prop_map(
        |(series, x_scale, y_scale, title, x_label, width, height)| Figure {
            title,
            y_label: x_label.clone(),
            x_label,
            x_scale,
            y_scale,
            width,
            height,
            series,
            ..Figure::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn no_figure_panics(figure in figure()) {
        draw_all(&figure, (figure.width, figure.height));
        let json = serde_json::to_string(&figure).unwrap();
        let back: Figure = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(serde_json::to_string(&back).unwrap(), json);
    }
}
