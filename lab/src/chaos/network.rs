//! A network of its own for each process (Linux only, for root). A process reaches the balancer over one bridge and the
//! engines over another, so it can be cut off from the engines alone: its packets vanish, and nothing is refused.

use std::{
    io::{self, Write as _},
    net::{Ipv4Addr, SocketAddr},
    process::{Command, Stdio, id},
};

/// The port of each process, at its own address.
const PORT: u16 = 8000;

pub(super) struct Network {
    /// The beginning of all names.
    name: String,
    count: usize,
}

impl Network {
    /// # Errors
    ///
    /// Unless this is root on Linux with the program `ip`.
    pub(super) fn start(count: usize) -> io::Result<Self> {
        let network = Self {
            name: format!("abk{}", id()),
            count,
        };
        let name = &network.name;
        let mut lines = String::new();
        for side in Side::ALL {
            let (word, host) = (side.word(), side.address(0));
            lines += &format!("link add {name}{word} type bridge\n");
            lines +=
                &format!("addr add {host}/24 dev {name}{word}\nlink set dev {name}{word} up\n");
        }
        for at in 0..count {
            lines += &format!("netns add {name}-{at}\n");
            for side in Side::ALL {
                let word = side.word();
                lines += &format!(
                    "link add {name}{word}{at} master {name}{word} type veth peer name {word} netns {name}-{at}\n\
                     link set dev {name}{word}{at} up\n"
                );
            }
        }
        ip(&[], &lines)?;
        for at in 0..count {
            let mut lines = "link set lo up\n".to_owned();
            for side in Side::ALL {
                let (word, address) = (side.word(), side.address(1 + at));
                lines += &format!("addr add {address}/24 dev {word}\nlink set dev {word} up\n");
            }
            ip(&["-n", &format!("{name}-{at}")], &lines)?;
        }
        Ok(network)
    }

    /// The address at which the processes reach the engines.
    pub(super) fn engines(&self) -> Ipv4Addr {
        Side::Engines.address(0)
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let addresses = (1..=self.count).map(|at| Side::Balancer.address(at));
        addresses.map(|host| (host, PORT).into()).collect()
    }

    /// Returns a command that runs the program of its arguments in a process's network.
    pub(super) fn enter(&self, at: usize) -> tokio::process::Command {
        let mut command = tokio::process::Command::new("ip");
        command.args(["netns", "exec", &format!("{}-{at}", self.name)]);
        command
    }

    pub(super) fn cut(&self, at: usize) -> io::Result<()> {
        self.set(at, "down")
    }

    pub(super) fn heal(&self, at: usize) -> io::Result<()> {
        self.set(at, "up")
    }

    fn set(&self, at: usize, state: &str) -> io::Result<()> {
        let (name, word) = (&self.name, Side::Engines.word());
        ip(&[], &format!("link set dev {name}{word}{at} {state}\n"))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let name = &self.name;
        let mut lines = String::new();
        for at in 0..self.count {
            for side in Side::ALL {
                lines += &format!("link del dev {name}{}{at}\n", side.word());
            }
            lines += &format!("netns del {name}-{at}\n");
        }
        for side in Side::ALL {
            lines += &format!("link del dev {name}{}\n", side.word());
        }
        // After a failed start, some of them do not exist.
        let _ = ip(&["-force"], &lines);
    }
}

#[derive(Clone, Copy)]
enum Side {
    Balancer,
    Engines,
}

impl Side {
    const ALL: [Self; 2] = [Self::Balancer, Self::Engines];

    fn word(self) -> &'static str {
        match self {
            Self::Balancer => "b",
            Self::Engines => "e",
        }
    }

    /// The address of the host (0) or a process, in a subnet that another run does not have.
    fn address(self, number: usize) -> Ipv4Addr {
        let [.., high, low] = id().to_be_bytes();
        let first = match self {
            Self::Balancer => 128,
            Self::Engines => 192,
        };
        let number = u8::try_from(1 + number).unwrap_or(u8::MAX);
        Ipv4Addr::new(10, first + high % 64, low, number)
    }
}

/// Runs lines of `ip`.
fn ip(options: &[&str], lines: &str) -> io::Result<()> {
    let mut command = Command::new("ip");
    command.args(options).args(["-batch", "-"]);
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(lines.as_bytes())?;
    }
    match child.wait()?.success() {
        true => Ok(()),
        false => Err(io::Error::other(
            "no network could be made: this needs root and the program `ip`",
        )),
    }
}
