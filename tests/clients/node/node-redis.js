// node-redis against a server: node node-redis.js PORT PROTOCOL
"use strict";

const { RESP_TYPES, WatchError, createClient } = require("redis");
const { EVERY_BYTE, PIPELINE, assert, port, protocol, runChecks, until } = require("./checks.js");

function connect() {
  const client = createClient({ RESP: protocol, socket: { port, host: "127.0.0.1", reconnectStrategy: 10 } });
  // A lost connection is made anew; without a listener the event would end the process.
  client.on("error", () => {});
  return client.connect();
}

let redis;
let other;

/** Resolves when a client waits in a blocking command. */
const somebodyWaits = () => until(async () => /\bflags=\S*b/.test(await other.sendCommand(["CLIENT", "LIST"])));
const asPlain = (value) => JSON.parse(JSON.stringify(value));

const checks = {
  async speaksTheProtocol() {
    redis = await connect();
    other = await connect();
    assert.match(String(await redis.sendCommand(["CLIENT", "INFO"])), new RegExp(`resp=${protocol}`));
  },

  async strings() {
    assert.equal(await redis.set("s", "1", { EX: 100 }), "OK");
    assert.equal(await redis.set("s", "2", { NX: true }), null);
    assert.equal(await redis.incrBy("s", 41), 42);
    assert.deepEqual(await redis.mGet(["s", "absent"]), ["42", null]);
    assert.equal(await redis.ttl("s"), 100);
    await assert.rejects(redis.lPush("s", "x"), /WRONGTYPE/);
  },

  async binary() {
    const binary = redis.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    await binary.set(EVERY_BYTE, EVERY_BYTE);
    assert.deepEqual(await binary.get(EVERY_BYTE), EVERY_BYTE);
    await binary.hSet("hash of bytes", EVERY_BYTE, EVERY_BYTE);
    assert.deepEqual(await binary.hGet("hash of bytes", EVERY_BYTE), EVERY_BYTE);
  },

  async hashes() {
    assert.equal(await redis.hSet("h", { a: "1", b: "2" }), 2);
    assert.deepEqual(asPlain(await redis.hGetAll("h")), { a: "1", b: "2" });
    assert.equal(await redis.hIncrBy("h", "a", 9), 10);
    assert.deepEqual(await redis.hmGet("h", ["a", "z"]), ["10", null]);
  },

  async fieldExpiry() {
    assert.deepEqual(await redis.hpExpire("h", "a", 60_000), [1]);
  },

  async lists() {
    assert.equal(await redis.rPush("l", ["a", "b", "c"]), 3);
    assert.deepEqual(await redis.lRange("l", 0, -1), ["a", "b", "c"]);
    assert.equal(await redis.lMove("l", "l2", "LEFT", "RIGHT"), "a");
    assert.deepEqual(await redis.lmPop(["none", "l"], "RIGHT", { COUNT: 5 }), ["l", ["c", "b"]]);
    await redis.rPush("to sort", ["3", "1", "2"]);
    assert.deepEqual(await redis.sort("to sort", { DIRECTION: "DESC" }), ["3", "2", "1"]);
  },

  async sets() {
    assert.equal(await redis.sAdd("t", ["a", "b"]), 2);
    await redis.sAdd("t2", ["b", "c"]);
    assert.deepEqual([...(await redis.sMembers("t"))].sort(), ["a", "b"]);
    assert.deepEqual([...(await redis.sInter(["t", "t2"]))], ["b"]);
  },

  async sortedSets() {
    const members = [
      { score: 1.5, value: "a" },
      { score: -Infinity, value: "b" },
      { score: Infinity, value: "c" },
    ];
    assert.equal(await redis.zAdd("z", members), 3);
    assert.equal(await redis.zScore("z", "a"), 1.5);
    const inOrder = await redis.zRangeWithScores("z", 0, -1);
    assert.deepEqual(inOrder.map(({ value, score }) => [value, score]), [["b", -Infinity], ["a", 1.5], ["c", Infinity]]);
    assert.deepEqual(await redis.zRange("z", "(1", "+inf", { BY: "SCORE" }), ["a", "c"]);
    assert.equal((await redis.zPopMin("z")).value, "b");
  },

  async geo() {
    await redis.geoAdd("g", [
      { longitude: 13.361389, latitude: 38.115556, member: "Palermo" },
      { longitude: 15.087269, latitude: 37.502669, member: "Catania" },
    ]);
    assert.equal(await redis.geoDist("g", "Palermo", "Catania"), 166274.1516);
    const found = await redis.geoSearch("g", { longitude: 15, latitude: 37 }, { radius: 200, unit: "km" }, { SORT: "ASC" });
    assert.deepEqual(found, ["Catania", "Palermo"]);
  },

  async bitmapsAndHyperLogLogs() {
    assert.equal(await redis.setBit("bits", 7, 1), 0);
    assert.equal(await redis.bitCount("bits"), 1);
    assert.deepEqual(await redis.bitField("bits", [{ operation: "GET", encoding: "u8", offset: 0 }]), [1]);
    await redis.pfAdd("p", ["a", "b", "c"]);
    assert.equal(await redis.pfCount("p"), 3);
  },

  async dumpAndRestore() {
    const binary = redis.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    assert.equal(await binary.restore("restored", 0, await binary.dump("l2")), "OK");
    assert.deepEqual(await redis.lRange("restored", 0, -1), ["a"]);
  },

  async scanIterators() {
    const all = async (iterator) => {
      const found = [];
      for await (const page of iterator) found.push(...page);
      return found;
    };
    await Promise.all(Array.from({ length: 500 }, (_, index) => [redis.set(`scan:${index}`, "v"), redis.hSet("big", `f${index}`, "v")]).flat());
    assert.equal(new Set(await all(redis.scanIterator({ MATCH: "scan:*", COUNT: 50 }))).size, 500);
    assert.equal((await all(redis.hScanIterator("big", { COUNT: 50 }))).length, 500);
    assert.deepEqual((await all(redis.sScanIterator("t"))).sort(), ["a", "b"]);
    assert.equal((await all(redis.zScanIterator("z"))).length, 2);
  },

  async aPipelineOf10000() {
    // Commands of one turn of the event loop go out together.
    const replies = await Promise.all(Array.from({ length: PIPELINE }, () => redis.incr("count")));
    assert.deepEqual(replies, Array.from({ length: PIPELINE }, (_, index) => index + 1));
    const batch = redis.multi();
    for (let index = 0; index < PIPELINE; index++) batch.incr("count");
    assert.equal((await batch.execAsPipeline()).at(-1), 2 * PIPELINE);
  },

  async transactions() {
    assert.deepEqual(await redis.multi().set("m", "1").incr("m").exec(), ["OK", 2]);
    const alone = await connect();
    await alone.watch("m");
    await other.set("m", "changed");
    await assert.rejects(alone.multi().set("m", "lost").exec(), WatchError);
    assert.equal(await redis.get("m"), "changed");
    await alone.watch("m");
    assert.deepEqual(await alone.multi().set("m", "won").exec(), ["OK"]);
    await assert.rejects(alone.multi().addCommand(["NOSUCHCOMMAND"]).exec(), /EXECABORT|unknown command/);
    alone.destroy();
  },

  async blockingCommands() {
    const waiter = await connect();
    const served = async (waiting, serve) => {
      await somebodyWaits();
      await serve();
      return asPlain(await waiting);
    };
    assert.deepEqual(await served(waiter.blPop(["queue", "queue2"], 20), () => other.rPush("queue2", "job")), { key: "queue2", element: "job" });
    assert.equal(await served(waiter.blMove("from", "to", "LEFT", "RIGHT", 20), () => other.rPush("from", "job")), "job");
    const add = () => other.zAdd("scores", [{ score: 2, value: "second" }, { score: 1, value: "first" }]);
    assert.deepEqual(await served(waiter.bzPopMin("scores", 20), add), { key: "scores", value: "first", score: 1 });
    assert.equal(await waiter.blPop("nothing", 0.05), null);
    assert.deepEqual(await redis.lRange("to", 0, -1), ["job"]);
    waiter.destroy();
  },

  async publishAndSubscribe() {
    const subscriber = await connect();
    const messages = [];
    const note = (message, channel) => messages.push([channel, message]);
    await subscriber.subscribe("news", note);
    await subscriber.pSubscribe(["n?ws", "other*"], note);
    assert.equal(await redis.publish("news", "hello"), 2);
    assert.equal(await redis.publish("others", "there"), 1);
    await until(() => messages.length === 3);
    assert.deepEqual(messages, [["news", "hello"], ["news", "hello"], ["others", "there"]]);
    assert.deepEqual(asPlain(await redis.pubSubNumSub(["news"])), { news: 1 });
    await subscriber.unsubscribe("news");
    assert.equal(await redis.publish("news", "again"), 1);
    await until(() => messages.length === 4);
    subscriber.destroy();
  },

  async reconnects() {
    const victim = await connect();
    const messages = [];
    await victim.subscribe("after the loss", (message) => messages.push(message));
    assert.equal(await redis.sendCommand(["CLIENT", "KILL", "TYPE", "pubsub"]), 1);
    await until(() => redis.publish("after the loss", "heard"));
    await until(() => messages.length > 0);
    victim.destroy();
    assert.equal(await other.sendCommand(["CLIENT", "KILL", "ID", String(await redis.clientId())]), 1);
    await until(() => redis.ping().then((reply) => reply === "PONG", () => false));
  },
};

runChecks(checks, () => [redis, other].forEach((client) => client.destroy()));
