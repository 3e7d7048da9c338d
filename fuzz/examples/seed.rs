//! Fills `corpus/` with starting points: the messages and forms that the tests of askback-core
//! already hold. Run it in this directory, before the first `cargo fuzz run`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use askback_core::{
    forms::{Content, FormSchema},
    limits::FormLimits,
    revision::Revision,
};
use serde_json::Value;

fn main() -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = here.join("../crates/askback-core/tests/core/wire/cases");
    let mut files: Vec<PathBuf> = fs::read_dir(cases)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.sort();

    let mut seeds = Seeds(here.join("corpus"));
    for (number, case) in files.iter().flat_map(read).enumerate() {
        let message = &case["message"];
        for revision in 0..Revision::ALL.len() {
            for kind in kinds(&case) {
                let mut seed = vec![revision as u8, kind];
                seed.extend(message.to_string().bytes());
                seeds.write("message", &format!("{number}-{revision}-{kind}"), &seed)?;
            }
        }
        let form = &message["params"]["requestedSchema"];
        if form.is_object() {
            seeds.form(number, &form.to_string())?;
        }
    }
    Ok(())
}

struct Seeds(PathBuf);

impl Seeds {
    fn form(&mut self, number: usize, form: &str) -> io::Result<()> {
        self.write("form_schema", &number.to_string(), form.as_bytes())?;
        let Ok(schema) = FormSchema::parse(form.as_bytes(), &FormLimits::default()) else {
            return Ok(());
        };
        let mut answer = schema.with_defaults(Content::new());
        for field in &schema.fields {
            answer.entry(field.name.clone()).or_insert(Value::from("2"));
        }
        let typed = "2\nyes\na\n".repeat(schema.fields.len());
        let seed = format!("{form}\n{typed}");
        self.write("json_schema_form", &number.to_string(), seed.as_bytes())?;
        let answer = Value::Object(answer);
        let seed = format!("{form}\n{answer}");
        self.write("form_answer", &number.to_string(), seed.as_bytes())?;
        self.write("tool_schema", &number.to_string(), seed.as_bytes())?;
        let rules = format!(
            "answers:\n- accept: {answer}\n- {{when: {{mode: url, host: example.com}}, accept: true}}"
        );
        let seed = format!("{form}\nhttps://example.com/a\n{rules}");
        self.write("answers_file", &number.to_string(), seed.as_bytes())
    }

    fn write(&mut self, target: &str, name: &str, seed: &[u8]) -> io::Result<()> {
        let directory = self.0.join(target);
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(format!("seed-{name}")), seed)
    }
}

fn read(file: &PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file:?}: {error}"))
}

/// The types a result is tried as: all of them, as the case names its method and the target goes
/// by number.
fn kinds(case: &Value) -> std::ops::Range<u8> {
    if case["message"].get("result").is_some() {
        0..17
    } else {
        0..1
    }
}
