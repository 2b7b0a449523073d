//! Figures, progress and help as a script asks for them.

use super::nn::Lab;

/// A folder of its own, removed afterwards.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new() -> Folder {
        let folder = std::env::temp_dir().join(format!("tensorlab-figures-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn at(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_kind_of_figure_is_saved_as_png_and_svg() {
    let folder = Folder::new();
    let mut lab = Lab::new();
    for (name, code) in [
        (
            "line",
            "plot::line([1, 2.5, 2]); plot::line([0, 2], tensor([1.0, 0.5]), #{label: \"straight\", y_scale: \"log\"})",
        ),
        ("scatter", "plot::scatter(randn(50), randn(50), #{label: \"points\", title: \"cloud\"})"),
        (
            "bar",
            "plot::bar([3, 1, 2], #{labels: [\"a\", \"b\", \"c\"], label: \"one\"}); plot::bar(ones(3), #{label: \"two\"})",
        ),
        (
            "hist",
            "plot::hist(randn(300), #{bins: 20}); plot::hist([1, 2, 3], #{bins: [0, 1.5, 4], weights: [1, 1, 2]})",
        ),
        ("grey", "plot::image(rand([8, 12]), #{range: [0.0, 1.0]})"),
        ("colour", "plot::image(rand([3, 8, 12]))"),
        ("last", "plot::image(rand([8, 12, 3]) * 255)"),
        ("mask", "plot::image(rand([1, 8, 12]).gt(0.5), #{color_map: \"viridis\"})"),
        (
            "heat",
            "plot::heatmap(rand([2, 3]), #{row_labels: [\"x\", \"y\"], column_labels: [\"a\", \"b\", \"c\"], color_map: \"gray\"})",
        ),
        (
            "spans",
            "plot::spans([\"cpu\", \"gpu\"], [0, 1], tensor([1.0, 3.0]), #{texts: [\"load\", \"train\"], label: \"l\"})",
        ),
    ] {
        let (png, svg) = (folder.at(&format!("{name}.png")), folder.at(&format!("{name}.svg")));
        lab.run(&format!("plot::figure(#{{width: 320, height: 200}}); {code}; plot::save(\"{png}\"); plot::save(\"{svg}\");"));
        let pixels = std::fs::read(&png).unwrap();
        assert!(
            pixels.starts_with(b"\x89PNG\r\n\x1a\n") && pixels.len() > 500,
            "{name}: {} bytes",
            pixels.len()
        );
        let drawing = std::fs::read_to_string(&svg).unwrap();
        assert!(drawing.contains("<svg") && drawing.contains("width=\"320\""), "{name}: {drawing}");
    }
}

/// Bars without names of their own stand where those before them do.
#[test]
fn a_second_call_draws_its_bars_beside_those_of_the_first() {
    let folder = Folder::new();
    let mut lab = Lab::new();
    let path = folder.at("bars.svg");
    let bars = |own: &str| {
        format!(
            "plot::figure(); plot::bar([3, 5], #{{labels: [\"cats\", \"dogs\"], label: \"one\"}}); \
             plot::bar([1, 2], #{{{own}label: \"two\"}}); plot::save(\"{path}\");"
        )
    };
    lab.run(&bars(""));
    let beside = std::fs::read_to_string(&path).unwrap();
    lab.run(&bars("labels: [\"cats\", \"dogs\"], "));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), beside);
}

#[test]
fn what_cannot_be_drawn_is_an_error_that_says_what_can() {
    let mut lab = Lab::new();
    for (code, said, hint) in [
        ("plot::line([1, 2], #{bins: 3})", "plot::line() got an unknown option 'bins'", "label"),
        ("plot::hist([1, 2], #{bin: 3})", "plot::hist() got an unknown option 'bin'", "did you mean `bins`?"),
        (
            "plot::figure(#{titel: \"x\"})",
            "plot::figure() got an unknown option 'titel'",
            "did you mean `title`?",
        ),
        ("plot::line([1, 2], #{y_scale: \"logarithmic\"})", "'y_scale' must be \"linear\" or \"log\"", ""),
        (
            "plot::image(rand([2, 3]), #{color_map: \"jet\"})",
            "'color_map' must be \"gray\" or \"viridis\"",
            "",
        ),
        (
            "plot::image(rand([2, 3]), #{range: 3})",
            "'range' must be an array of the lowest and the highest",
            "",
        ),
        (
            "plot::image(rand([4, 5, 6]))",
            "takes a tensor [h, w], [h, w, 3] or [3, h, w], not [4, 5, 6]",
            "batch[0]",
        ),
        ("plot::heatmap(rand(3))", "takes a tensor [rows, columns], not [3]", ""),
        ("plot::hist([1, 2], #{bins: \"many\"})", "'bins' must be a number of bins or an array of edges", ""),
        ("plot::bar([1, 2], #{labels: 3})", "'labels' must be an array of names", ""),
        ("plot::line([1, 2]); plot::image(rand([2, 3]))", "image", "`plot::figure()` begins a new figure"),
        ("plot::scatter([1, 2, 3], [1, 2])", "x has 3 values and y has 2", ""),
        ("plot::line(\"up\")", "numbers are drawn here, not string", ""),
        ("plot::spans(\"r\", [1, 2], [1])", "lengths has 1 values and starts has 2", ""),
        ("plot::spans(3, [1], [1])", "'rows' must be an array of names", ""),
        ("plot::memory(\"cpu\")", "cpu has no caching allocator", "cuda:0"),
        ("plot::timeline(3)", "plot::timeline()", ""),
        ("plot::save(\"figure.jpg\")", "figures are saved as .png or .svg", ""),
    ] {
        lab.run("plot::figure();");
        let (text, got) = lab.error(code);
        assert!(text.contains(said), "{code}: {text}");
        assert!(got.contains(hint), "{code}: {got}");
    }
}

#[test]
fn progress_goes_through_ranges_arrays_and_loaders() {
    let mut lab = Lab::new();
    lab.run("let seen = []; for i in progress(0..3, \"x\") { seen.push(i) } for i in progress(1..=2) { seen.push(i) }");
    lab.run("for s in progress([\"a\", 7], \"list\") { seen.push(s) }");
    assert_eq!(lab.text("seen"), "[0, 1, 2, 1, 2, \"a\", 7]");
    lab.run(
        "let set = data::TensorDataset(arange(10), arange(10) * 2);
         let loader = data::DataLoader(set, #{batch_size: 4}); let total = 0; let count = 0;
         for batch in progress(loader, \"batches\") { total += batch[1].sum().item(); count += 1 }",
    );
    assert_eq!(lab.text("[total, count, progress(loader, \"\").len()]"), "[90, 3, 3]");
}

#[test]
fn help_knows_what_is_no_row_of_a_table() {
    for (name, says) in [
        ("plot::line", "Joins points in order"),
        ("plot::save", ".png or .svg"),
        ("progress", "DataLoader"),
        ("lr_scheduler", "sched.step()"),
        ("OneCycleLR", "max_lr"),
        ("optim::lr_scheduler::StepLR", "step_size"),
        ("state_dict", "Every parameter and buffer"),
        ("nn::module", "self.fc.forward(x)"),
        ("nn::MultiheadAttention", "need_weights"),
    ] {
        let page = tensorlab::script::help::page(name).unwrap_or_else(|| panic!("no help on {name}"));
        assert!(page.contains(says), "{name}: {page}");
    }
}
