// What the scripts of both libraries share: named checks one after the other, and other clients to act while one waits.
"use strict";

const assert = require("node:assert/strict");

const [port, protocol, ...leftOut] = process.argv.slice(2);
assert.ok(Number(port) > 0 && ["2", "3"].includes(protocol), "usage: node SCRIPT PORT PROTOCOL [CHECK_TO_LEAVE_OUT ...]");

/** Runs the checks in their order and prints each name; the first that fails ends the process with its error. */
async function runChecks(checks, cleanUp) {
  for (const [name, check] of Object.entries(checks)) {
    if (leftOut.includes(name)) continue;
    try {
      await withinSeconds(30, check());
    } catch (error) {
      console.error(`${name}:`, error);
      process.exit(1);
    }
    console.log(name);
  }
  await cleanUp();
}

async function withinSeconds(seconds, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${seconds} s`)), seconds * 1000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until a condition, which may be asynchronous, holds. */
async function until(condition) {
  while (!(await condition())) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** All 256 bytes, so that none is taken for text or for a line's end. */
const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const PIPELINE = 10_000;

module.exports = { EVERY_BYTE, PIPELINE, assert, port: Number(port), protocol: Number(protocol), runChecks, until };
