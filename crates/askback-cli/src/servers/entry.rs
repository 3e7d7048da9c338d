//! The entry of a server in a client's file, and the same entry started with `askback wrap`.

use std::{convert::Infallible, ffi::OsStr, path::Path};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::environment;

/// The keys of a server entry in a client's files.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EntryShape {
    /// The paths of the objects with servers, from the top of the file. `$PROJECT` is the project folder.
    sections: Vec<Vec<&'static str>>,
    command: &'static str,
    /// The key of the arguments. If it is absent, the command is a list that includes them.
    args: Option<&'static str>,
    env: &'static str,
    /// The key of the transport type, and its value for a server started as a process.
    kind: Option<(&'static str, &'static str)>,
    /// The keys of the URL. The first one present counts.
    url: Vec<&'static str>,
    headers: &'static str,
    /// The key of the name of the variable with a token.
    bearer_variable: Option<&'static str>,
    /// The key of the headers whose values are variable names.
    header_variables: Option<&'static str>,
    /// The key of the list of variables that the client passes to the server.
    passed_variables: Option<&'static str>,
    /// Keys that are only for servers with a URL.
    url_only: Vec<&'static str>,
    /// The types of servers, if other entries are parts of the client.
    types: Vec<&'static str>,
    /// How a variable begins in a text, if not with `${`.
    variable: Option<&'static str>,
    pub timeout: Option<TimeoutMember>,
}

/// The key of the client's timeout for a call.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeoutMember {
    pub member: &'static str,
    pub unit: TimeoutUnit,
    /// The timeout of a wrapped entry in seconds, unless the entry has a longer one. `None` if the client's default is
    /// long enough.
    #[serde(default)]
    pub set: Option<u64>,
    /// The number of seconds after which a call is given back with that timeout. If absent, the client's known timeouts
    /// decide.
    #[serde(default)]
    hold: Option<u64>,
    /// When and how the timeout was tried.
    #[serde(default, rename = "tried")]
    _tried: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum TimeoutUnit {
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "ms")]
    Milliseconds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotWrapped {
    /// It is not an object, or has neither a command nor a URL.
    NoServer,
    /// A key has an invalid value.
    Malformed(&'static str),
}

impl Default for EntryShape {
    fn default() -> Self {
        Self {
            sections: vec![vec!["mcpServers"], vec!["servers"]],
            command: "command",
            args: Some("args"),
            env: "env",
            kind: None,
            url: vec!["url"],
            headers: "headers",
            bearer_variable: None,
            header_variables: None,
            passed_variables: None,
            url_only: Vec::new(),
            types: Vec::new(),
            variable: None,
            timeout: None,
        }
    }
}

impl TimeoutMember {
    /// The timeout in an entry, in seconds.
    pub fn seconds(&self, entry: &Value) -> Option<u64> {
        let set = entry[self.member].as_u64()?;
        Some(match self.unit {
            TimeoutUnit::Seconds => set,
            TimeoutUnit::Milliseconds => set / 1000,
        })
    }

    fn value(&self, seconds: u64) -> Value {
        match self.unit {
            TimeoutUnit::Seconds => seconds,
            TimeoutUnit::Milliseconds => seconds.saturating_mul(1000),
        }
        .into()
    }
}

/// The option of `askback wrap` for the time after which a call is given back.
pub const HOLD: &str = "--hold";

/// The prefix of variables with headers, which `askback wrap` reads.
const HEADER_VARIABLE: &str = "ASKBACK_HEADER_";

impl EntryShape {
    /// Returns the paths of the objects with servers. The first object with a server counts.
    pub fn sections(&self, project: &Path) -> Vec<Vec<String>> {
        let project = project.to_str();
        let sections = self.sections.iter();
        let sections = sections.map(|section| {
            let members = section.iter().map(|member| match *member {
                "$PROJECT" => project.map(str::to_owned),
                member => Some(member.to_owned()),
            });
            members.collect::<Option<Vec<_>>>()
        });
        sections.flatten().collect()
    }

    /// Converts an entry to the keys of `mcp.json`. `None` if the entry is a part of the client and not a server.
    pub(super) fn common(&self, entry: &Value) -> Option<Value> {
        let Value::Object(members) = entry else {
            return Some(entry.clone());
        };
        let mut server = members.clone();
        for value in server.values_mut().filter(|_| self.variable.is_some()) {
            let Ok(()) = each_text(value, &mut |text| {
                *text = match self.variable {
                    Some("$") => braced(text),
                    begin => text.replace(begin.unwrap_or("${"), "${"),
                };
                Ok::<_, Infallible>(())
            });
        }
        let (member, process) = self.kind.unwrap_or(("type", "stdio"));
        if let Some(kind) = server.remove(member) {
            let is_known = kind.as_str().is_some_and(|kind| self.types.contains(&kind));
            if !is_known && !self.types.is_empty() {
                return None;
            }
            let kind = match kind.as_str() {
                Some(kind) if kind == process => "stdio".into(),
                Some("remote") => "http".into(),
                _ => kind,
            };
            server.insert("type".to_owned(), kind);
        }
        if let (None, Some(Value::Array(words))) = (self.args, server.get_mut(self.command))
            && !words.is_empty()
        {
            let program = words.remove(0);
            let args = server.insert(self.command.to_owned(), program);
            server.insert("args".to_owned(), args.unwrap_or_default());
        }
        let urls = self.url.iter().chain(&["httpUrl", "serverUrl"]);
        let urls: Vec<_> = urls.filter_map(|member| server.remove(*member)).collect();
        if let Some(url) = urls.into_iter().next() {
            server.insert("url".to_owned(), url);
        }
        let names = [
            (self.command, "command"),
            (self.env, "env"),
            (self.headers, "headers"),
        ];
        rename(&mut server, &names);
        // A server that is started here has the whole environment.
        if let Some(member) = self.passed_variables {
            server.remove(member);
        }
        let mut add = |header: String, value: String| {
            let headers = server.entry("headers").or_insert_with(|| json!({}));
            if let Value::Object(headers) = headers {
                headers.entry(header).or_insert(value.into());
            }
        };
        if let Some(Value::String(variable)) = self.bearer_variable.map(|member| &entry[member]) {
            add(
                "Authorization".to_owned(),
                format!("Bearer ${{{variable}}}"),
            );
        }
        let variables = self.header_variables.map(|member| &entry[member]);
        for (header, variable) in variables.and_then(Value::as_object).into_iter().flatten() {
            let variable = variable.as_str().unwrap_or_default();
            add(header.clone(), format!("${{{variable}}}"));
        }
        for member in self
            .bearer_variable
            .into_iter()
            .chain(self.header_variables)
        {
            server.remove(member);
        }
        if let Some(Value::Bool(enabled)) = server.remove("enabled") {
            server.entry("disabled").or_insert(json!(!enabled));
        }
        Some(Value::Object(server))
    }

    /// Whether a key has the command or the URL.
    pub fn names_server(&self, member: &str) -> bool {
        member == self.command || self.args == Some(member) || self.url.contains(&member)
    }

    /// Returns the words of the command that starts the server. `None` for a server with a URL.
    pub fn words(&self, entry: &Value) -> Option<Vec<String>> {
        let texts = |list: &Value| {
            let list = list.as_array()?;
            let texts = list.iter().map(|text| text.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<_>>>()
        };
        let words = match (self.args, &entry[self.command]) {
            (Some(args), Value::String(command)) => {
                let args = &entry[args];
                let args = match args.is_null() {
                    true => Vec::new(),
                    false => texts(args)?,
                };
                [vec![command.clone()], args].concat()
            }
            (None, list) => texts(list)?,
            _ => return None,
        };
        words
            .first()
            .is_some_and(|word| !word.is_empty())
            .then_some(words)
    }

    pub fn url<'a>(&self, entry: &'a Value) -> Option<&'a str> {
        self.url.iter().find_map(|member| entry[*member].as_str())
    }

    /// Whether the client ignores the entry.
    pub fn is_disabled(entry: &Value) -> bool {
        entry["disabled"] == true || entry["enabled"] == false
    }

    /// Returns an entry that starts `program wrap` with these options, followed by the server's command or URL.
    pub fn wrap(
        &self,
        name: &str,
        entry: &Value,
        program: &str,
        options: &[String],
    ) -> Result<Value, NotWrapped> {
        let Value::Object(members) = entry else {
            return Err(NotWrapped::NoServer);
        };
        let mut wrapped = members.clone();
        let mut words = [program, "wrap", "--name", name]
            .map(str::to_owned)
            .to_vec();
        words.extend_from_slice(options);
        if let Some(timeout) = &self.timeout {
            if let Some(hold) = timeout
                .hold
                .filter(|_| !options.iter().any(|it| it == HOLD))
            {
                words.extend([HOLD.to_owned(), hold.to_string()]);
            }
            let before = timeout.seconds(entry).unwrap_or_default();
            if let Some(set) = timeout.set.filter(|set| before < *set) {
                wrapped.insert(timeout.member.to_owned(), timeout.value(set));
            }
        }
        let is_started = !entry[self.command].is_null();
        match (is_started, self.url(entry)) {
            (true, _) => {
                let of_server = self
                    .words(entry)
                    .ok_or(NotWrapped::Malformed(self.command))?;
                // A wrapped server does not inherit these variables unless they are named.
                let keys = entry[self.env].as_object().into_iter().flat_map(Map::keys);
                let keys = keys.map(String::as_str);
                let passed = self.passed_variables.map(|member| &entry[member]);
                let passed = passed.and_then(Value::as_array).into_iter().flatten();
                let keys = keys.chain(passed.filter_map(Value::as_str));
                for key in keys.filter(|key| environment::is_model_key(key)) {
                    words.extend(["--env".to_owned(), key.to_owned()]);
                }
                words.push("--".to_owned());
                words.extend(of_server);
            }
            (false, Some(url)) => {
                words.extend(["--url".to_owned(), url.to_owned()]);
                words.extend(self.take_headers(&mut wrapped)?);
                let members = self.url.iter().chain(&self.url_only);
                for member in members.chain([&self.headers]) {
                    wrapped.remove(*member);
                }
                wrapped.remove("type");
                if let Some((member, kind)) = self.kind {
                    wrapped.insert(member.to_owned(), kind.into());
                }
            }
            (false, None) => return Err(NotWrapped::NoServer),
        }
        match self.args {
            Some(args) => {
                let rest = words.split_off(1);
                wrapped.insert(self.command.to_owned(), words.concat().into());
                wrapped.insert(args.to_owned(), rest.into());
            }
            None => drop(wrapped.insert(self.command.to_owned(), words.into())),
        }
        Ok(Value::Object(wrapped))
    }

    /// Moves headers into environment variables, because other users can read a command line. Clients fill variables in
    /// both in the same way.
    fn take_headers(&self, wrapped: &mut Map<String, Value>) -> Result<Vec<String>, NotWrapped> {
        let mut words = Vec::new();
        let mut variables = Vec::new();
        if let Some(headers) = wrapped.remove(self.headers) {
            let Value::Object(headers) = headers else {
                return Err(NotWrapped::Malformed(self.headers));
            };
            for (number, (header, value)) in (1_usize..).zip(headers) {
                let value = value.as_str().ok_or(NotWrapped::Malformed(self.headers))?;
                let variable = format!("{HEADER_VARIABLE}{number}");
                words.extend(["--header-env".to_owned(), variable.clone()]);
                variables.push((variable, format!("{header}: {value}")));
            }
        }
        let mut passed = Vec::new();
        let mut pass = |header: &str, before: &str, variable: &Value| {
            let variable = variable.as_str()?;
            let header = format!("{header}: {before}${{{variable}}}");
            words.extend(["--header".to_owned(), header]);
            passed.push(Value::from(variable));
            Some(())
        };
        if let Some(member) = self.bearer_variable
            && let Some(variable) = wrapped.remove(member)
        {
            pass("Authorization", "Bearer ", &variable).ok_or(NotWrapped::Malformed(member))?;
        }
        if let Some(member) = self.header_variables
            && let Some(headers) = wrapped.remove(member)
        {
            for (header, variable) in headers.as_object().into_iter().flatten() {
                pass(header, "", variable).ok_or(NotWrapped::Malformed(member))?;
            }
        }
        if let (Some(member), false) = (self.passed_variables, passed.is_empty()) {
            wrapped.insert(member.to_owned(), passed.into());
        }
        if !variables.is_empty() {
            let env = wrapped.entry(self.env).or_insert_with(|| json!({}));
            let Value::Object(env) = env else {
                return Err(NotWrapped::Malformed(self.env));
            };
            let variables = variables.into_iter();
            env.extend(variables.map(|(variable, header)| (variable, header.into())));
        }
        Ok(words)
    }

    /// Returns how many times `askback wrap` is in the command of an entry, and the program of the first.
    pub fn wraps(&self, entry: &Value) -> (usize, Option<String>) {
        let words = self.words(entry).unwrap_or_default();
        let starts = words.windows(2).filter(|pair| {
            let program = Path::new(&pair[0]).file_name();
            let is_ours = |name: &OsStr| name.to_string_lossy().starts_with("askback");
            program.is_some_and(is_ours) && pair[1] == "wrap"
        });
        let programs: Vec<_> = starts.map(|pair| pair[0].clone()).collect();
        (programs.len(), programs.into_iter().next())
    }

    /// Returns the number of seconds after which a wrapped entry gives a call back, if the entry sets it.
    pub fn hold(&self, entry: &Value) -> Option<u64> {
        self.option(entry, HOLD)?.parse().ok()
    }

    /// Returns the value of an option of `askback wrap` in the command of a wrapped entry.
    pub fn option(&self, entry: &Value, name: &str) -> Option<String> {
        let words = self.words(entry)?;
        let words = words.split(|word| word == "--").next()?;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.strip_prefix(name) {
                Some("") => return words.next().cloned(),
                Some(rest) if rest.starts_with('=') => return rest.get(1..).map(str::to_owned),
                _ => {}
            }
        }
        None
    }
}

/// Renames keys. An existing key is not replaced.
fn rename(server: &mut Map<String, Value>, names: &[(&str, &str)]) {
    for (from, to) in names {
        if !server.contains_key(*to)
            && let Some(value) = server.remove(*from)
        {
            server.insert((*to).to_owned(), value);
        }
    }
}

/// Writes `$VAR` as `${VAR}`.
fn braced(text: &str) -> String {
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push('$');
        let begins = part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (name, rest) = part.split_at(end.unwrap_or(part.len()));
        match begins {
            true => out.extend(["{", name, "}", rest]),
            false => out.push_str(part),
        }
    }
    out
}

/// Calls a function with each text in a value.
pub(super) fn each_text<E>(
    value: &mut Value,
    each: &mut impl FnMut(&mut String) -> Result<(), E>,
) -> Result<(), E> {
    match value {
        Value::String(text) => each(text),
        Value::Array(values) => values.iter_mut().try_for_each(|it| each_text(it, each)),
        Value::Object(members) => members.values_mut().try_for_each(|it| each_text(it, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}
