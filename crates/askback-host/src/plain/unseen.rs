//! Secrets that are typed in lines: the terminal does not show them.

#[cfg(unix)]
use std::{
    io,
    sync::{Mutex, MutexGuard, Once, PoisonError},
};

#[cfg(unix)]
use rustix::{
    process::{Signal, getpid, kill_process},
    termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr},
};

/// The terminal as it was before it was told to show nothing.
#[cfg(unix)]
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Has the terminal not show what is typed, from within the runtime; the end of a line is shown. It is as it was
/// after [`show`], a panic and a signal that ends the program, and while a signal has it stopped.
#[cfg(unix)]
pub(super) fn hide() {
    if held().is_some() {
        return;
    }
    let Ok(before) = tcgetattr(io::stdin()) else {
        return;
    };
    shown_at_the_end();
    let mut hiding = before.clone();
    hiding.local_modes.remove(LocalModes::ECHO);
    hiding.local_modes.insert(LocalModes::ECHONL);
    if tcsetattr(io::stdin(), OptionalActions::Now, &hiding).is_ok() {
        *held() = Some(before);
    }
}

/// Has the terminal show what is typed, as before [`hide`].
#[cfg(unix)]
pub(super) fn show() {
    restore(OptionalActions::Now);
}

/// The same where the program leaves the terminal to another, which would read what was typed of the secret: that is
/// dropped.
#[cfg(unix)]
pub(crate) fn leave() {
    restore(OptionalActions::Flush);
}

#[cfg(unix)]
fn restore(actions: OptionalActions) {
    let before = held().take();
    if let Some(before) = before {
        // One that cannot be told to has nobody before it.
        let _ = tcsetattr(io::stdin(), actions, &before);
    }
}

#[cfg(not(unix))]
pub(super) fn hide() {}

#[cfg(not(unix))]
pub(super) fn show() {}

#[cfg(not(unix))]
pub(crate) fn leave() {}

#[cfg(unix)]
fn held() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the terminal show what is typed when this program ends by a panic, and while it is stopped.
#[cfg(unix)]
fn shown_at_the_end() {
    use tokio::signal::unix::{SignalKind, signal};

    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            before(panic);
        }));
        if let Ok(mut stopped) = signal(SignalKind::from_raw(Signal::TSTP.as_raw())) {
            tokio::spawn(async move {
                while stopped.recv().await.is_some() {
                    let is_hiding = held().is_some();
                    leave();
                    // It goes on here once the shell has it go on.
                    let _ = kill_process(getpid(), Signal::STOP);
                    if is_hiding {
                        hide();
                    }
                }
            });
        }
    });
}
