//! Things with names, in the order in which their author gave them.

use std::collections::HashMap;

/// Things with names, found by name and listed in order.
pub(super) struct Registry<T> {
    items: Vec<T>,
    by_name: HashMap<String, usize>,
}

impl<T> Registry<T> {
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        self.by_name.get(name).and_then(|at| self.items.get(*at))
    }

    pub(super) fn items(&self) -> &[T] {
        &self.items
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Adds an item; hands it back where its name is taken.
    pub(super) fn add(&mut self, name: String, item: T) -> Result<(), T> {
        if self.by_name.contains_key(&name) {
            return Err(item);
        }
        self.by_name.insert(name, self.items.len());
        self.items.push(item);
        Ok(())
    }
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            by_name: HashMap::new(),
        }
    }
}
