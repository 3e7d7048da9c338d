mod answers;
mod discovery;
mod fetching;
mod issuer;
mod tokens;
