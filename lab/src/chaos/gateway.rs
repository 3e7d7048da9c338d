//! HAProxy or nginx in front of the processes, with a generated configuration.

use std::{
    env, fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use tokio::{
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    time::sleep,
};

use super::BalancerKind;

/// The time limit for a balancer to start.
const START: Duration = Duration::from_secs(30);

pub(super) struct Gateway {
    pub(super) address: SocketAddr,
    _child: Child,
}

impl Gateway {
    /// Starts a balancer in front of these addresses. Returns `None` if it is not installed.
    pub(super) async fn start(
        kind: BalancerKind,
        folder: &Path,
        backends: &[SocketAddr],
    ) -> io::Result<Option<Self>> {
        let Some(program) = find(&kind.to_string()) else {
            return Ok(None);
        };
        let address = {
            let free = TcpListener::bind("127.0.0.1:0").await?;
            free.local_addr()?
        };
        let folder = fs::canonicalize(folder)?;
        let file = folder.join("balancer.conf");
        let mut command = Command::new(program);
        let text = match kind {
            BalancerKind::Nginx => {
                command.arg("-p").arg(&folder).arg("-c").arg(&file);
                nginx(address, backends)
            }
            BalancerKind::Haproxy | BalancerKind::Own => {
                command.arg("-db").arg("-f").arg(&file);
                haproxy(address, backends)
            }
        };
        fs::write(&file, text)?;
        let log = fs::File::create(folder.join("balancer.log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?);
        let child = command.stderr(log).kill_on_drop(true).spawn()?;
        let begun = Instant::now();
        while TcpStream::connect(address).await.is_err() {
            if begun.elapsed() > START {
                let why = format!("{kind} does not start: see {}", folder.display());
                return Err(io::Error::other(why));
            }
            sleep(Duration::from_millis(10)).await;
        }
        Ok(Some(Self {
            address,
            _child: child,
        }))
    }
}

fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    // Debian puts them into the folder of the administrator's programs.
    let mut places = env::split_paths(&path).chain(["/usr/sbin".into()]);
    places.find_map(|place| Some(place.join(program)).filter(|file| file.exists()))
}

/// The configuration in `docs/guide/fleet.md`.
fn haproxy(address: SocketAddr, backends: &[SocketAddr]) -> String {
    let servers = backends.iter().enumerate();
    let servers: String = servers
        .map(|(number, backend)| format!("    server node{number} {backend}\n"))
        .collect();
    format!(
        "defaults
    mode http
    timeout connect 1s
    timeout client 1m
    timeout server 1m
    option redispatch 1
    option abortonclose
    option http-no-delay
    retries 5
    retry-on conn-failure 503
frontend mcp
    bind {address}
    default_backend travel
backend travel
    balance roundrobin
{servers}"
    )
}

fn nginx(address: SocketAddr, backends: &[SocketAddr]) -> String {
    let servers = backends.iter();
    let servers: String = servers
        .map(|backend| format!("        server {backend} max_fails=0;\n"))
        .collect();
    // The default user of its workers may not be able to use the folder.
    let user = if is_root() { "user root;\n" } else { "" };
    let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let folders: String = folders
        .iter()
        .map(|name| format!("    {name}_temp_path {name};\n"))
        .collect();
    format!(
        "{user}daemon off;
worker_processes 1;
pid nginx.pid;
error_log stderr;
events {{ worker_connections 1024; }}
http {{
    access_log off;
{folders}    upstream travel {{
{servers}    }}
    server {{
        listen {address};
        location / {{
            proxy_pass http://travel;
            proxy_http_version 1.1;
            proxy_set_header Connection close;
            proxy_set_header Host $http_host;
            proxy_buffering off;
            proxy_connect_timeout 1s;
            proxy_read_timeout 1m;
        }}
    }}
}}
"
    )
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let user = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    user.and_then(|ids| ids.split_whitespace().next()) == Some("0")
}
