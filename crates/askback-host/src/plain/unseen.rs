//! Turns the terminal's echo off while a secret is typed.

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

#[cfg(unix)]
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Turns echo off; line ends still show. Must be called within the runtime. Echo is on again after
/// [`show`], after a panic or a signal that ends the program, and while the program is stopped.
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

#[cfg(unix)]
pub(super) fn show() {
    restore(OptionalActions::Now);
}

/// Like `show`, for when another program takes over the terminal. Drops what was typed of the
/// secret, which that program would read otherwise.
#[cfg(unix)]
pub(crate) fn leave() {
    restore(OptionalActions::Flush);
}

#[cfg(unix)]
fn restore(actions: OptionalActions) {
    let before = held().take();
    if let Some(before) = before {
        // If this fails, the terminal is gone.
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

/// Turns echo on when this program panics, and while it is stopped.
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
                    // Continues here when the shell resumes the program.
                    let _ = kill_process(getpid(), Signal::STOP);
                    if is_hiding {
                        hide();
                    }
                }
            });
        }
    });
}
