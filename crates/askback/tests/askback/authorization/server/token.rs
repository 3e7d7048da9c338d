//! Tokens as an issuer or an attacker makes them.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    hmac,
    rand::SystemRandom,
    rsa::{KeyPair as Rsa, PublicKeyComponents},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
    },
};
use serde_json::{Value, json};

/// A key of 2,048 bits, only for these tests. Made with OpenSSL, because `ring` cannot generate RSA
/// keys.
const RSA_KEY: &[u8] = include_bytes!("rsa.pk8");

pub(super) struct TestKey {
    pub(super) id: &'static str,
    signer: Signer,
}

enum Signer {
    Rsa(Box<Rsa>),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl TestKey {
    pub(super) fn es256(id: &'static str) -> Self {
        let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let made = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let signer = Signer::Ec(EcdsaKeyPair::from_pkcs8(kind, made.as_ref(), &random).unwrap());
        Self { id, signer }
    }

    pub(super) fn rs256(id: &'static str) -> Self {
        let signer = Signer::Rsa(Box::new(Rsa::from_pkcs8(RSA_KEY).unwrap()));
        Self { id, signer }
    }

    pub(super) fn ed25519(id: &'static str) -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let signer = Signer::Ed(Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap());
        Self { id, signer }
    }

    pub(super) fn algorithm(&self) -> &'static str {
        match self.signer {
            Signer::Rsa(_) => "RS256",
            Signer::Ec(_) => "ES256",
            Signer::Ed(_) => "EdDSA",
        }
    }

    pub(super) fn jwk(&self) -> Value {
        match &self.signer {
            Signer::Rsa(key) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(key.public_key());
                let (n, e) = (encode(public.n), encode(public.e));
                json!({"kty": "RSA", "kid": self.id, "use": "sig", "n": n, "e": e})
            }
            Signer::Ec(key) => {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                let (x, y) = (encode(x), encode(y));
                json!({"kty": "EC", "kid": self.id, "crv": "P-256", "x": x, "y": y})
            }
            Signer::Ed(key) => {
                let x = encode(key.public_key());
                json!({"kty": "OKP", "kid": self.id, "crv": "Ed25519", "x": x})
            }
        }
    }

    pub(super) fn token(&self, claims: &Value) -> String {
        self.sign(&self.header(), claims)
    }

    pub(super) fn header(&self) -> Value {
        json!({"typ": "at+jwt", "alg": self.algorithm(), "kid": self.id})
    }

    /// A token with any header, signed by this key.
    pub(super) fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = unsigned(header, claims);
        let bytes = message.as_bytes();
        let random = SystemRandom::new();
        let signature = match &self.signer {
            Signer::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, bytes, &mut signature)
                    .unwrap();
                signature
            }
            Signer::Ec(key) => key.sign(&random, bytes).unwrap().as_ref().to_vec(),
            Signer::Ed(key) => key.sign(bytes).as_ref().to_vec(),
        };
        format!("{message}.{}", encode(signature))
    }
}

pub(super) fn with_secret(header: &Value, claims: &Value, secret: &[u8]) -> String {
    let message = unsigned(header, claims);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let signature = hmac::sign(&key, message.as_bytes());
    format!("{message}.{}", encode(signature))
}

pub(super) fn unsigned(header: &Value, claims: &Value) -> String {
    format!(
        "{}.{}",
        encode(header.to_string()),
        encode(claims.to_string())
    )
}

pub(super) fn jwks<'a>(keys: impl IntoIterator<Item = &'a TestKey>) -> String {
    let keys: Vec<Value> = keys.into_iter().map(TestKey::jwk).collect();
    json!({"keys": keys}).to_string()
}

pub(super) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
