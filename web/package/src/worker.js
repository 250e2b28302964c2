// The worker of a tab: owns the database where no other tab does, and otherwise hands requests to the worker that does.
//
// Who holds the database's Web Lock owns it. The browser gives the lock to the next one when its holder is gone, however it went. What
// was asked of an owner that is gone is not asked again: nobody knows whether it was done. The page hears `lost`, and fails it.
//
// From the page:  open, and requests (connect, send, disconnect, call, leave)
// To the page:    ready, lost, failed, left, and replies (data, closed, result)

import { Owner } from './owner.js';
import * as names from './names.js';

const id = crypto.randomUUID();

/** The database's name, once it is open. */
let name;
/** Serves the database, where this worker owns it. */
let own = null;
/** The tab that owns the database, as far as this one knows; null in between. */
let owner = null;
/** Requests that wait for an owner. */
let held = [];
let announcements;
/** The request for the database's Web Lock, settled when it is held no more. */
let lock;
const unwanted = new AbortController();
let releaseLock;

onmessage = ({ data }) => {
  if (data.type === 'open') open(data.options).catch((error) => postMessage({ type: 'failed', message: error.message }));
  else if (data.type === 'leave') leave();
  else request(data);
};

async function open(options) {
  name = options.name;
  // As long as this worker lives. An owner waits for it to end, to forget what belongs to the tab.
  await new Promise((held) => navigator.locks.request(names.tab(name, id), () => (held(), new Promise(() => {}))));
  const inbox = new BroadcastChannel(names.tab(name, id));
  inbox.onmessage = ({ data }) => (data.from === undefined ? fromOwner(data) : own?.hear(data.from, data.request));
  announcements = new BroadcastChannel(names.announcements(name));
  announcements.onmessage = ({ data }) => hear(data);
  lock = navigator.locks.request(names.database(name), { signal: unwanted.signal }, () => becomeOwner(options)).catch((error) => {
    if (!unwanted.signal.aborted) postMessage({ type: 'failed', message: error.message });
  });
  announcements.postMessage({ type: 'who' });
}

function hear({ type, tab }) {
  if (type === 'who' && own) announcements.postMessage({ type: 'owner', tab: id });
  if (type === 'owner') follow(tab);
  if (type === 'leaving' && owner === tab) owner = null;
}

/** Holds the Web Lock until this worker leaves, or dies. */
async function becomeOwner(options) {
  const released = new Promise((resolve) => { releaseLock = resolve; });
  own = await Owner.open(options, deliver);
  follow(id);
  announcements.postMessage({ type: 'owner', tab: id });
  await released;
}

/** The last owner whose replies may be missing. */
let asked = null;

function follow(tab) {
  if (tab === owner) return;
  if (asked !== null && asked !== tab) postMessage({ type: 'lost' });
  owner = tab;
  asked = null;
  postMessage({ type: 'ready', owner: tab === id });
  for (const message of held.splice(0)) request(message);
}

function request(message) {
  if (owner === null) return held.push(message);
  asked = owner;
  if (owner === id) return own.hear(id, message);
  channel(owner).postMessage({ from: id, request: message });
}

/** What the owner has for a tab. */
function deliver(tab, message) {
  if (tab === id) postMessage(message);
  else channel(tab).postMessage(message);
}

function fromOwner(message) {
  postMessage(message);
}

const channels = new Map();

function channel(tab) {
  if (!channels.has(tab)) channels.set(tab, new BroadcastChannel(names.tab(name, tab)));
  return channels.get(tab);
}

/** Answers what has arrived, then lets the next tab own the database. */
async function leave() {
  if (own) {
    announcements.postMessage({ type: 'leaving', tab: id });
    await own.close();
    releaseLock();
  } else {
    unwanted.abort();
  }
  await lock;
  postMessage({ type: 'left' });
}
