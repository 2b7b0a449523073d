//! Characters of a figure that the font of pictures does not have.

use std::collections::BTreeSet;

use super::canvas::has;
use super::{Figure, Series};

impl Figure {
    /// How many characters there are, each counted once, that a picture of pixels shows as boxes.
    pub(crate) fn lacking(&self) -> usize {
        let own = [&self.title, &self.x_label, &self.y_label].into_iter();
        let all: BTreeSet<char> =
            own.chain(self.series.iter().flat_map(texts)).flat_map(|text| text.chars()).collect();
        all.into_iter().filter(|c| !c.is_control() && !c.is_whitespace() && !has(*c)).count()
    }
}

fn texts(series: &Series) -> Vec<&String> {
    match series {
        Series::Line { label, .. } | Series::Scatter { label, .. } | Series::Hist { label, .. } => {
            vec![label]
        }
        Series::Bar { labels, label, .. } => labels.iter().chain([label]).collect(),
        Series::Heatmap { row_labels, column_labels, .. } => row_labels.iter().chain(column_labels).collect(),
        Series::Spans { rows, texts, label, .. } => rows.iter().chain(texts).chain([label]).collect(),
        Series::Image { .. } => Vec::new(),
    }
}
