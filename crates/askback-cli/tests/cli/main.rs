//! The tests of the command, in one binary.

#[cfg(unix)]
mod again;
#[cfg(unix)]
mod asked;
#[cfg(unix)]
mod called_tools;
mod check;
#[cfg(unix)]
mod ci_log;
#[cfg(unix)]
mod clients;
mod command_line;
#[cfg(unix)]
mod conversation;
mod crashed;
mod doctor;
mod end_to_end;
#[cfg(unix)]
mod first_contact;
mod full;
#[cfg(unix)]
mod hook;
#[cfg(unix)]
mod hostile;
#[cfg(unix)]
mod hushed;
mod itineraries;
mod json_errors;
#[cfg(unix)]
mod killed;
#[cfg(unix)]
mod links;
#[cfg(unix)]
mod malformed;
#[cfg(unix)]
mod missing;
mod models;
mod new;
mod one_shot;
mod over_http;
mod panicked;
mod protected;
#[cfg(unix)]
mod pty;
#[cfg(unix)]
mod receipts;
#[cfg(unix)]
mod refused;
mod restart;
mod role;
#[cfg(unix)]
mod roots;
mod run;
mod scratch;
#[cfg(unix)]
mod servers;
mod several;
#[cfg(unix)]
mod shown;
#[cfg(unix)]
mod sign_in;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod skills;
#[cfg(unix)]
mod slow;
#[cfg(unix)]
mod stopped;
#[cfg(unix)]
mod stories;
mod suite;
#[cfg(unix)]
mod suspended;
#[cfg(unix)]
#[cfg(unix)]
mod tasks;
#[cfg(unix)]
mod together;
#[cfg(unix)]
#[cfg(unix)]
mod trust;
#[cfg(unix)]
mod typed;
#[cfg(unix)]
mod unseen;
#[cfg(unix)]
mod variables;
#[cfg(unix)]
mod waiting;
mod wire;
mod wrap;
#[cfg(unix)]
mod wrap_in;
