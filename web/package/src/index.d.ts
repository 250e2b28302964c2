/** How a database is opened. The tab that owns the database decides; what other tabs say meanwhile is not looked at. */
export interface OpenOptions {
  /** Which database of this origin; it is created where there is none. */
  name: string;
  /** How records are laid out; Orbweaver's own layout where nothing is said. IndexedDB can hold layouts that order keys by bytes. */
  layout?: string;
  /**
   * When a write is acknowledged: `relaxed` (the default), when the browser has handed it to the operating system, so that it outlives
   * the tab and the browser; `strict`, when the operating system has been asked to write it to the disk, so that it outlives a loss of
   * power.
   */
  durability?: 'relaxed' | 'strict';
  /** How many dbs there are, 16 where nothing is said. */
  databases?: number;
}

/** Opens a database. Rejects with a sentence for people where the browser lacks what is needed, or the database does not open. */
export function open(options: OpenOptions): Promise<Orbweaver>;

/** Deletes a database. Rejects where a tab has it open. */
export function remove(name: string): Promise<void>;

/** The names of the databases of this origin, sorted. */
export function list(): Promise<string[]>;

/** An error reply of a command, such as `WRONGTYPE ...`. */
export class ReplyError extends Error {
  /** Its first word. */
  readonly code: string;
}

/** An argument of a command. Strings become UTF-8, numbers decimal digits. */
export type Argument = string | number | bigint | Uint8Array;

/** A command: its name, and its arguments. */
export type Command = Argument[];

/**
 * A reply, as RESP3 has them. Strings are decoded as UTF-8 (bytes that are none become U+FFFD), or left as they are with
 * `binary`. Integers beyond 2^53 are bigints.
 */
export type Reply =
  | null | string | number | bigint | boolean | Uint8Array | ReplyError | Reply[] | Map<Reply, Reply> | Set<Reply>;

/** How replies are decoded. */
export interface ReplyOptions {
  /** Strings as Uint8Array. */
  binary?: boolean;
}

/** A case of the error of a typed interface: `tag` is its name, such as `wrong-type`, and `val` what it holds. */
export class TypedError extends Error {
  readonly tag: string;
  readonly val?: unknown;
}

/** A typed interface of the component: each function returns a promise, and rejects with a TypedError. */
export type Typed<Interface> = {
  [Name in keyof Interface]: Interface[Name] extends (...args: infer Args) => infer Result ? (...args: Args) => Promise<Awaited<Result>> : never;
};

/** A database. The same one in every tab of the origin that opens its name. */
export interface Orbweaver {
  /** Runs a command. Rejects with a ReplyError for an error reply. Options may follow the arguments. */
  command(...args: (Argument | ReplyOptions)[]): Promise<Reply>;
  /** Runs commands one after the other, in few transactions of the store: errors are among the replies. */
  pipeline(commands: Command[], options?: ReplyOptions): Promise<Reply[]>;
  /** Runs commands as MULTI and EXEC do: nobody gets in between. Rejects where one of them is refused before. */
  transaction(commands: Command[], options?: ReplyOptions): Promise<Reply[]>;
  /** A connection of its own: for SELECT, WATCH, and commands that wait, which would hold up all others on the shared one. */
  session(options?: SessionOptions): Promise<Session>;
  /**
   * Hears what is published to channels, in this tab or another one; with `patterns`, the channels are glob patterns. Resolves to what
   * ends it. A message that is published while ownership moves is not heard.
   */
  subscribe(channels: string[], on: (channel: string, message: string) => void, options?: { patterns?: boolean }): Promise<() => Promise<void>>;
  /** What commands there are: for completion, and hints. */
  commands(): Promise<CommandInfo[]>;
  /** The records of a key, each field of the format a run of bytes; about `budget` records, from `cursor` on. */
  inspect(db: number, key: Argument, cursor?: Uint8Array, budget?: number): Promise<{ records: InspectedRecord[]; next?: Uint8Array }>;
  /** One record, wherever it came from. */
  describe(keyspace: string, key: Uint8Array, value: Uint8Array): Promise<InspectedRecord>;
  readonly strings: Typed<typeof import('../engine/interfaces/orbweaver-engine-strings.js')>;
  readonly hashes: Typed<typeof import('../engine/interfaces/orbweaver-engine-hashes.js')>;
  readonly lists: Typed<typeof import('../engine/interfaces/orbweaver-engine-lists.js')>;
  readonly sets: Typed<typeof import('../engine/interfaces/orbweaver-engine-sets.js')>;
  readonly sortedSets: Typed<typeof import('../engine/interfaces/orbweaver-engine-sorted-sets.js')>;
  readonly keys: Typed<typeof import('../engine/interfaces/orbweaver-engine-keys.js')>;
  readonly batch: Typed<typeof import('../engine/interfaces/orbweaver-engine-batch.js')>;
  /** Hears what each step of the engine read and wrote, for all tabs; returns what ends it. */
  trace(on: (event: TraceEvent) => void): () => void;
  /** The whole database as JSON lines, as `orbweaver dump` writes them. A chunk may end within a line. */
  dump(on?: (progress: { bytes: number }) => void): AsyncIterable<Uint8Array>;
  /** Reads what `dump` writes, replacing keys that exist. An abort, as an error, leaves what was read so far. */
  load(lines: Blob | AsyncIterable<Uint8Array>, options?: LoadOptions): Promise<{ keys: bigint; expired: bigint }>;
  /** Removes what has expired, and what removed keys have left behind: about `budget` records. */
  sweep(budget?: number): Promise<Swept>;
  /** Verifies every record; finds nothing in a database that is as it should be. */
  check(on?: (progress: { found: number }) => void): AsyncIterable<Finding>;
  /** The raw records, by keyspace and key. */
  records(): AsyncIterable<{ keyspace: string; key: Uint8Array; value: Uint8Array }>;
  /** What the origin stores, in bytes, and what it may. */
  storage(): Promise<{ usage: number; quota: number; persisted: boolean }>;
  /** Asks the browser not to clear the origin's data by itself; whether it agrees. For pages: false in a worker. */
  persist(): Promise<boolean>;
  /** Whether this tab's worker holds the database. */
  readonly owner: boolean;
  /** Hears `owner`, whenever ownership is settled anew. */
  onownerchange: (owner: boolean) => void;
  /** Ends the connection to the database, when what was asked is answered; another tab owns it then. */
  close(): Promise<void>;
}

export interface SessionOptions {
  /** The version of Redis' protocol that it begins with: 3 (the default), or 2. */
  protocol?: 2 | 3;
}

/** A connection, as a client of a server has one. It is closed where ownership moves. */
export interface Session {
  command(...args: (Argument | ReplyOptions)[]): Promise<Reply>;
  pipeline(commands: Command[], options?: ReplyOptions): Promise<Reply[]>;
  /** One request, as bytes of the protocol; its reply, as bytes. */
  raw(request: Uint8Array): Promise<Uint8Array>;
  /** Hears messages that are no replies. */
  onpush: (message: Reply) => void;
  /** Hears why the connection was closed. */
  onclose: (reason: string) => void;
  close(): void;
}

export interface CommandInfo {
  name: string;
  /** How many words, the name included; negative: at least so many. */
  arity: number;
  flags: string[];
  firstKey: number;
  lastKey: number;
  step: number;
  summary: string;
  group: string;
  since: string;
  /** By both words, `config get`. */
  subcommands: { name: string; summary: string }[];
}

/** A run of bytes that is one field of the format. */
export interface Run {
  offset: number;
  length: number;
  field: string;
  shown: string;
}

export interface InspectedRecord {
  keyspace: string;
  key: Uint8Array;
  keyRuns: Run[];
  value: Uint8Array;
  valueRuns: Run[];
  note: string;
}

/** What one step of the engine asked of the store, in the order of each list; a step runs one command, or several of a pipeline. */
export interface TraceEvent {
  reads: { keyspace: string; key: Uint8Array; found: boolean }[];
  scans: { keyspace: string; start: Uint8Array; end?: Uint8Array; direction: 'forward' | 'reverse'; keys: Uint8Array[] }[];
  puts: { keyspace: string; key: Uint8Array; value: Uint8Array }[];
  deletes: { keyspace: string; key: Uint8Array }[];
  /** Ranges deleted: from `start` up to but not including `end`; without, to the last key. */
  ranges: { keyspace: string; start: Uint8Array; end?: Uint8Array }[];
  ms: number;
}

export interface LoadOptions {
  on?: (progress: { bytes: number; total?: number; keys: bigint }) => void;
  signal?: AbortSignal;
}

export interface Swept {
  expiredKeys: bigint;
  records: bigint;
  ranges: bigint;
  /** There may be more to do at once. */
  more: boolean;
}

export interface Finding {
  keyspace: string;
  key: Uint8Array;
  what: string;
}
