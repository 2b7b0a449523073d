use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::plot::Figure;
use crate::session::protocol::Display;

const HOSTILE: &str = "<script>alert(1)</script><img src=x onerror=\"a()\">'\"&\u{1b}[31m</pre></style><!--";

fn data(entries: Value) -> Output {
    Output::from_json(json!({"output_type": "display_data", "metadata": {}, "data": entries})).unwrap()
}

/// The tags of a page: everything between `<` and `>`.
fn tags(page: &str) -> Vec<&str> {
    page.split('<').skip(1).map(|piece| piece.split('>').next().unwrap()).collect()
}

/// Tags are those that the exporter writes, attributes are quoted, and no attribute runs anything.
fn assert_tame(page: &str) {
    let known = "html head meta title style body main section div span pre code img table thead tbody tr th td p h1 h2 h3 \
        h4 h5 h6 ul ol li a em strong del sup sub blockquote br hr !DOCTYPE";
    for tag in tags(page) {
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap();
        assert!(known.split_whitespace().any(|k| k == name), "<{tag}>");
        // Outside of quotes there are names of attributes alone.
        let names: String = tag.split('"').step_by(2).collect::<String>().to_ascii_lowercase();
        assert!(!names.contains(" on"), "<{tag}>");
        let target = tag.split("href=\"").nth(1).unwrap_or_default().trim_start().to_ascii_lowercase();
        assert!(!target.starts_with("javascript") && !target.starts_with("data"), "<{tag}>");
        assert!(name != "img" || tag.contains(" src=\"data:image/"), "<{tag}>");
    }
    assert!(!page.contains("http://x") && !page.contains('\u{1b}'), "{page}");
}

#[test]
fn nothing_of_a_hostile_notebook_runs() {
    let mut notebook = Notebook::new([
        Cell::code(format!("{HOSTILE}\n\"{HOSTILE}\" // {HOSTILE}")),
        Cell::markdown(format!(
            "# {HOSTILE}\n\n{HOSTILE}\n\n<div onclick=x>\n\n[a](javascript:alert(1)) [b](JaVaScRiPt:x) [c](data:text/html,x) \
             ![i](http://x/y.png) ![j](attachment:p) ![k](attachment:q)\n\n```rhai\n{HOSTILE}\n```\n\n| {HOSTILE} |\n|-|\n| x |\n"
        )),
        Cell::new(Kind::Raw, HOSTILE),
    ]);
    let png = json!({"image/png": "iVBO\nRw0="});
    notebook.cells[1]
        .extra
        .insert("attachments".into(), json!({"p": png, "q": {"image/png": "\" onload=\"x"}}));
    let figure = Figure { title: HOSTILE.into(), ..Figure::default() };
    let cell = &mut notebook.cells[0];
    cell.metadata.insert("title".into(), HOSTILE.into());
    cell.outputs = vec![
        Output::stream(Stream::Stdout, HOSTILE),
        Output::stream(Stream::Stderr, HOSTILE),
        Output::stopped(HOSTILE, HOSTILE),
        data(json!({"text/html": HOSTILE, "text/plain": HOSTILE})),
        data(json!({"image/png": "\"><script>", "text/plain": HOSTILE})),
        data(json!({"image/svg+xml": "<svg onload='x'><script>x</script></svg>", "text/plain": HOSTILE})),
        data(json!({"application/javascript": "alert(1)"})),
        Output::display(&Display::Figure { figure: Box::new(figure) }),
        Output::display(&Display::Table { header: vec![HOSTILE.into()], rows: vec![vec![HOSTILE.into()]] }),
    ];
    notebook.metadata.insert("title".into(), HOSTILE.into());
    let page = export(&notebook, "t");
    assert_tame(&page);
    assert!(page.contains("Content-Security-Policy") && page.contains("&lt;script&gt;"));
    assert_eq!(page.matches("data:image/svg+xml;base64,").count(), 2);
    assert_eq!(page.matches("data:image/png;base64,iVBORw0=").count(), 1);
    assert!(page.contains("[image: i]") && page.contains("[image: k]"));
}

#[test]
fn a_page_shows_what_the_notebook_holds() {
    let mut notebook = Notebook::new([
        Cell::markdown(
            "# Head\n\n*a* **b** `c` ~~d~~\n\n1. x\n2. y\n\n> q\n\n| h |\n|---|\n| v |\n\n[l](https://e.org/?a=1&b=2)",
        ),
        Cell::code("let x = relu(1.5); // \"note\"\nfor i in 0..3 { }"),
        Cell::code(" \n"),
    ]);
    let steps = Output::stream(Stream::Stdout, "\rstep 0\rstep 1\r\ndone\n");
    notebook.cells[1].outputs = vec![steps, Output::result("tensor([1.5000])", 4)];
    notebook.cells[1].execution_count = Some(4);
    let page = export(&notebook, "name");
    for piece in [
        "<title>name</title>",
        "<h1 id=\"head\">Head</h1>",
        "<em>a</em> <strong>b</strong> <code>c</code> <del>d</del>",
        "<ol start=\"1\">\n<li>x</li>",
        "<thead><tr><th>h</th></tr></thead><tbody>\n<tr><td>v</td></tr>\n</tbody></table>",
        "href=\"https://e.org/?a=1&amp;b=2\"",
        "In [4]",
        "<span class=\"k\">let</span> x = <span class=\"f\">relu</span>(<span class=\"n\">1.5</span>); \
         <span class=\"c\">// &quot;note&quot;</span>",
        "<span class=\"n\">0</span>..<span class=\"n\">3</span>",
        "<div class=\"out stdout\"><pre>step 1\ndone</pre></div>",
        "<div class=\"out result\"><pre>tensor([1.5000])</pre></div>",
    ] {
        assert!(page.contains(piece), "{piece:?} in\n{page}");
    }
    assert_eq!(page.matches("<section").count(), 2, "an empty cell is left out");
}

#[test]
fn a_figure_says_what_it_shows_to_who_can_not_see_it() {
    let line = crate::plot::Series::Line { x: vec![], y: vec![1.0, 1.0 / 3.0], label: "loss".into() };
    let mut notebook = Notebook::new([Cell::code("plot::show()")]);
    notebook.cells[0].outputs = vec![Output::display(&Display::Figure { figure: Box::new(line.into()) })];
    let alt = "alt=\"figure: line loss of 2 values from 0.3333 to 1, beginning at 1 and ending at 0.3333\"";
    assert!(export(&notebook, "n").contains(alt));
}

/// Text without its elements.
fn plain(html: &str) -> String {
    let text: String = html.split('<').map(|p| p.split_once('>').map_or(p, |(_, t)| t)).collect();
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

proptest! {
    #[test]
    fn colours_add_nothing_to_code(code in "[a-z0-9\"'`/*\\\\<>&. \n\u{e4}${}]{0,40}") {
        prop_assert_eq!(plain(&code::highlighted(&code)), code);
    }

    #[test]
    fn every_markdown_gives_tame_elements_that_are_closed(text in "[a-c<>&\"'`*_~#|\\[\\]()!:\\-\n 1.]{0,60}") {
        let html = markdown::render(&text, None);
        assert_tame(&html);
        let void = |tag: &&str| !matches!(*tag, "br" | "hr") && !tag.starts_with("img");
        let (close, open): (Vec<_>, Vec<_>) = tags(&html).into_iter().filter(void).partition(|tag| tag.starts_with('/'));
        prop_assert_eq!(close.len(), open.len(), "{}", html);
    }
}

#[test]
fn a_cell_that_ran_has_its_footer() {
    use crate::base::Device;
    use crate::session::protocol::Usage;
    let mut notebook = Notebook::new([Cell::code("let x = 1;"), Cell::code("x")]);
    let (cpu, gpu) = (Device::Cpu, Device::Cuda(0));
    notebook.cells[0].usage = Some(Usage {
        host_nanos: 1_500_000,
        modelled_nanos: Some(22_000),
        allocated: vec![(gpu, 4 << 20)],
        peaks: vec![(gpu, 8 << 20)],
        copies: vec![(cpu, gpu, 2, 1 << 20), (gpu, cpu, 1, 4)],
    });
    let page = export(&notebook, "n");
    assert_eq!(page.matches("class=\"usage\"").count(), 1, "{page}");
    for piece in [
        "1.50 ms measured",
        "22.0 µs modelled",
        "cuda:0 +4.00 MiB, peak 8.00 MiB",
        "cpu→cuda:0 2 copies, 1.00 MiB",
        "cuda:0→cpu 1 copy, 4 B",
    ] {
        assert!(page.contains(piece), "{piece}: {page}");
    }
    assert_tame(&page);
}

#[test]
fn formulas_are_drawn_and_prices_are_none() {
    let page = export(&Notebook::new([Cell::markdown("The loss $x^2$ costs 3$ or 4$ a day.")]), "n");
    assert!(page.contains("The loss <em>x</em><sup>2</sup> costs 3$ or 4$ a day."), "{page}");
    let hostile = format!("${HOSTILE}$ and $${HOSTILE}$$ and $\\text{{{HOSTILE}}}$");
    assert_tame(&export(&Notebook::new([Cell::markdown(hostile)]), "n"));
}
