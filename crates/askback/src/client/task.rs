//! Tasks of a connection before.

use askback_core::protocol::{CallToolParams, CallToolResult, ClientRequest};

use super::{Client, PendingCall, command::CallMode};

impl Client {
    /// Follows a task that a call of this tool became before, also one of another process that has
    /// ended. Nothing is called: the result is that of the call, and on the way to it all is as if
    /// this client had called. Its questions are put to the functions that answer them,
    /// [`Event::Task`](super::Event::Task) tells how it stands, the result is checked, and the task is
    /// cancelled when the future is dropped, unless it is [left](PendingCall::leave).
    ///
    /// The id is the `task_id` of `Event::Task`: keep it as soon as it is told, with the name of the tool
    /// and the server. Whoever has it may be able to use the task, so keep it as you would a key. A
    /// question that another client was asked and did not answer is asked again.
    ///
    /// ```
    /// # use askback::client::{Client, ClientError};
    /// # async fn resume(client: Client, kept: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// match client.resume_task(kept, "search").await {
    ///     Ok(result) => println!("{}", result.text()?),
    ///     Err(ClientError::TaskLost(_)) => println!("Its time is over."),
    ///     Err(error) => return Err(error.into()),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ClientError::TaskLost`](super::ClientError::TaskLost) where the server does not know the task,
    /// any more or for this caller, and [`ClientError::Unsupported`](super::ClientError::Unsupported) where
    /// one of the sides has no tasks or the id is too long; else as [`Client::call_tool`].
    pub fn resume_task(&self, task_id: &str, tool: &str) -> PendingCall<CallToolResult> {
        let mut client = self.clone();
        client.manner = CallMode::Task(task_id.into());
        let request = ClientRequest::CallTool(CallToolParams::new(tool));
        PendingCall::new(&client, Ok(request))
    }
}
