//! Display names of accounts change and are not unique. The ids stay.

use askback_connect::vault::{Filter, Grant, Holder, Revocation, Vault, VaultError};
use askback_core::auth::Scopes;

use crate::stage::{HOUR, Provider, Stage, ada, person, tokens, wanted};

async fn put(vault: &Vault, id: &str, name: &str, granted: Grant) {
    let granted = granted.name(name);
    vault.put(&ada(), "github", id, granted).await.unwrap();
}

async fn names(vault: &Vault) -> Vec<(String, String)> {
    let accounts = vault.accounts(&ada()).await.unwrap();
    let names = accounts
        .into_iter()
        .map(|it| (it.key.account, it.name.to_string()));
    names.collect()
}

fn named(all: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(id, name): &(&str, &str)| ((*id).to_owned(), (*name).to_owned());
    all.iter().map(owned).collect()
}

#[tokio::test]
async fn an_account_is_found_by_its_id_or_by_a_name_of_its_own() {
    for stage in Stage::all().await {
        let (vault, renewer) = (stage.vault().await, Provider::new(&stage).renewer());
        let all = [
            ("1", "ada", "a"),
            ("2", "bob", ""),
            ("3", "bob", "a"),
            ("4", "1", ""),
        ];
        for (number, (id, name, scopes)) in all.into_iter().enumerate() {
            let granted = tokens(number).scopes(Scopes::parse(scopes).unwrap());
            put(&vault, id, name, granted).await;
        }
        let scopes = || Scopes::parse("a").unwrap();
        for (called, expected) in [
            ("ada", Ok("1")),
            ("2", Ok("2")),
            ("3", Ok("3")),
            // An id takes precedence over a name.
            ("1", Ok("1")),
            ("5", Err(&[][..])),
            // The scopes do not resolve the ambiguity.
            ("bob", Err(&["2", "3"][..])),
        ] {
            for wanted in [wanted(&ada()), wanted(&ada()).scopes(scopes())] {
                let given = vault.get(&wanted.account(called), &renewer).await;
                match (given, expected) {
                    (Ok(given), Ok(id)) => assert_eq!(given.account.account, id, "{called}"),
                    (Err(VaultError::NotConnected), Err([])) => {}
                    (Err(VaultError::NotConnected), Ok("2")) => {}
                    (Err(VaultError::Ambiguous { ids }), Err(several)) => assert_eq!(ids, several),
                    (given, _) => panic!("{called}: {given:?}"),
                }
            }
        }
    }
}

#[tokio::test]
async fn an_account_that_is_renamed_stays_the_same() {
    for stage in Stage::all().await {
        let (vault, provider) = (stage.vault().await, Provider::new(&stage));
        let now = askback_core::clock::Clock::now(&*stage.clock);
        put(&vault, "1", "octocat", tokens(0)).await;
        put(&vault, "1", "octodog", tokens(0).expires(now + HOUR)).await;
        assert_eq!(names(&vault).await, named(&[("1", "octodog")]));
        // A renewal reports no name.
        stage.clock.turn(HOUR);
        let given = vault.get(&wanted(&ada()), &provider.renewer()).await;
        assert_eq!(&*given.unwrap().name, "octodog");
        assert_eq!(provider.requests(), 1);
        // This provider gives no account name either.
        let unnamed = vault.put(&ada(), "github", "2", tokens(1)).await;
        unnamed.unwrap();
        let both = named(&[("1", "octodog"), ("2", "2")]);
        assert_eq!(names(&vault).await, both);
        // A pending revocation is listed with its name.
        vault.disconnect(&ada(), "github", "2").await.unwrap();
        vault.disconnect(&ada(), "github", "1").await.unwrap();
        let mut gone = names(&vault).await;
        gone.sort();
        // The replaced tokens are queued too.
        let all = [&[("1", "octocat")][..], &[("1", "octodog"), ("2", "2")]].concat();
        assert_eq!(gone, named(&all));
    }
}

#[tokio::test]
async fn tokens_are_spared_while_another_user_has_the_account_of_that_id() {
    for (mine, theirs, is_spared) in [
        // The other account had another name when it was connected.
        (("1", "octocat"), ("1", "octodog"), true),
        (("1", "octocat"), ("2", "octocat"), false),
        // A name that is another account's id.
        (("1", "octocat"), ("octocat", "octocat"), false),
    ] {
        for stage in Stage::all().await {
            let (vault, provider) = (stage.vault().await, Provider::new(&stage));
            let bob = person("acme", "bob");
            let granted = tokens(1).name(theirs.1);
            let connected = vault.put(&bob, "github", theirs.0, granted).await;
            connected.unwrap();
            put(&vault, mine.0, mine.1, tokens(0)).await;
            vault.disconnect(&ada(), "github", mine.0).await.unwrap();
            let done = vault.revoke_due(&*provider).await.unwrap();
            assert_eq!(done, usize::from(!is_spared), "{mine:?} {theirs:?}");
        }
    }
}

#[tokio::test]
async fn a_name_that_cannot_be_kept_is_refused() {
    let stage = Stage::in_memory();
    let vault = stage.vault().await;
    for (name, is_kept) in [
        ("a".repeat(1024), true),
        ("a".repeat(1025), false),
        ("a\0".to_owned(), false),
    ] {
        let granted = tokens(0).name(&*name);
        let put = vault.put(&ada(), "github", "1", granted).await;
        assert_eq!(put.is_ok(), is_kept);
    }
    // The tokens are not lost.
    let owed = stage
        .store
        .list::<Revocation>(Filter::of(&Holder::from(&ada())))
        .await;
    assert_eq!(owed.unwrap().len(), 2);
}
