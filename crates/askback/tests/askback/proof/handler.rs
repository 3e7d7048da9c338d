//! Runs a [`Program`] as a handler that asks its questions.

use std::{future::Future, pin::Pin, sync::Arc, task::Poll, time::Duration};

use askback::{
    Answer, Ctx, Error, Form, PlainJson, Result, Tool,
    protocol::{Schema, TaskSupport},
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    oracle::{Branch, ended, question},
    program::{Body, Kind, Op, Path, Program, TURNS},
};

/// Called when an effect happens.
pub(super) type Effects = Arc<dyn Fn(&Path) + Send + Sync>;

#[derive(Form)]
struct Number {
    /// A digit.
    #[form(min = 0, max = 9)]
    number: u8,
}

#[derive(Form)]
struct Flag {
    /// Yes or no.
    yes: bool,
}

#[derive(Form)]
struct Word {
    /// Something short.
    #[form(max_length = 8)]
    word: String,
}

#[derive(Deserialize)]
struct Arguments {
    program: Program,
}

/// The tool that runs the program in its arguments.
pub(super) fn tool(effects: Effects) -> Tool {
    Tool::new("run", move |ctx: Ctx, arguments: PlainJson<Arguments>| {
        let Program { keyed, body } = arguments.0.program;
        let machine = Machine {
            ctx,
            effects: Arc::clone(&effects),
            keyed,
        };
        async move {
            let mut branch = Running::new();
            machine
                .run(Arc::new(body), Path::root(), &mut branch)
                .await?;
            Ok(Value::from(branch.branch.notes).to_string())
        }
    })
    .input_schema(Schema::default())
    .task(TaskSupport::Optional)
    .durable()
}

/// A running branch.
struct Running {
    branch: Branch,
    draw: u64,
}

impl Running {
    fn new() -> Self {
        Self {
            branch: Branch::new(),
            draw: 0,
        }
    }
}

#[derive(Clone)]
struct Machine {
    ctx: Ctx,
    effects: Effects,
    keyed: bool,
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl Machine {
    fn run<'a>(
        &'a self,
        body: Arc<Body>,
        path: Path,
        to: &'a mut Running,
    ) -> Boxed<'a, Result<()>> {
        Box::pin(async move {
            for (index, op) in body.iter().enumerate() {
                self.step(op, path.at(index), to).await?;
            }
            Ok(())
        })
    }

    async fn step(&self, op: &Op, path: Path, to: &mut Running) -> Result<()> {
        match op {
            Op::Ask { form, key, must } => {
                let said = self.ask(&path, *form, key.clone(), 0, to).await?;
                let note = if *must {
                    said.accepted()?
                } else {
                    said_note(said)
                };
                to.branch.note(note);
            }
            Op::AskWithin { form, seconds } => {
                let asked = self.ask(&path, *form, None, *seconds, to);
                let within = Duration::from_secs(*seconds);
                let note = match self.ctx.timeout(within, asked).await {
                    Ok(said) => said_note(said?),
                    Err(_) => "late".to_owned(),
                };
                to.branch.note(note);
            }
            Op::Race { first, second } => {
                let first = self.ask(&path.at("first"), *first, None, 0, to);
                let second = self.ask(&path.at("second"), *second, None, 0, to);
                let said = race(Box::pin(first), Box::pin(second)).await?;
                to.branch.note(said_note(said));
            }
            Op::AskAll => self.ask_all(&path, to).await?,
            Op::Run { name, millis, ok } => self.run_step(*name, *millis, *ok, &path, to).await,
            Op::RunWithin { name, millis } => {
                let effect = self.effect(*millis, true, &path);
                let step = self.ctx.run(self.name(*name, &path), effect);
                let within = Duration::from_millis(millis / 2);
                let note = match self.ctx.timeout(within, step).await {
                    Ok(_) => "in time",
                    Err(_) => "too slow",
                };
                to.branch.note(note);
            }
            Op::Commit => {
                let effect = self.effect(0, true, &path);
                self.ctx.commit(path.to_string(), effect).await?;
                to.branch.note(format!("committed {path}"));
            }
            Op::Sleep { millis } => self.ctx.sleep(Duration::from_millis(*millis)).await,
            Op::Pause => tokio::time::sleep(Duration::from_millis(5)).await,
            Op::Draw => to.draw = self.ctx.random(),
            Op::Join(branches) => self.join(branches, &path, false, to).await,
            Op::Spawn(branches) => self.join(branches, &path, true, to).await,
            Op::While(body) => {
                let body = Arc::new(body.clone());
                for turn in 0..TURNS {
                    let path = path.at(format_args!("turn{turn}"));
                    if !self.goes_on(&path, to).await? {
                        break;
                    }
                    self.run(Arc::clone(&body), path, to).await?;
                }
            }
            Op::If { yes, no } => {
                let (body, path) = if self.goes_on(&path, to).await? {
                    (yes, path.at("yes"))
                } else {
                    (no, path.at("no"))
                };
                self.run(Arc::new(body.clone()), path, to).await?;
            }
        }
        Ok(())
    }

    /// Asks a form, and returns the note for its answer.
    fn ask(
        &self,
        path: &Path,
        form: Kind,
        key: Option<String>,
        seconds: u64,
        from: &Running,
    ) -> impl Future<Output = Result<Answer<String>>> + Send + use<> {
        let draw = from.draw;
        let message = format!("{}{draw}", question(path, form, seconds, &from.branch.last));
        let key = if self.keyed {
            Some(path.to_string())
        } else {
            key
        };
        let ctx = self.ctx.clone();
        macro_rules! ask {
            ($form:ty, $note:expr) => {{
                let asked = ctx.elicit::<$form>(message);
                let asked = match key {
                    Some(key) => asked.key(key),
                    None => asked,
                };
                asked.await?.map($note)
            }};
        }
        async move {
            Ok(match form {
                Kind::Number => ask!(Number, |form| form.number.to_string()),
                Kind::Flag => ask!(Flag, |form| form.yes.to_string()),
                Kind::Word => ask!(Word, |form| form.word),
            })
        }
    }

    async fn ask_all(&self, path: &Path, to: &mut Running) -> Result<()> {
        macro_rules! ask {
            ($form:ident, $index:expr) => {{
                let path = path.at($index);
                let words = question(&path, Kind::$form, 0, &to.branch.last);
                let asked = self.ctx.elicit::<$form>(format!("{words}{}", to.draw));
                if self.keyed {
                    asked.key(path.to_string())
                } else {
                    asked
                }
            }};
        }
        let questions = (ask!(Word, 0), ask!(Number, 1), ask!(Word, 2));
        let (first, second, third) = self.ctx.elicit_all(questions).await?;
        let said = [
            said_note(first.map(|form| form.word)),
            said_note(second.map(|form| form.number.to_string())),
            said_note(third.map(|form| form.word)),
        ];
        to.branch.note(said.join(" "));
        Ok(())
    }

    async fn run_step(&self, name: u8, millis: u64, ok: bool, path: &Path, to: &mut Running) {
        let effect = self.effect(millis, ok, path);
        let note = match self.ctx.run(self.name(name, path), effect).await {
            Ok(place) => format!("ran {place}"),
            Err(error) => error.to_string(),
        };
        to.branch.note(note);
    }

    fn name(&self, name: u8, path: &Path) -> String {
        if self.keyed {
            path.to_string()
        } else {
            format!("step{name}")
        }
    }

    fn effect(
        &self,
        millis: u64,
        ok: bool,
        path: &Path,
    ) -> impl FnOnce() -> Boxed<'static, Result<String>> + Send + use<> {
        let (effects, path) = (Arc::clone(&self.effects), path.clone());
        move || {
            Box::pin(async move {
                effects(&path);
                if millis > 0 {
                    tokio::time::sleep(Duration::from_millis(millis)).await;
                }
                if ok {
                    Ok(path.to_string())
                } else {
                    Err(Error::new(format!("failed {path}")))
                }
            })
        }
    }

    async fn join(&self, branches: &[Body], path: &Path, spawn: bool, to: &mut Running) {
        let branches = branches.iter().enumerate().map(|(index, body)| {
            let (machine, body, path) = (self.clone(), Arc::new(body.clone()), path.at(index));
            let branch = async move {
                let mut inner = Running::new();
                let result = machine.run(body, path, &mut inner).await;
                ended(inner.branch, result.map_err(|error| error.to_string()))
            };
            if spawn {
                Box::pin(self.ctx.spawn(branch)) as Boxed<'static, Value>
            } else {
                Box::pin(branch)
            }
        });
        let notes = join_all(branches.collect()).await;
        to.branch.notes.extend(notes);
    }

    async fn goes_on(&self, path: &Path, to: &Running) -> Result<bool> {
        let said = self.ask(path, Kind::Flag, None, 0, to).await?;
        Ok(said.ok().is_some_and(|noted| noted == "true"))
    }
}

fn said_note(said: Answer<String>) -> String {
    match said {
        Answer::Accepted(note) => note,
        Answer::Declined { .. } => "no".to_owned(),
        Answer::Cancelled => "neither".to_owned(),
        Answer::DeclinedByClient { .. } => "nobody".to_owned(),
    }
}

async fn join_all<T>(mut futures: Vec<Boxed<'_, T>>) -> Vec<T> {
    let mut values: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (future, value) in futures.iter_mut().zip(&mut values) {
            if value.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(cx)
            {
                *value = Some(ready);
            }
        }
        match values.iter().all(Option::is_some) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    values.into_iter().flatten().collect()
}

/// Returns the first future's output. The other is dropped.
async fn race<T>(mut first: Boxed<'_, T>, mut second: Boxed<'_, T>) -> T {
    std::future::poll_fn(|cx| match first.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(value),
        Poll::Pending => second.as_mut().poll(cx),
    })
    .await
}
