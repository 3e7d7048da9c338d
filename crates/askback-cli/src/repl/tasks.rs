//! Tool calls in the background.

use std::{collections::BTreeMap, future::poll_fn, pin::Pin, task::Poll};

use askback::{
    client::{ClientError, PendingCall, Received},
    protocol::CallToolResult,
};
use askback_host::{
    content::CallOutcome,
    page::Style,
    relay::ServerId,
    tasks::{Standing, Task},
    words,
};
use serde_json::Map;

use super::{
    Repl,
    calls::{self, Call, LastCall},
    grammar::TaskAction,
};
use crate::{error::Error, session::failed};

/// The running calls, and the results of finished ones.
#[derive(Default)]
pub(super) struct Background(pub(super) BTreeMap<u32, BackgroundCall>);

pub(super) struct BackgroundCall {
    pub(super) call: LastCall,
    /// The pending call, or `None` once it ended. Dropping it tells the server to stop.
    pub(super) calling: Option<PendingCall<CallToolResult>>,
    pub(super) end: Option<Result<CallOutcome, Error>>,
}

pub(super) type BackgroundEnd = (u32, Result<Received<CallToolResult>, ClientError>);

impl Background {
    /// Waits until a call ends, or forever if no call is running. Cancel safe.
    pub(super) async fn next(&mut self) -> BackgroundEnd {
        poll_fn(|context| {
            for (number, begun) in &mut self.0 {
                let Some(calling) = &mut begun.calling else {
                    continue;
                };
                if let Poll::Ready(end) = Pin::new(calling).poll(context) {
                    begun.calling = None;
                    return Poll::Ready((*number, end));
                }
            }
            Poll::Pending
        })
        .await
    }
}

impl Repl<'_> {
    pub(super) async fn begin(&mut self, name: &str, words: &[String]) -> Result<(), Error> {
        if self.recorder.is_some() {
            let error = Error::usage("a recording has one call at a time");
            return Err(error.hint("/call waits for the call."));
        }
        let tool = self.tool(name).await?;
        if !self.session.client.may_be_task(&tool) {
            let error = Error::usage("the server does not run this tool as a task:");
            return Err(error.quoting(&tool.name).hint("/call waits for the call."));
        }
        let Some(arguments) = self.arguments(&tool, words, Map::new()).await? else {
            return Ok(());
        };
        let mut calling = self.session.client.call_as_task(&tool, &arguments);
        let tasks = self.session.tasks();
        let number = tasks.begin(self.session.server(), calling.id(), &tool.name);
        // Send it now, whatever the user does next.
        let sent = poll_fn(|context| Poll::Ready(Pin::new(&mut calling).poll(context))).await;
        let call = Call::Tool(Box::new(tool), arguments);
        let page = self.page();
        page.quote_line(words!("Task {} began: ", number), call.name());
        page.note(Style::Dim, "/tasks shows its status.");
        let begun = BackgroundCall {
            call: LastCall::new(call),
            calling: sent.is_pending().then_some(calling),
            end: None,
        };
        let calls = &mut self.background.0;
        calls.retain(|number, _| tasks.get(*number).is_some());
        calls.insert(number, begun);
        if let Poll::Ready(end) = sent {
            self.ended((number, end));
        }
        Ok(())
    }

    pub(super) fn ended(&mut self, (number, end): BackgroundEnd) {
        let Some(begun) = self.background.0.get_mut(&number) else {
            return;
        };
        let end = end.map(|end| calls::of_tool(&end)).map_err(failed);
        let (standing, ended) = match &end {
            Ok(received) if !received.failed => (Standing::Done, "is done"),
            Ok(_) => (Standing::Error, "reports an error"),
            Err(_) => (Standing::Failed, "failed"),
        };
        self.session.tasks().end(number, standing);
        self.tool_error |= standing == Standing::Error;
        let page = self.session.host.page();
        page.quote_line(
            words!("Task {} {}: ", number, ended),
            begun.call.call().name(),
        );
        match &end {
            Ok(_) => page.note(Style::Dim, words!("/tasks {} shows its result.", number)),
            Err(error) => error.put_below(page),
        }
        begun.end = Some(end);
    }

    pub(super) async fn tasks(
        &mut self,
        number: Option<u32>,
        action: Option<TaskAction>,
    ) -> Result<(), Error> {
        match (number, action) {
            (_, Some(TaskAction::Wait { number })) => {
                self.turn_to_server_of(&self.find_task(number)?)?;
                self.wait_for_task(number).await
            }
            (_, Some(TaskAction::Cancel { number })) => {
                let task = self.find_task(number)?;
                if !task.is_at_work() {
                    return Err(Error::usage(words!("task {} has ended already", number)));
                }
                self.cancel_task(number);
                let words = "The server was told to stop, and may have done part of it.";
                self.page().note(Style::Dim, words);
                Ok(())
            }
            (Some(number), None) => self.show_task(number),
            (None, None) => self.list_tasks(),
        }
    }

    pub(super) fn at_work(&self) -> usize {
        let all = self.background.0.values();
        all.filter(|begun| begun.calling.is_some()).count()
    }

    /// If a user is about to leave, says how many tasks will end. Returns whether any will.
    pub(super) fn tell_at_work(&mut self) -> bool {
        let count = self.at_work();
        if count > 0 {
            let words = words!(
                "Tasks at work: {}. They are cancelled when you leave; /quit again leaves.",
                count
            );
            self.page().say(Style::Warning, words);
        }
        count > 0
    }

    /// Cancels the tasks of one server, or of all, because its connection ends, and says so.
    pub(super) fn end_tasks(&mut self, server: Option<ServerId>) {
        let all = self.session.tasks().all().into_iter();
        let meant = all.filter(|(_, task)| {
            task.is_at_work() && server.is_none_or(|server| server == task.server)
        });
        for (number, _) in meant {
            self.cancel_task(number);
        }
    }

    fn cancel_task(&mut self, number: u32) {
        if let Some(begun) = self.background.0.get_mut(&number)
            && begun.calling.take().is_some()
        {
            self.session.tasks().end(number, Standing::Cancelled);
            let page = self.session.host.page();
            page.quote_line(
                words!("Task {} is cancelled: ", number),
                begun.call.call().name(),
            );
        }
    }

    fn list_tasks(&mut self) -> Result<(), Error> {
        let all = self.session.tasks().all();
        if all.is_empty() {
            self.tell("No task was begun: /begin TOOL begins one.");
            return Ok(());
        }
        let are_several = !self.others.is_empty();
        let rows: Vec<_> = all
            .into_iter()
            .map(|(number, task)| {
                let words = match are_several {
                    true => {
                        let server = self.name_of(task.server);
                        words!("{}  {}, {} ", number, server, task.words())
                    }
                    false => words!("{}  {} ", number, task.words()),
                };
                (words, task)
            })
            .collect();
        self.list(|page| {
            for (words, task) in rows {
                page.quote_line(words, task.tool);
                if let Some(message) = task.message {
                    page.quote_line("     ", message);
                }
            }
        })?;
        let words = "/tasks N shows one, or its result; wait N and cancel N are the others.";
        self.page().note(Style::Dim, words);
        Ok(())
    }

    fn show_task(&mut self, number: u32) -> Result<(), Error> {
        let task = self.find_task(number)?;
        self.turn_to_server_of(&task)?;
        let begun = self.background.0.get(&number);
        match begun.and_then(|begun| Some((begun.call.clone(), begun.end.clone()?))) {
            Some((call, Ok(received))) => {
                self.known.last = Some(call);
                self.present(received, None)
            }
            Some((_, Err(error))) => Err(error),
            None => {
                let page = self.page();
                page.quote_line(words!("{} ", task.words()), &task.tool);
                if let Some(message) = task.message.clone() {
                    page.quote_line("     ", message);
                }
                if task.is_at_work() {
                    page.note(Style::Dim, words!("/tasks wait {} waits for it.", number));
                }
                Ok(())
            }
        }
    }

    /// Shows progress as it arrives.
    async fn wait_for_task(&mut self, number: u32) -> Result<(), Error> {
        let tasks = self.session.tasks();
        let is_at_work = || tasks.get(number).is_some_and(|task| task.is_at_work());
        while is_at_work() {
            tasks.watch(Some(number));
            let ended = self.session.host.attend(self.background.next()).await;
            tasks.watch(None);
            match ended {
                Ok(ended) => self.ended(ended),
                Err(stopped) if !self.session.host.is_person() => return Err(stopped.into()),
                Err(_) => {
                    self.page()
                        .say(Style::Plain, words!("Task {} is still running.", number));
                    return Ok(());
                }
            }
        }
        self.show_task(number)
    }

    fn find_task(&self, number: u32) -> Result<Task, Error> {
        let none = || {
            let error = Error::usage(words!("there is no task {}", number));
            error.hint("/tasks lists them.")
        };
        self.session.tasks().get(number).ok_or_else(none)
    }
}
