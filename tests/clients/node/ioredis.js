// ioredis against a server: node ioredis.js PORT PROTOCOL
"use strict";

const Redis = require("ioredis");
const { EVERY_BYTE, PIPELINE, assert, port, protocol, runChecks, until } = require("./checks.js");

const connect = () => new Redis({ port, host: "127.0.0.1", protocol, retryStrategy: () => 10 });
const redis = connect();
const other = connect();

/** Resolves when a client waits in a blocking command. */
const somebodyWaits = () => until(async () => /\bflags=\S*b/.test(await other.client("LIST")));

const checks = {
  async speaksTheProtocol() {
    const info = await redis.client("INFO");
    assert.match(info, new RegExp(`resp=${protocol}`));
  },

  async strings() {
    assert.equal(await redis.set("s", "1", "EX", 100), "OK");
    assert.equal(await redis.set("s", "2", "NX"), null);
    assert.equal(await redis.incrby("s", 41), 42);
    assert.deepEqual(await redis.mget("s", "absent"), ["42", null]);
    assert.equal(await redis.ttl("s"), 100);
    assert.equal(await redis.incrbyfloat("f", 0.5), "0.5");
    await assert.rejects(redis.lpush("s", "x"), /WRONGTYPE/);
  },

  async binary() {
    await redis.set(EVERY_BYTE, EVERY_BYTE);
    assert.deepEqual(await redis.getBuffer(EVERY_BYTE), EVERY_BYTE);
    assert.deepEqual(await redis.keysBuffer("*\u0003*"), [EVERY_BYTE]);
    await redis.hset("hash of bytes", EVERY_BYTE, EVERY_BYTE);
    assert.deepEqual(await redis.hgetBuffer("hash of bytes", EVERY_BYTE), EVERY_BYTE);
  },

  async hashes() {
    assert.equal(await redis.hset("h", { a: "1", b: "2" }), 2);
    assert.deepEqual(await redis.hgetall("h"), { a: "1", b: "2" });
    assert.equal(await redis.hincrby("h", "a", 9), 10);
    assert.deepEqual(await redis.hmget("h", "a", "z"), ["10", null]);
    assert.equal((await redis.hrandfield("h", -1, "WITHVALUES")).flat().length, 2);
  },

  async fieldExpiry() {
    assert.deepEqual(await redis.call("HPEXPIRE", "h", 60_000, "FIELDS", 1, "a"), [1]);
  },

  async lists() {
    assert.equal(await redis.rpush("l", "a", "b", "c"), 3);
    assert.deepEqual(await redis.lrange("l", 0, -1), ["a", "b", "c"]);
    assert.equal(await redis.lmove("l", "l2", "LEFT", "RIGHT"), "a");
    assert.deepEqual(await redis.lmpop(2, "none", "l", "RIGHT", "COUNT", 5), ["l", ["c", "b"]]);
    assert.equal(await redis.lpos("l2", "a"), 0);
    await redis.rpush("to sort", 3, 1, 2);
    assert.deepEqual(await redis.sort("to sort", "DESC"), ["3", "2", "1"]);
  },

  async sets() {
    assert.equal(await redis.sadd("t", "a", "b"), 2);
    await redis.sadd("t2", "b", "c");
    assert.deepEqual((await redis.smembers("t")).sort(), ["a", "b"]);
    assert.deepEqual(await redis.sinter("t", "t2"), ["b"]);
    assert.deepEqual(await redis.smismember("t", "a", "z"), [1, 0]);
  },

  async sortedSets() {
    assert.equal(await redis.zadd("z", 1.5, "a", "-inf", "b", "inf", "c"), 3);
    assert.equal(Number(await redis.zscore("z", "a")), 1.5);
    const withScores = (await redis.zrange("z", 0, -1, "WITHSCORES")).flat().map(String);
    assert.deepEqual(withScores.filter((_, at) => at % 2 === 0), ["b", "a", "c"]);
    assert.deepEqual(await redis.zrangebyscore("z", "(1", "+inf"), ["a", "c"]);
    assert.equal((await redis.zpopmin("z")).flat()[0], "b");
  },

  async geo() {
    await redis.geoadd("g", 13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania");
    assert.equal(await redis.geodist("g", "Palermo", "Catania"), "166274.1516");
    assert.deepEqual(await redis.geosearch("g", "FROMLONLAT", 15, 37, "BYRADIUS", 200, "km", "ASC"), ["Catania", "Palermo"]);
  },

  async bitmapsAndHyperLogLogs() {
    assert.equal(await redis.setbit("bits", 7, 1), 0);
    assert.equal(await redis.bitcount("bits"), 1);
    assert.deepEqual(await redis.bitfield("bits", "GET", "u8", 0), [1]);
    await redis.pfadd("p", "a", "b", "c");
    assert.equal(await redis.pfcount("p"), 3);
  },

  async dumpAndRestore() {
    const payload = await redis.dumpBuffer("l2");
    assert.equal(await redis.restore("restored", 0, payload), "OK");
    assert.deepEqual(await redis.lrange("restored", 0, -1), ["a"]);
  },

  async scanStreams() {
    const all = async (stream) => {
      const found = [];
      for await (const page of stream) found.push(...page);
      return found;
    };
    const pipeline = redis.pipeline();
    for (let index = 0; index < 500; index++) pipeline.set(`scan:${index}`, index).hset("big", `f${index}`, index);
    await pipeline.exec();
    assert.equal(new Set(await all(redis.scanStream({ match: "scan:*", count: 50 }))).size, 500);
    assert.equal((await all(redis.hscanStream("big", { count: 50 }))).length, 1000);
    assert.deepEqual((await all(redis.sscanStream("t"))).sort(), ["a", "b"]);
    assert.equal((await all(redis.zscanStream("z"))).length, 4);
  },

  async aPipelineOf10000() {
    const pipeline = redis.pipeline();
    for (let index = 0; index < PIPELINE; index++) pipeline.incr("count");
    const replies = await pipeline.exec();
    assert.deepEqual(replies, Array.from({ length: PIPELINE }, (_, index) => [null, index + 1]));
  },

  async transactions() {
    assert.deepEqual(await redis.multi().set("m", 1).incr("m").lpush("m", "x").exec().then((replies) => replies.slice(0, 2)), [
      [null, "OK"],
      [null, 2],
    ]);
    await redis.watch("m");
    await other.set("m", "changed");
    assert.equal(await redis.multi().set("m", "lost").exec(), null);
    assert.equal(await redis.get("m"), "changed");
    await redis.watch("m");
    assert.deepEqual(await redis.multi().set("m", "won").exec(), [[null, "OK"]]);
    await assert.rejects(redis.multi().call("NOSUCHCOMMAND").exec(), /EXECABORT/);
  },

  async blockingCommands() {
    const waiter = connect();
    const served = async (waiting, serve) => {
      await somebodyWaits();
      await serve();
      return waiting;
    };
    assert.deepEqual(await served(waiter.blpop("queue", "queue2", 20), () => other.rpush("queue2", "job")), ["queue2", "job"]);
    assert.equal(await served(waiter.blmove("from", "to", "LEFT", "RIGHT", 20), () => other.rpush("from", "job")), "job");
    const popped = await served(waiter.bzpopmin("scores", 20), () => other.zadd("scores", 2, "second", 1, "first"));
    assert.deepEqual(popped.map(String), ["scores", "first", "1"]);
    assert.equal(await waiter.blpop("nothing", 0.05), null);
    assert.deepEqual(await redis.lrange("to", 0, -1), ["job"]);
    waiter.disconnect();
  },

  async publishAndSubscribe() {
    const subscriber = connect();
    const messages = [];
    subscriber.on("message", (channel, message) => messages.push([channel, message]));
    subscriber.on("pmessage", (pattern, channel, message) => messages.push([pattern, channel, message]));
    assert.equal(await subscriber.subscribe("news"), 1);
    assert.equal(await subscriber.psubscribe("n?ws", "other*"), 3);
    assert.equal(await redis.publish("news", "hello"), 2);
    assert.equal(await redis.publish("others", "there"), 1);
    await until(() => messages.length === 3);
    assert.deepEqual(messages, [["news", "hello"], ["n?ws", "news", "hello"], ["other*", "others", "there"]]);
    assert.deepEqual(await redis.pubsub("NUMSUB", "news"), ["news", 1]);
    assert.equal(await subscriber.unsubscribe("news"), 2);
    assert.equal(await redis.publish("news", "again"), 1);
    await until(() => messages.length === 4);
    subscriber.disconnect();
  },

  async reconnects() {
    const victim = connect();
    const messages = [];
    victim.on("message", (channel, message) => messages.push(message));
    await victim.subscribe("after the loss");
    assert.equal(await redis.client("KILL", "TYPE", "pubsub"), 1);
    await until(() => redis.publish("after the loss", "heard"));
    await until(() => messages.length > 0);
    victim.disconnect();
    assert.equal(await other.client("KILL", "ID", await redis.client("ID")), 1);
    await until(() => redis.ping().then((reply) => reply === "PONG", () => false));
  },
};

runChecks(checks, () => [redis, other].forEach((client) => client.disconnect()));
