use std::{fmt::Display, fs, path::PathBuf, sync::Arc, time::Duration};

use askback_core::secret::Secret;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, pem::PemObject},
};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres::{
    Config,
    config::{Host, SslMode},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::SqlError;

/// The settings of a PostgreSQL connection.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PostgresSettings {
    /// The connection string, as `postgresql://USER:PASSWORD@HOST/DATABASE` or `host=… user=… password=… dbname=…`.
    pub database: Secret,
    /// The maximum number of connections of this process. The default is 8.
    pub connections: usize,
    /// How long a call waits for a connection, and then for its result. The default is 10 seconds.
    pub wait: Duration,
    /// A file with the certificates (PEM) of the authorities that are trusted for the database. By default, the
    /// system's authorities are trusted.
    pub authorities: Option<PathBuf>,
}

const NAME: &str = "askback";

impl PostgresSettings {
    /// Creates the default settings for a connection string.
    #[must_use]
    pub fn new(database: Secret) -> Self {
        Self {
            database,
            connections: 8,
            wait: Duration::from_secs(10),
            authorities: None,
        }
    }

    pub(super) fn config(&self) -> Result<Config, SqlError> {
        // The parser's error may contain a part of the password.
        let parsed = self.database.expose().parse::<Config>();
        let mut config = parsed.map_err(|_| unreadable())?;
        if has_stray_password(&config) {
            return Err(unreadable());
        }
        let is_near = is_on_this_machine(&config);
        match config.get_ssl_mode() {
            _ if is_near => config.ssl_mode(SslMode::Disable),
            SslMode::Disable => &mut config,
            _ => config.ssl_mode(SslMode::Require),
        };
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(self.wait);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(self.wait);
        }
        if config.get_application_name().is_none() {
            config.application_name(NAME);
        }
        Ok(config)
    }

    /// Configures TLS with the provider that the program has installed, or else ring.
    pub(super) fn tls(&self) -> Result<MakeRustlsConnect, SqlError> {
        let chosen = CryptoProvider::get_default().cloned();
        let provider = chosen.unwrap_or_else(|| Arc::new(ring::default_provider()));
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(SqlError::new)?;
        let tls = match self.authorities()? {
            Some(roots) => tls.with_root_certificates(roots),
            None => tls.with_platform_verifier().map_err(SqlError::new)?,
        };
        Ok(MakeRustlsConnect::new(tls.with_no_client_auth()))
    }

    fn authorities(&self) -> Result<Option<RootCertStore>, SqlError> {
        let Some(path) = &self.authorities else {
            return Ok(None);
        };
        let unusable = |why: &dyn Display| {
            let path = path.display();
            SqlError::new(format!(
                "the file of authorities {path} cannot be used ({why}): give a PEM file with certificates"
            ))
        };
        let file = fs::read(path).map_err(|error| unusable(&error))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&file) {
            let certificate = certificate.map_err(|error| unusable(&error))?;
            roots.add(certificate).map_err(|error| unusable(&error))?;
        }
        match roots.is_empty() {
            true => Err(unusable(&"it holds no certificate")),
            false => Ok(Some(roots)),
        }
    }
}

/// Whether an `@` in the password was parsed as its end. Then the rest is part of the host name, which errors show.
fn has_stray_password(config: &Config) -> bool {
    let in_host = |host: &Host| matches!(host, Host::Tcp(name) if name.contains('@'));
    let in_name = |name: Option<&str>| name.is_some_and(|name| name.contains('@'));
    config.get_hosts().iter().any(in_host) || in_name(config.get_dbname())
}

fn is_on_this_machine(config: &Config) -> bool {
    let is_socket = |host: &Host| !matches!(host, Host::Tcp(_));
    config.get_hostaddrs().is_empty() && config.get_hosts().iter().all(is_socket)
}

fn unreadable() -> SqlError {
    SqlError::new(
        "the connection string of PostgreSQL cannot be read: write postgresql://USER:PASSWORD@HOST/DATABASE, with \
         special characters of the password percent-encoded, and no other `sslmode` than `require` and `disable`",
    )
}
