//! Numbers of servers.

/// The index of a server within a front end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ServerId(pub(crate) usize);

impl ServerId {
    pub const FIRST: Self = Self(0);
}

/// One value for each server. There is at least one server.
#[derive(Debug)]
pub(crate) struct PerServer<T>(Vec<T>);

impl<T> PerServer<T> {
    pub(crate) fn new(first: T) -> Self {
        Self(vec![first])
    }

    pub(crate) fn add(&mut self, other: T) -> ServerId {
        self.0.push(other);
        ServerId(self.0.len().saturating_sub(1))
    }

    /// The value of a server, or of the first one if the number is unknown.
    pub(crate) fn get(&self, server: ServerId) -> &T {
        self.0.get(server.0).unwrap_or(&self.0[0])
    }

    pub(crate) fn get_mut(&mut self, server: ServerId) -> &mut T {
        let is_known = server.0 < self.0.len();
        &mut self.0[if is_known { server.0 } else { 0 }]
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (ServerId, &T)> {
        let all = self.0.iter().enumerate();
        all.map(|(at, it)| (ServerId(at), it))
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = (ServerId, &mut T)> {
        let all = self.0.iter_mut().enumerate();
        all.map(|(at, it)| (ServerId(at), it))
    }
}
