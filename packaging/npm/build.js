#!/usr/bin/env node
// Packs the launcher and a package for each binary: node build.js OUT PLATFORM=BINARY...
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

const here = __dirname;
const main = JSON.parse(fs.readFileSync(path.join(here, "package.json"), "utf8"));
const platforms = JSON.parse(fs.readFileSync(path.join(here, "platforms.json"), "utf8"));
const [out, ...binaries] = process.argv.slice(2);
if (!out || binaries.length === 0) {
  console.error("usage: node build.js OUT PLATFORM=BINARY...");
  process.exit(2);
}

function pack(folder) {
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  execFileSync(npm, ["pack", "--silent", "--pack-destination", path.resolve(out)], { cwd: folder });
}

fs.mkdirSync(out, { recursive: true });
const optionalDependencies = {};
for (const entry of binaries) {
  const [platform, binary] = entry.split("=");
  if (!platforms[platform] || !binary) {
    console.error(`expected PLATFORM=BINARY with one of ${Object.keys(platforms).join(", ")}, got ${entry}`);
    process.exit(2);
  }
  const name = `@askback/${platform}`;
  const folder = fs.mkdtempSync(path.join(out, `${platform}-`));
  const [os, cpu] = platform.split("-");
  const file = os === "win32" ? "askback.exe" : "askback";
  fs.copyFileSync(binary, path.join(folder, file));
  fs.chmodSync(path.join(folder, file), 0o755);
  const { version, license, repository } = main;
  const description = `The binary of askback for ${platform}`;
  const manifest = { name, version, description, license, repository, os: [os], cpu: [cpu], files: [file], preferUnplugged: true };
  fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  pack(folder);
  fs.rmSync(folder, { recursive: true });
  optionalDependencies[name] = version;
}
const folder = fs.mkdtempSync(path.join(out, "launcher-"));
for (const file of main.files) {
  fs.copyFileSync(path.join(here, file), path.join(folder, file));
}
fs.copyFileSync(path.join(here, "..", "..", "crates", "askback-cli", "README.md"), path.join(folder, "README.md"));
fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify({ ...main, optionalDependencies }, null, 2));
pack(folder);
fs.rmSync(folder, { recursive: true });
