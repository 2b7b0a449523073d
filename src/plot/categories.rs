//! The x axis of bars: which category is where.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::plot::bar::Bar;

use super::figure::Series;

/// The categories of all bar series together, in the order in which they first appear.
pub(super) struct Categories<'a> {
    pub names: Vec<Cow<'a, str>>,
    places: HashMap<Cow<'a, str>, usize>,
    groups: usize,
}

/// The part of a category's place that its bars fill.
const BAR_WIDTH: f64 = 0.8;

impl<'a> Categories<'a> {
    /// Nothing where no series has categories.
    pub(super) fn of(series: &'a [Series]) -> Option<Self> {
        let mut all = Self { names: Vec::new(), places: HashMap::new(), groups: 0 };
        for series in series {
            let Series::Bar { labels, values, .. } = series else {
                continue;
            };
            all.groups += 1;
            // Labels that come twice in one series are two bars.
            let mut seen: HashMap<&str, usize> = HashMap::new();
            for index in 0..values.len() {
                let (name, key) = key(labels, index, &mut seen);
                if !all.places.contains_key(&key) {
                    all.places.insert(key, all.names.len());
                    all.names.push(name);
                }
            }
        }
        (all.groups > 0).then_some(all)
    }

    /// The bars of the bar series that is the `group`th of its kind.
    pub(super) fn bars(&self, labels: &'a [String], values: &[f64], group: usize) -> Vec<Bar> {
        let width = BAR_WIDTH / self.groups as f64;
        let mut seen = HashMap::new();
        let places = (0..values.len()).filter_map(|index| {
            let (_, key) = key(labels, index, &mut seen);
            self.places.get(&key).copied()
        });
        places
            .zip(values)
            .map(|(place, &value)| {
                let left = place as f64 - BAR_WIDTH / 2.0 + group as f64 * width;
                Bar { left, right: left + width, value, place }
            })
            .collect()
    }
}

/// The name of the bar at `index`, and the same made unique within its series.
fn key<'a>(
    labels: &'a [String],
    index: usize,
    seen: &mut HashMap<&'a str, usize>,
) -> (Cow<'a, str>, Cow<'a, str>) {
    let Some(label) = labels.get(index) else {
        let number: Cow<'_, str> = Cow::Owned(index.to_string());
        return (number.clone(), number);
    };
    let times = seen.entry(label).or_default();
    *times += 1;
    let name = Cow::Borrowed(&label[..]);
    match *times {
        1 => (name.clone(), name),
        // A character that no cleaned label holds keeps these apart from real labels.
        more => (name, Cow::Owned(format!("{label}\u{0}{more}"))),
    }
}
