#!/usr/bin/env node
// Starts the binary of this platform. npm installs it as an optional dependency.
"use strict";

const { spawn } = require("node:child_process");
const platforms = require("./platforms.json");

const platform = `${process.platform}-${process.arch}`;
if (!platforms[platform]) {
  console.error(
    `askback has no binary for ${platform}. Install it with a Rust toolchain: cargo install askback-cli`,
  );
  process.exit(1);
}
const name = process.platform === "win32" ? "askback.exe" : "askback";
let binary;
try {
  binary = require.resolve(`@askback/${platform}/${name}`);
} catch {
  console.error(
    `The package @askback/${platform} is missing. Install askback again, without --no-optional or --omit=optional.`,
  );
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`${binary} does not start: ${error.message}`);
  process.exit(1);
});
// The terminal sends these to both processes. The binary decides when it ends.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
