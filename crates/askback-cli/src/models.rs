//! The model that answers a server's sampling requests.

use std::{env, path::PathBuf};

use askback::Limits;
use askback_host::{
    models::{Key, Model, ModelName, Provider},
    text::given,
    text_file, words,
};

use crate::error::Error;

/// The model, unless the command line names one.
const MODEL: &str = "ASKBACK_MODEL";

const KEY: &str = "ASKBACK_MODEL_KEY";

/// The options of models.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Models, for servers that ask a model")]
pub struct ModelArgs {
    /// Let this model reply after you have seen the request: openai/NAME, anthropic/NAME or
    /// ollama/NAME [default: the variable ASKBACK_MODEL]
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<ModelName>,
    /// The address of the provider, if it is not its own: https, or http on this machine
    #[arg(long, value_name = "URL")]
    model_url: Option<String>,
    /// A file with the key; else the variable ASKBACK_MODEL_KEY or, for the provider's own address
    /// alone, OPENAI_API_KEY or ANTHROPIC_API_KEY
    #[arg(long, value_name = "FILE")]
    model_key_file: Option<PathBuf>,
}

impl ModelArgs {
    /// The model that the command line or the environment names.
    pub fn model(&self, limits: &Limits) -> Result<Option<Box<dyn Model>>, Error> {
        let Some(name) = self.name()? else {
            return match (&self.model_url, &self.model_key_file) {
                (None, None) => Ok(None),
                _ => Err(Error::usage("--model needs the name of a model")),
            };
        };
        let key = self.key(&name)?;
        let provider = Provider::new(&name, self.model_url.as_deref(), key, limits);
        Ok(Some(Box::new(provider.map_err(Error::usage)?)))
    }

    fn name(&self) -> Result<Option<ModelName>, Error> {
        if self.model.is_some() {
            return Ok(self.model.clone());
        }
        let set = env::var(MODEL).ok().filter(|name| !name.is_empty());
        let read = set.map(|name| name.parse()).transpose();
        read.map_err(|why: String| Error::usage(words!("{}: {}", MODEL, given(why))))
    }

    fn key(&self, name: &ModelName) -> Result<Option<Key>, Error> {
        let of_file = self
            .model_key_file
            .as_ref()
            .map(|file| text_file::read_at(file).map_err(|error| Error::unread(file, error)));
        // A key is only sent to the provider that it belongs to.
        let own = name
            .provider
            .variable()
            .filter(|_| self.model_url.is_none());
        let key = match of_file {
            Some(key) => Some(key?),
            None => {
                let mut set = [Some(KEY), own].into_iter().flatten();
                set.find_map(|name| env::var(name).ok().filter(|key| !key.is_empty()))
            }
        };
        match (key, own) {
            (None, Some(variable)) => Err(Error::usage(words!(
                "{} needs a key: set {} or {}, or name a file with --model-key-file",
                given(name).short(),
                KEY,
                variable
            ))),
            (key, _) => key
                .map(|key| Key::new(&key))
                .transpose()
                .map_err(Error::usage),
        }
    }
}
