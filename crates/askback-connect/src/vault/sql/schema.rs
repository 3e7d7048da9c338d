use askback_sql::Schema;

pub(super) const SCHEMA: Schema = Schema {
    name: "vault",
    version: 11,
    tables: |dialect| dialect.write(TABLES),
    remedy: "move them away to begin with an empty vault, in which users connect their accounts again",
};

const TABLES: &str = "
    CREATE TABLE askback_vault_keys (
        tenant TEXT NOT NULL,
        number NUMBER NOT NULL,
        id BYTES NOT NULL,
        kek_id TEXT NOT NULL,
        wrapped BYTES NOT NULL,
        made NUMBER NOT NULL,
        PRIMARY KEY (tenant, number),
        UNIQUE (tenant, id)
    )TABLE;
    CREATE INDEX askback_vault_keys_kek ON askback_vault_keys (kek_id);

    CREATE TABLE askback_vault_records (
        tenant TEXT NOT NULL,
        issuer TEXT NOT NULL,
        subject TEXT NOT NULL,
        provider TEXT NOT NULL,
        account TEXT NOT NULL,
        name TEXT NOT NULL,
        version NUMBER NOT NULL,
        state TEXT NOT NULL,
        until NUMBER NOT NULL,
        failures NUMBER NOT NULL,
        scopes TEXT NOT NULL,
        obtained NUMBER NOT NULL,
        expires NUMBER,
        is_api_key NUMBER NOT NULL,
        key_id BYTES NOT NULL,
        access BYTES NOT NULL,
        refresh BYTES,
        proof BYTES NOT NULL,
        lease BYTES,
        lease_until NUMBER,
        PRIMARY KEY (tenant, issuer, subject, provider, account),
        FOREIGN KEY (tenant, key_id) REFERENCES askback_vault_keys (tenant, id)
    )TABLE;
    CREATE INDEX askback_vault_records_key ON askback_vault_records (tenant, key_id);
    CREATE INDEX askback_vault_records_account ON askback_vault_records (provider, account);

    CREATE TABLE askback_vault_revocations (
        id BYTES NOT NULL PRIMARY KEY,
        tenant TEXT NOT NULL,
        issuer TEXT NOT NULL,
        subject TEXT NOT NULL,
        provider TEXT NOT NULL,
        account TEXT NOT NULL,
        name TEXT NOT NULL,
        key_id BYTES NOT NULL,
        access BYTES NOT NULL,
        refresh BYTES,
        expires NUMBER,
        due NUMBER NOT NULL,
        attempts NUMBER NOT NULL,
        is_spared NUMBER NOT NULL DEFAULT 0,
        FOREIGN KEY (tenant, key_id) REFERENCES askback_vault_keys (tenant, id)
    )TABLE;
    CREATE INDEX askback_vault_revocations_due ON askback_vault_revocations (due);
    CREATE INDEX askback_vault_revocations_key ON askback_vault_revocations (tenant, key_id);
    CREATE INDEX askback_vault_revocations_holder ON askback_vault_revocations (tenant, issuer, subject);

    CREATE TABLE askback_vault_audit (
        number COUNTER,
        at NUMBER NOT NULL,
        tenant TEXT NOT NULL,
        issuer TEXT,
        subject TEXT,
        provider TEXT,
        account TEXT,
        client TEXT,
        event TEXT NOT NULL
    )TABLE;
    CREATE INDEX askback_vault_audit_tenant ON askback_vault_audit (tenant, number);
    CREATE INDEX askback_vault_audit_at ON askback_vault_audit (at);
    CREATE INDEX askback_vault_audit_holder
        ON askback_vault_audit (tenant, issuer, subject, event, number);

    CREATE TABLE askback_vault_intents (
        id BYTES NOT NULL PRIMARY KEY,
        tenant TEXT NOT NULL,
        issuer TEXT NOT NULL,
        subject TEXT NOT NULL,
        provider TEXT NOT NULL,
        expires NUMBER NOT NULL,
        busy_until NUMBER NOT NULL,
        version NUMBER NOT NULL,
        is_open NUMBER NOT NULL,
        body BYTES NOT NULL
    )TABLE;
    CREATE INDEX askback_vault_intents_holder ON askback_vault_intents (tenant, issuer, subject);
    CREATE INDEX askback_vault_intents_expires ON askback_vault_intents (expires);

    CREATE TABLE askback_vault_ended_visits (
        id BYTES NOT NULL PRIMARY KEY,
        expires NUMBER NOT NULL
    )TABLE;
    CREATE INDEX askback_vault_ended_visits_expires ON askback_vault_ended_visits (expires);
";

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    /// Without a new version, a database with the old tables fails at its first statement.
    #[test]
    fn changed_tables_have_a_new_version() {
        let digest = Sha256::digest(TABLES);
        let digest = u64::from_be_bytes(*digest.first_chunk().expect("32 bytes"));
        assert!(
            (SCHEMA.version, digest) == (11, 0xf33c_db46_a086_8845),
            "the tables changed: raise `version`, and write it and {digest:#018x} here",
        );
    }
}
