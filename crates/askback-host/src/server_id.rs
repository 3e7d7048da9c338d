//! Numbers of servers.

/// The index of a server within a front end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ServerId(pub(crate) usize);

impl ServerId {
    /// The first server.
    pub const FIRST: Self = Self(0);
}

/// One value for each server. There is at least one server.
#[derive(Debug)]
pub(crate) struct PerServer<T> {
    first: T,
    others: Vec<T>,
}

impl<T> PerServer<T> {
    /// Creates the list with the value of the first server.
    pub(crate) fn new(first: T) -> Self {
        Self {
            first,
            others: Vec::new(),
        }
    }

    /// Adds the value of another server and returns the server's number.
    pub(crate) fn add(&mut self, other: T) -> ServerId {
        self.others.push(other);
        ServerId(self.others.len())
    }

    /// The value of a server, whose number came from [`PerServer::add`].
    pub(crate) fn get(&self, server: ServerId) -> &T {
        let others = server.0.checked_sub(1);
        let other = others.and_then(|at| self.others.get(at));
        other.unwrap_or(&self.first)
    }

    pub(crate) fn get_mut(&mut self, server: ServerId) -> &mut T {
        let others = server.0.checked_sub(1);
        match others.and_then(|at| self.others.get_mut(at)) {
            Some(other) => other,
            None => &mut self.first,
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (ServerId, &T)> {
        let all = std::iter::once(&self.first).chain(&self.others);
        all.enumerate().map(|(at, it)| (ServerId(at), it))
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = (ServerId, &mut T)> {
        let all = std::iter::once(&mut self.first).chain(&mut self.others);
        all.enumerate().map(|(at, it)| (ServerId(at), it))
    }
}
