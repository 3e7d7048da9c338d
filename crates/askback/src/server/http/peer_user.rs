//! Finds the user at the other end of a connection within this machine.
//!
//! All users of a machine can connect to a port of a loopback address. Linux lists the sockets of a
//! machine with their users in `/proc/net/tcp` and `tcp6`: a local connection has two rows there,
//! one for each end.

use std::{
    io::{self, BufRead, Read},
    net::{IpAddr, SocketAddr},
};

/// How much of a socket list is read, in bytes: about 400 000 sockets.
#[cfg(target_os = "linux")]
const LIST: u64 = 64 << 20;

/// The maximum length of a row, in bytes. Linux writes 150.
const ROW: usize = 512;

const ROOT: u32 = 0;

/// The user at the other end of a local connection, if the system reports it.
///
/// If your pages are for a single user of the machine, close the connections of other users when
/// you accept them. A service of [`Endpoint::beside`](super::Endpoint::beside) gets the addresses
/// as [`ConnectionEnds`](super::ConnectionEnds).
///
/// ```no_run
/// # use askback::http::PeerUser;
/// # async fn serve(listener: tokio::net::TcpListener) -> std::io::Result<()> {
/// loop {
///     let (stream, remote) = listener.accept().await?;
///     if PeerUser::of(stream.local_addr()?, remote).await == PeerUser::Other {
///         continue;
///     }
///     // Serve the stream.
/// }
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerUser {
    /// The user of this process, or root, which can read everything this process has and may relay
    /// for other users.
    Same,
    /// Another user, or a local connection whose user cannot be determined: the peer closed at
    /// once, or has too many sockets to search.
    Other,
    /// Not known: the system is not Linux, or the connection is from another machine.
    Unknown,
}

impl PeerUser {
    /// Looks up the user at the remote end of an accepted connection.
    pub async fn of(local: SocketAddr, remote: SocketAddr) -> Self {
        #[cfg(target_os = "linux")]
        {
            let looked_up = tokio::task::spawn_blocking(move || looked_up(local, remote));
            looked_up.await.unwrap_or(Self::Unknown)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (local, remote);
            Self::Unknown
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Ends {
    near: Option<u32>,
    far: Option<u32>,
}

impl Ends {
    fn verdict(&self, is_within: bool) -> PeerUser {
        match (self.near, self.far) {
            (Some(near), Some(far)) if near == far || far == ROOT => PeerUser::Same,
            (Some(_), Some(_)) => PeerUser::Other,
            _ if is_within => PeerUser::Other,
            _ => PeerUser::Unknown,
        }
    }

    fn look(
        &mut self,
        list: impl BufRead,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> io::Result<()> {
        let (local, remote) = (plain(local), plain(remote));
        let mut list = list.take(0);
        let mut row = Vec::with_capacity(ROW);
        while self.near.is_none() || self.far.is_none() {
            row.clear();
            list.set_limit(ROW as u64);
            if list.read_until(b'\n', &mut row)? == 0 {
                break;
            }
            let Some((from, to, user)) = std::str::from_utf8(&row).ok().and_then(socket) else {
                continue;
            };
            match (plain(from), plain(to)) {
                ends if ends == (local, remote) => self.near = Some(user),
                ends if ends == (remote, local) => self.far = Some(user),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether both ends are loopback addresses, so that they are in one list of sockets.
fn is_within(local: SocketAddr, remote: SocketAddr) -> bool {
    [local, remote]
        .iter()
        .all(|end| plain(*end).ip().is_loopback())
}

#[cfg(target_os = "linux")]
fn looked_up(local: SocketAddr, remote: SocketAddr) -> PeerUser {
    let mut ends = Ends::default();
    let mut are_listed = false;
    for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let looked = std::fs::File::open(path).and_then(|file| {
            let list = io::BufReader::new(file.take(LIST));
            ends.look(list, local, remote)
        });
        match looked {
            // A machine may have no IPv6, and a process may have no `/proc`.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                are_listed = true;
                tracing::warn!(path, %error, "sockets cannot be listed");
            }
            Ok(()) => are_listed = true,
        }
    }
    ends.verdict(are_listed && is_within(local, remote))
}

/// Parses the two addresses and the user of a row. Returns `None` for the header row, and for a
/// socket that no process holds, because Linux lists it with root's user id.
fn socket(row: &str) -> Option<(SocketAddr, SocketAddr, u32)> {
    let mut columns = row.split_ascii_whitespace();
    let _number = columns.next()?;
    let (from, to) = (address(columns.next()?)?, address(columns.next()?)?);
    // The state, queues, timer and retransmissions come before the user.
    let user = columns.nth(4)?.parse().ok()?;
    let _timeout = columns.next()?;
    let is_held = columns.next()? != "0";
    is_held.then_some((from, to, user))
}

/// Parses an address such as `0100007F:0FA0`: words of four bytes in the machine's byte order, and
/// the port.
fn address(column: &str) -> Option<SocketAddr> {
    let (words, port) = column.split_once(':')?;
    let is_hex = |text: &str| text.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !is_hex(words) || !is_hex(port) || port.len() != 4 {
        return None;
    }
    let mut bytes = Vec::with_capacity(16);
    for word in words.as_bytes().chunks(8) {
        let word = std::str::from_utf8(word).ok()?;
        bytes.extend(u32::from_str_radix(word, 16).ok()?.to_ne_bytes());
    }
    let ip: IpAddr = match words.len() {
        8 => <[u8; 4]>::try_from(bytes).ok()?.into(),
        32 => <[u8; 16]>::try_from(bytes).ok()?.into(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// Converts IPv4-mapped addresses to IPv4, and removes the zone, which is not in the list.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    const TITLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";

    fn written(address: SocketAddr) -> String {
        let bytes = match address.ip() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let mut text = String::new();
        for word in bytes.chunks(4) {
            let word = u32::from_ne_bytes(word.try_into().unwrap());
            write!(text, "{word:08X}").unwrap();
        }
        format!("{text}:{:04X}", address.port())
    }

    fn row(from: SocketAddr, to: SocketAddr, user: u32) -> String {
        let (from, to) = (written(from), written(to));
        format!(
            "   7: {from} {to} 01 00000000:00000000 00:00000000 00000000 {user:5}        0 12345 1 0000000000000000 20 4 0 10 -1"
        )
    }

    #[track_caller]
    fn check(rows: &[String], ends: (&str, &str), expected: PeerUser) {
        let list = format!("{TITLE}\n{}\n", rows.join("\n"));
        let (local, remote) = (ends.0.parse().unwrap(), ends.1.parse().unwrap());
        let mut found = Ends::default();
        found.look(list.as_bytes(), local, remote).unwrap();
        assert_eq!(found.verdict(is_within(local, remote)), expected, "{list}");
    }

    #[test]
    fn the_ends_of_a_connection_are_found_with_their_users() {
        let (server, client) = ("127.0.0.1:4000", "127.0.0.1:51234");
        let other = "127.0.0.1:51235";
        let six = ("[::1]:4000", "[::1]:51234");
        let mapped = ("[::ffff:127.0.0.1]:4000", "[::ffff:127.0.0.1]:51234");
        let of = |from: &str, to: &str, user| row(from.parse().unwrap(), to.parse().unwrap(), user);
        let both = |ends: (&str, &str), [near, far]: [u32; 2]| {
            [of(ends.0, ends.1, near), of(ends.1, ends.0, far)]
        };
        let v4 = (server, client);
        for (rows, ends, expected) in [
            (both(v4, [1000, 1000]), v4, PeerUser::Same),
            (both(v4, [1000, 1001]), v4, PeerUser::Other),
            (both(v4, [0, 65534]), v4, PeerUser::Other),
            (both(v4, [1000, 0]), v4, PeerUser::Same),
            (both(six, [1000, 1000]), six, PeerUser::Same),
            (both(six, [1000, 1001]), six, PeerUser::Other),
            // An IPv6 socket shows the IPv4 address in mapped form.
            (both(mapped, [1000, 1001]), v4, PeerUser::Other),
            (both(v4, [1000, 1001]), mapped, PeerUser::Other),
            // Both ends must be listed if both can be.
            (both(six, [1000, 1000]), v4, PeerUser::Other),
            (
                [of(server, client, 1000), of(other, server, 1000)],
                v4,
                PeerUser::Other,
            ),
            (
                [of(client, server, 1001), of(server, other, 1000)],
                v4,
                PeerUser::Other,
            ),
            // Sockets of another machine are not in this list.
            (
                both(v4, [1000, 1000]),
                ("192.0.2.1:4000", "192.0.2.2:51234"),
                PeerUser::Unknown,
            ),
        ] {
            check(&rows, ends, expected);
        }
        let long = "7".repeat(3 * ROW);
        let [near, far] = both(v4, [1000, 1001]);
        check(&[near, long, String::new(), far], v4, PeerUser::Other);
        check(&[], v4, PeerUser::Other);
        // A closed end is listed with root's user id, without a socket.
        let [near, far] = both(v4, [1000, 0]);
        let closed = far.replace(" 12345 ", " 0 ");
        assert_ne!(closed, far);
        check(&[near, closed], v4, PeerUser::Other);
    }

    #[test]
    fn what_linux_writes_is_read() {
        if cfg!(target_endian = "big") {
            return;
        }
        let row = "   1: 0100007F:0FA0 0100007F:C822 01 00000000:00000000 00:00000000 00000000  1000        0 38457 1 0000 20 4 30 10 -1";
        let (from, to) = ("127.0.0.1:4000", "127.0.0.1:51234");
        let expected = (from.parse().unwrap(), to.parse().unwrap(), 1000);
        assert_eq!(socket(row), Some(expected));
        let six = "00000000000000000000000001000000:0FA0";
        assert_eq!(address(six), Some("[::1]:4000".parse().unwrap()));
        assert_eq!(socket(TITLE), None);
    }

    proptest! {
        #[test]
        fn an_address_is_read_as_it_was_written(ip: IpAddr, port: u16) {
            let given = SocketAddr::new(ip, port);
            prop_assert_eq!(address(&written(given)), Some(given));
        }

        #[test]
        fn a_row_is_found_among_others(
            rows in prop::collection::vec((any::<[IpAddr; 2]>(), any::<[u16; 2]>(), any::<u32>()), 1..20),
            at: prop::sample::Index,
        ) {
            let rows: Vec<_> = rows.into_iter().map(|([from, to], [one, other], user)| {
                (SocketAddr::new(from, one), SocketAddr::new(to, other), user)
            }).collect();
            let (from, to, _) = rows[at.index(rows.len())];
            let list: Vec<_> = rows.iter().map(|it| row(it.0, it.1, it.2)).collect();
            let mut found = Ends::default();
            found.look(list.join("\n").as_bytes(), from, to).unwrap();
            let is_it = |row: &&(SocketAddr, SocketAddr, u32)| {
                (plain(row.0), plain(row.1)) == (plain(from), plain(to))
            };
            let users: Vec<_> = rows.iter().filter(is_it).map(|row| Some(row.2)).collect();
            prop_assert!(users.contains(&found.near), "{:?}", found);
        }

        #[test]
        fn no_list_makes_it_panic(list: Vec<u8>, text in "[ 0-9A-F:\n]{0,600}") {
            let end = "127.0.0.1:4000".parse().unwrap();
            for list in [&*list, text.as_bytes()] {
                Ends::default().look(list, end, end).unwrap();
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_connection_of_this_user_is_known() {
        if !std::path::Path::new("/proc/net/tcp").exists() {
            return;
        }
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = tokio::net::TcpListener::bind(address).await else {
                continue;
            };
            let at = listener.local_addr().unwrap();
            let client = tokio::net::TcpStream::connect(at).await.unwrap();
            let (stream, remote) = listener.accept().await.unwrap();
            let found = PeerUser::of(stream.local_addr().unwrap(), remote).await;
            assert_eq!(found, PeerUser::Same, "{address}");
            drop(client);
        }
    }
}
