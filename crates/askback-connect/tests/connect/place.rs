use std::{sync::Arc, time::Duration};

use askback_connect::vault::{PostgresSettings, PostgresVault, VaultStore};
use askback_oauth::Secret;
use tokio_postgres::{Client, Config, NoTls};

use crate::cluster::{ADMINISTRATOR, Cluster, PASSWORD};

pub(crate) struct Place {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) schema: String,
    pub(crate) admin: Client,
}

impl Place {
    /// Returns `None` without PostgreSQL.
    pub(crate) async fn new() -> Option<Self> {
        let cluster = Cluster::join()?;
        let mut config = Config::new();
        config
            .host_path(&cluster.directory)
            .user("postgres")
            .dbname("postgres");
        let (admin, connection) = config.password(ADMINISTRATOR).connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        let schema = cluster.new_name();
        let create =
            format!("CREATE SCHEMA {schema} AUTHORIZATION vault; SET search_path = {schema}");
        admin.batch_execute(&create).await.unwrap();
        Some(Self {
            cluster,
            schema,
            admin,
        })
    }

    /// The connection string of the vault, without its password.
    pub(crate) fn database(&self) -> String {
        let (directory, schema) = (&self.cluster.directory, &self.schema);
        format!(
            "host={directory} user=vault dbname=postgres application_name={schema} options='-csearch_path={schema}'"
        )
    }

    pub(crate) fn settings(&self) -> PostgresSettings {
        settings(&format!("{} password={PASSWORD}", self.database()))
    }

    pub(crate) async fn store(&self) -> Arc<dyn VaultStore> {
        let vault = PostgresVault::connect(self.settings()).await;
        Arc::new(vault.unwrap())
    }

    pub(crate) async fn cut(&self) -> usize {
        let terminate = "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE application_name = $1";
        self.admin
            .query(terminate, &[&self.schema])
            .await
            .unwrap()
            .len()
    }

    /// Waits until a statement of the vault waits for a lock of the administrator.
    pub(crate) async fn until_one_waits(&self) {
        let waits = "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'";
        let waited = async {
            while self
                .admin
                .query(waits, &[&self.schema])
                .await
                .unwrap()
                .is_empty()
            {
                tokio::task::yield_now().await;
            }
        };
        let most = Duration::from_secs(60);
        tokio::time::timeout(most, waited).await.expect("one waits");
    }
}

pub(crate) fn settings(database: &str) -> PostgresSettings {
    let mut settings = PostgresSettings::new(Secret::new(database));
    // A test machine may be slow.
    settings.wait = Duration::from_secs(60);
    settings
}
