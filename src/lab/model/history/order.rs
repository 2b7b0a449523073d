//! The live tensors in the order in which the table shows them, kept up as they come and go.

use std::collections::BTreeSet;

use crate::base::{DType, Device};
use crate::lab::model::history::records::Live;

/// What the table of live tensors is sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Sort {
    /// By device, those with a name first, then the largest.
    #[default]
    Device,
    /// The largest first.
    Bytes,
    Name,
    /// The largest shape first.
    Shape,
    Dtype,
    /// The youngest first.
    Newest,
}

impl Sort {
    pub(crate) const ALL: [Sort; 6] =
        [Sort::Device, Sort::Bytes, Sort::Name, Sort::Shape, Sort::Dtype, Sort::Newest];

    /// The next one, around.
    pub(crate) fn next(self) -> Sort {
        let at = Sort::ALL.iter().position(|sort| *sort == self).unwrap_or(0);
        Sort::ALL.get((at + 1) % Sort::ALL.len()).copied().unwrap_or_default()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Sort::Device => "device",
            Sort::Bytes => "bytes",
            Sort::Name => "name",
            Sort::Shape => "shape",
            Sort::Dtype => "dtype",
            Sort::Newest => "newest",
        }
    }
}

/// Names a live tensor.
pub(crate) type TensorKey = (Device, u64);

/// Numbers and a text to compare by, then the age and the key.
type Rank = ([u64; 3], String, u64, TensorKey);

#[derive(Debug, Default)]
pub(super) struct Order {
    pub sort: Sort,
    ranks: BTreeSet<Rank>,
}

impl Order {
    pub(super) fn insert(&mut self, live: &Live) {
        self.ranks.insert(rank(self.sort, live));
    }

    pub(super) fn remove(&mut self, live: &Live) {
        self.ranks.remove(&rank(self.sort, live));
    }

    /// Sorts anew.
    pub(super) fn by<'a>(&mut self, sort: Sort, all: impl Iterator<Item = &'a Live>) {
        self.sort = sort;
        self.ranks = all.map(|live| rank(sort, live)).collect();
    }

    /// From the first on.
    pub(super) fn keys(&self) -> impl Iterator<Item = TensorKey> {
        self.ranks.iter().map(|(.., key)| *key)
    }
}

fn rank(sort: Sort, live: &Live) -> Rank {
    let name = || live.name.clone().unwrap_or_default();
    let unnamed = u64::from(live.name.is_none());
    let device = match live.device {
        Device::Cpu => 0,
        Device::Cuda(i) => 1 + u64::from(i),
    };
    let largest = u64::MAX - live.bytes;
    let elements = live.shape.iter().fold(1u64, |n, size| n.saturating_mul(*size as u64));
    let dtype = DType::ALL.iter().position(|dtype| *dtype == live.dtype).unwrap_or(0) as u64;
    let (numbers, text) = match sort {
        Sort::Device => ([device, unnamed, largest], String::new()),
        Sort::Bytes => ([largest, unnamed, device], String::new()),
        Sort::Name => ([unnamed, 0, 0], name()),
        Sort::Shape => ([u64::MAX - elements, unnamed, device], String::new()),
        Sort::Dtype => ([dtype, unnamed, largest], String::new()),
        Sort::Newest => ([u64::MAX - live.seq, 0, 0], String::new()),
    };
    (numbers, text, live.seq, (live.device, live.address))
}
