/// A public-key algorithm (RFC 7518, 3.1; RFC 8037). There is no symmetric one, because a server that can check a token
/// with a shared secret can also forge one, and no `none`, which is not a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::upper_case_acronyms)]
#[non_exhaustive]
pub enum SigningAlgorithm {
    /// RSA with PKCS #1 v1.5 and SHA-256.
    RS256,
    /// RSA with PKCS #1 v1.5 and SHA-384.
    RS384,
    /// RSA with PKCS #1 v1.5 and SHA-512.
    RS512,
    /// RSA with PSS and SHA-256.
    PS256,
    /// RSA with PSS and SHA-384.
    PS384,
    /// RSA with PSS and SHA-512.
    PS512,
    /// ECDSA with P-256 and SHA-256.
    ES256,
    /// ECDSA with P-384 and SHA-384.
    ES384,
    /// EdDSA with Ed25519.
    EdDSA,
}

impl SigningAlgorithm {
    /// All algorithms.
    pub const ALL: [Self; 9] = [
        Self::RS256,
        Self::RS384,
        Self::RS512,
        Self::PS256,
        Self::PS384,
        Self::PS512,
        Self::ES256,
        Self::ES384,
        Self::EdDSA,
    ];

    /// Returns the algorithm's name in tokens.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RS256 => "RS256",
            Self::RS384 => "RS384",
            Self::RS512 => "RS512",
            Self::PS256 => "PS256",
            Self::PS384 => "PS384",
            Self::PS512 => "PS512",
            Self::ES256 => "ES256",
            Self::ES384 => "ES384",
            Self::EdDSA => "EdDSA",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }
}
