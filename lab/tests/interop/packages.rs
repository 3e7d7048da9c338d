//! The reference servers on npm, called by the command.

use std::{fs, time::Duration};

use serde_json::{Value, json};

use crate::{
    Result,
    install::Installed,
    place::Place,
    program::{ASKBACK, Program},
};

const LIMIT: Duration = Duration::from_secs(60);

/// A command line for a server, and its expected outcome.
struct Trial {
    title: &'static str,
    words: Vec<String>,
    answers: Value,
    code: i32,
    says: String,
}

/// A reference server: its name, how to start it, and what to test.
pub(crate) struct Package {
    pub(crate) name: &'static str,
    file: &'static str,
    arguments: Vec<String>,
    trials: Vec<Trial>,
}

pub(crate) struct Tried {
    pub(crate) passed: Vec<&'static str>,
    pub(crate) failed: Vec<String>,
}

pub(crate) fn all(place: &Place) -> Vec<Package> {
    vec![everything(), filesystem(place), memory()]
}

fn everything() -> Package {
    let form = json!({"answers": [{"when": {"mode": "form"}, "accept": {
        "name": "Ada", "check": true, "firstLine": "It was a dark and stormy night.",
        "email": "ada@example.com", "homepage": "https://example.com/", "birthdate": "1815-12-10",
        "integer": 42, "number": 3.5, "untitledSingleSelectEnum": "Monica",
        "untitledMultipleSelectEnum": ["Guitar"], "titledSingleSelectEnum": "hero-1",
        "titledMultipleSelectEnum": ["fish-1"], "legacyTitledEnum": "pet-1",
    }}]});
    let sampling = json!({"sampling": [{"reply": "Forty-two."}]});
    Package {
        name: "@modelcontextprotocol/server-everything",
        file: "@modelcontextprotocol/server-everything/dist/index.js",
        arguments: vec!["stdio".into()],
        trials: vec![
            trial("lists", "list --all --json", "trigger-elicitation-request"),
            trial("a tool", "call get-sum a=2 b=3", "5"),
            trial(
                "structured content",
                "call get-structured-content location=Chicago --json",
                "structuredContent",
            ),
            trial("a picture", "call get-tiny-image --json", "image/png"),
            trial("a prompt", "get args-prompt city=Rome", "Rome"),
            trial(
                "progress",
                "call trigger-long-running-operation duration=1 steps=2",
                "completed",
            ),
            trial(
                "a form with every field type",
                "call trigger-elicitation-request",
                "Ada",
            )
            .answered(form),
            trial("a decline", "call trigger-elicitation-request", "decline")
                .answered(json!({"answers": [{"when": {}, "decline": true}]}))
                .ends(3),
            trial(
                "sampling",
                "call trigger-sampling-request prompt=Why?",
                "Forty-two.",
            )
            .answered(sampling),
            trial("roots", "call get-roots-list --roots .", "file://"),
        ],
    }
}

fn filesystem(place: &Place) -> Package {
    let folder = place.path.join("roots");
    let file = folder.join("letter.txt");
    let (folder, file) = (folder.display().to_string(), file.display().to_string());
    let write = [
        "call",
        "write_file",
        &format!("path={file}"),
        "content=Dear Ada",
    ];
    let read = ["call", "read_text_file", &format!("path={file}"), "head:=1"];
    let outside = ["call", "read_text_file", "path=/etc/hostname"];
    let roots = ["--roots".to_owned(), folder.clone()];
    let words = |words: &[&str]| -> Vec<String> {
        let words = words.iter().map(|&word| word.to_owned());
        words.chain(roots.clone()).collect()
    };
    Package {
        name: "@modelcontextprotocol/server-filesystem",
        file: "@modelcontextprotocol/server-filesystem/dist/index.js",
        arguments: vec![folder.clone()],
        trials: vec![
            // The server asks for the client's folders at once.
            trial("lists", "", "list_allowed_directories")
                .with(words(&["list", "--all", "--json"])),
            trial("roots", "call list_allowed_directories", &folder)
                .with(words(&["call", "list_allowed_directories"])),
            trial("a file written", "", "wrote").with(words(&write)),
            trial("a file read", "", "Dear Ada").with(words(&read)),
            trial("a file outside of the roots", "", "denied")
                .with(words(&outside))
                .ends(1),
        ],
    }
}

fn memory() -> Package {
    let entities = r#"entities:=[{"name":"Ada","entityType":"person","observations":["counts"]}]"#;
    let create = [
        "call".to_owned(),
        "create_entities".to_owned(),
        entities.to_owned(),
    ];
    Package {
        name: "@modelcontextprotocol/server-memory",
        file: "@modelcontextprotocol/server-memory/dist/index.js",
        arguments: Vec::new(),
        trials: vec![
            trial("lists", "list --all --json", "read_graph"),
            trial("something remembered", "", "counts").with(create),
            trial(
                "something found",
                "call search_nodes query=Ada --json",
                "counts",
            ),
        ],
    }
}

fn trial(title: &'static str, words: &str, says: &str) -> Trial {
    Trial {
        title,
        words: words.split(' ').map(str::to_owned).collect(),
        answers: json!({}),
        code: 0,
        says: says.to_owned(),
    }
}

impl Trial {
    fn answered(self, answers: Value) -> Self {
        Self { answers, ..self }
    }

    fn ends(self, code: i32) -> Self {
        Self { code, ..self }
    }

    fn with(self, words: impl IntoIterator<Item = String>) -> Self {
        let words = words.into_iter().collect();
        Self { words, ..self }
    }
}

impl Package {
    /// `None` if the package is not installed.
    pub(crate) async fn run(&self, installed: &Installed, place: &Place) -> Result<Option<Tried>> {
        let Some(server) = installed.package(self.file) else {
            return Ok(None);
        };
        let server = server
            .args(&self.arguments)
            .env("MEMORY_FILE_PATH", place.path.join("memory.jsonl"));
        let mut tried = Tried {
            passed: Vec::new(),
            failed: Vec::new(),
        };
        for (at, trial) in self.trials.iter().enumerate() {
            let answers = place.path.join(format!("answers-{at}.json"));
            // Some servers ask for the client's folders unprompted.
            let mut script = trial.answers.clone();
            script["roots"] = json!(["roots"]);
            fs::write(&answers, script.to_string())?;
            let command = Program::new(ASKBACK)
                .args(&trial.words)
                .env("XDG_STATE_HOME", place.path.join("state"));
            // Read-only commands accept no answers.
            let command = match trial.words[0].as_str() {
                "list" => command,
                _ => command.arg("--answers").arg(&answers),
            };
            let ended = server.clone().behind(command.arg("--")).run(LIMIT).await?;
            place.keep(trial.title, &ended)?;
            match ended.code == Some(trial.code) && ended.stdout.contains(&trial.says) {
                true => tried.passed.push(trial.title),
                false => tried.failed.push(format!(
                    "{}: expected exit {} and {:?}: exit {:?}, {:?}: {}",
                    trial.title,
                    trial.code,
                    trial.says,
                    ended.code,
                    ended.stdout,
                    ended.last_words()
                )),
            }
        }
        Ok(Some(tried))
    }
}
