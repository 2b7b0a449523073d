//! Values by their names: a sorted list, for the few dozen names that a program has. What is written for each type of
//! value is a tenth of what a tree takes.

/// Values by their names, in the names' order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NameMap<V>(Vec<(String, V)>);

impl<V> Default for NameMap<V> {
    fn default() -> NameMap<V> {
        NameMap::new()
    }
}

impl<V> NameMap<V> {
    pub(crate) const fn new() -> NameMap<V> {
        NameMap(Vec::new())
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| own.as_str().cmp(name))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        let at = self.place(name).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        let at = self.place(name).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    pub(crate) fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// Gives the value that the name had.
    pub(crate) fn insert(&mut self, name: String, value: V) -> Option<V> {
        match self.place(&name) {
            Ok(at) => self.0.get_mut(at).map(|(_, own)| std::mem::replace(own, value)),
            Err(at) => {
                self.0.insert(at, (name, value));
                None
            }
        }
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<V> {
        let at = self.place(name).ok()?;
        Some(self.0.remove(at).1)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(name, _)| name)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &V)> {
        self.into_iter()
    }

    pub(crate) fn into_keys(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|(name, _)| name)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn retain(&mut self, keeps: impl Fn(&str, &V) -> bool) {
        self.0.retain(|(name, value)| keeps(name, value));
    }

    /// Gives a name that has no value yet this one.
    pub(crate) fn or_insert(&mut self, name: &str, value: V) {
        if let Err(at) = self.place(name) {
            self.0.insert(at, (name.to_owned(), value));
        }
    }
}

impl<'m, V> IntoIterator for &'m NameMap<V> {
    type Item = (&'m String, &'m V);
    type IntoIter = std::iter::Map<std::slice::Iter<'m, (String, V)>, fn(&(String, V)) -> (&String, &V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

impl<V> Extend<(String, V)> for NameMap<V> {
    fn extend<I: IntoIterator<Item = (String, V)>>(&mut self, all: I) {
        for (name, value) in all {
            self.insert(name, value);
        }
    }
}

impl<V> FromIterator<(String, V)> for NameMap<V> {
    fn from_iter<I: IntoIterator<Item = (String, V)>>(all: I) -> NameMap<V> {
        let mut map = NameMap::new();
        map.extend(all);
        map
    }
}

impl<V> IntoIterator for NameMap<V> {
    type Item = (String, V);
    type IntoIter = std::vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
