//! Turns the terminal's echo off while a secret is typed.

use std::{
    io,
    sync::{Mutex, MutexGuard, Once, PoisonError},
};

use rustix::{
    process::{Signal, getpid, kill_process},
    termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr},
};

use crate::signals;

static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Turns echo off; line ends still show. Must be called within the runtime. Echo is on again after
/// [`show`], after a panic or a signal that ends the program, and while the program is stopped.
pub(super) fn hide() {
    if held().is_some() {
        return;
    }
    let Ok(before) = tcgetattr(io::stdin()) else {
        return;
    };
    signals::restore_after_panic();
    show_while_stopped();
    let mut hiding = before.clone();
    hiding.local_modes.remove(LocalModes::ECHO);
    hiding.local_modes.insert(LocalModes::ECHONL);
    if tcsetattr(io::stdin(), OptionalActions::Now, &hiding).is_ok() {
        *held() = Some(before);
    }
}

pub(super) fn show() {
    restore(OptionalActions::Now);
}

/// Like `show`, for when another program takes over the terminal. Drops what was typed of the
/// secret, which that program would read otherwise.
pub(crate) fn leave() {
    restore(OptionalActions::Flush);
}

fn restore(actions: OptionalActions) {
    let before = held().take();
    if let Some(before) = before {
        // If this fails, the terminal is gone.
        let _ = tcsetattr(io::stdin(), actions, &before);
    }
}

fn held() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Turns echo on while this program is stopped.
fn show_while_stopped() {
    use tokio::signal::unix::{SignalKind, signal};

    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
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
