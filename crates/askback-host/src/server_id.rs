//! The number of a server.

/// The number of a server, among those before one front end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ServerId(pub(crate) usize);

impl ServerId {
    /// The first server.
    pub const FIRST: Self = Self(0);
}

/// Something of every server, one at least, by its number.
#[derive(Debug)]
pub(crate) struct PerServer<T> {
    first: T,
    others: Vec<T>,
}

impl<T> PerServer<T> {
    /// That of the first server.
    pub(crate) fn new(first: T) -> Self {
        Self {
            first,
            others: Vec::new(),
        }
    }

    /// Adds that of another server. Returns its number.
    pub(crate) fn add(&mut self, other: T) -> ServerId {
        self.others.push(other);
        ServerId(self.others.len())
    }

    /// That of the server of this number. Numbers come from [`PerServer::add`] alone.
    pub(crate) fn get(&self, server: ServerId) -> &T {
        let others = server.0.checked_sub(1);
        let other = others.and_then(|at| self.others.get(at));
        other.unwrap_or(&self.first)
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, server: ServerId) -> &mut T {
        let others = server.0.checked_sub(1);
        match others.and_then(|at| self.others.get_mut(at)) {
            Some(other) => other,
            None => &mut self.first,
        }
    }

    /// That of every server, with its number.
    pub(crate) fn all(&self) -> impl Iterator<Item = (ServerId, &T)> {
        let all = std::iter::once(&self.first).chain(&self.others);
        all.enumerate().map(|(at, it)| (ServerId(at), it))
    }

    /// The same, to be changed.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = (ServerId, &mut T)> {
        let all = std::iter::once(&mut self.first).chain(&mut self.others);
        all.enumerate().map(|(at, it)| (ServerId(at), it))
    }
}
